import { describe, expect, it } from 'vitest';
import {
  type Tensor,
  eye,
  grad,
  hessian,
  hvp,
  jacobian,
  jvp,
  ones,
  tensor,
  vhp,
  vjp,
} from '../src/index.js';

const f64 = { dtype: 'float64' } as const;
const x = tensor([1, 2], f64);
const w = tensor(
  [
    [1, 2],
    [3, 4],
    [5, 6],
  ],
  f64,
);

describe('derivatives of functions', () => {
  it('vjp: vector times Jacobian', () => {
    const [out, product] = vjp((v: Tensor) => w.matmul(v.mul(v)), x, tensor([1, 0, 1], f64));
    expect(out.toArray()).toEqual([9, 19, 29]);
    expect(product.toArray()).toEqual([12, 32]);
    expect([out.requiresGrad, product.requiresGrad]).toEqual([false, false]);
  });

  it('jvp: Jacobian times vector, by double backward', () => {
    const [out, product] = jvp((v: Tensor) => w.matmul(v.mul(v)), x, tensor([1, 10], f64));
    expect(out.toArray()).toEqual([9, 19, 29]);
    expect(product.toArray()).toEqual([82, 166, 250]);
  });

  it('take lists of inputs and outputs', () => {
    const fn = (a: Tensor, b: Tensor): [Tensor, Tensor] => [a.mul(b), a.sum()];
    const seeds = [ones([2], f64), tensor(3, f64)];
    const [outs, products] = vjp(fn, [x, x.add(1)], seeds);
    expect(outs.map((o) => o.toArray())).toEqual([[2, 6], 3]);
    expect(products.map((p) => p.toArray())).toEqual([
      [5, 6],
      [1, 2],
    ]);
    const [, tangents] = jvp(fn, [x, x.add(1)], [ones([2], f64), ones([2], f64)]);
    expect(tangents.map((t) => t.toArray())).toEqual([[3, 5], 2]);
    const blocks = jacobian(fn, [x, x.add(1)]);
    expect(blocks.map((row) => row.map((block) => block.sizes))).toEqual([
      [
        [2, 2],
        [2, 2],
      ],
      [[2], [2]],
    ]);
    expect(blocks[1]![1]!.toArray()).toEqual([0, 0]);
  });

  it('jacobian: all of it', () => {
    expect(jacobian((v: Tensor) => w.matmul(v), x).toArray()).toEqual(w.toArray());
    expect(jacobian((v: Tensor) => v.sum().mul(2), x).toArray()).toEqual([2, 2]);
    expect(jacobian(() => ones([3], f64), x).toArray()).toEqual([
      [0, 0],
      [0, 0],
      [0, 0],
    ]);
  });

  it('hessian, hvp and vhp: second derivatives of a scalar', () => {
    const cubic = (v: Tensor): Tensor => v.pow(3).sum().add(v.prod());
    const expected = [
      [6, 1],
      [1, 12],
    ];
    expect(hessian(cubic, x).toArray()).toEqual(expected);
    const [value, product] = hvp(cubic, x, tensor([1, 2], f64));
    expect([value.item(), product.toArray()]).toEqual([11, [8, 25]]);
    expect(vhp(cubic, x, tensor([1, 2], f64))[1].toArray()).toEqual([8, 25]);
    const mixed = hessian((a: Tensor, b: Tensor) => a.mul(b).sum(), [x, x.add(1)]);
    expect(mixed[0]![0]!.toArray()).toEqual([
      [0, 0],
      [0, 0],
    ]);
    expect(mixed[0]![1]!.toArray()).toEqual([
      [1, 0],
      [0, 1],
    ]);
  });

  it('can be differentiated again with createGraph', () => {
    const v = tensor([1, 2], { ...f64, requiresGrad: true });
    const [, product] = vjp((a: Tensor) => a.pow(3), v, ones([2], f64), { createGraph: true });
    expect(grad(product.sum(), v)[0]!.toArray()).toEqual([6, 12]);
    const matrix = jacobian((a: Tensor) => a.pow(3), v, { createGraph: true });
    expect(grad(matrix.sum(), v)[0]!.toArray()).toEqual([6, 12]);
  });

  it('say what is wrong', () => {
    expect(() => vjp((a: Tensor) => a.mul(2), x)).toThrow(/v can only be left out if/);
    expect(() => vjp((a: Tensor) => a.mul(2), x, ones([3], f64))).toThrow(
      /v must have the sizes \[2\], got \[3\]/,
    );
    expect(() => hessian((a: Tensor) => a.mul(2), x)).toThrow(/should contain a single element/);
    expect(() => jacobian(() => ones([1], f64), x, { strict: true })).toThrow(
      /independent of input 0. This is not allowed in strict mode/,
    );
  });
});

describe('grad', () => {
  it('gives zeros for unused inputs if asked to', () => {
    const [a, b] = [tensor([1, 2], { requiresGrad: true }), tensor([3], { requiresGrad: true })];
    const [ga, gb] = grad(a.sum(), [a, b], { materializeGrads: true });
    expect([ga!.toArray(), gb!.toArray()]).toEqual([[1, 1], [0]]);
    expect(() => grad(a.sum(), [a, b], { materializeGrads: true, allowUnused: false })).toThrow(
      /Expected allowUnused to be true or not passed/,
    );
  });

  it('is one call for a batch of gradOutputs', () => {
    const a = tensor([1, 2, 3], { requiresGrad: true });
    const b = tensor([2], { requiresGrad: true });
    const basis = eye(3);
    const options = { gradOutputs: basis, isGradsBatched: true } as const;
    const [ga, gb] = grad(a.square().mul(b), [a, b], options);
    expect(ga!.toArray()).toEqual([
      [4, 0, 0],
      [0, 8, 0],
      [0, 0, 12],
    ]);
    expect(gb!.toArray()).toEqual([[1], [4], [9]]);
    const [, unused] = grad(a.mul(2), [a, b], { ...options, allowUnused: true });
    expect(unused).toBeNull();
  });

  it('keeps a graph for second derivatives of a batch', () => {
    const a = tensor([1, 2], { requiresGrad: true });
    const [rows] = grad(a.pow(3), a, {
      gradOutputs: eye(2),
      isGradsBatched: true,
      createGraph: true,
    });
    expect(grad(rows!.sum(), a)[0]!.toArray()).toEqual([6, 12]);
  });

  it('refuses a batch that is none', () => {
    const a = tensor([1, 2], { requiresGrad: true });
    expect(() => grad(a.mul(2), a, { isGradsBatched: true })).toThrow(/there are none/);
    const two = { gradOutputs: [eye(2), eye(3, 2)], isGradsBatched: true };
    expect(() => grad([a.mul(2), a.mul(3)], a, two)).toThrow(/no batch/);
  });
});
