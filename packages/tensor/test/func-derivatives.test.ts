/**
 * @file `jacfwd`, `hessian`, `vjp` and `jvp` of `@tessera/tensor/func` against what PyTorch 2.13 has.
 */
import { describe, expect, expectTypeOf, it } from 'vitest';
import {
  Function,
  type FunctionContext,
  type Tensor,
  cat,
  jacobian,
  randn,
  stack,
  tensor,
  withDispatchMode,
} from '../src/index.js';
import { dispatchBelowAutograd } from '../src/internal.js';
import { grad, hessian, jacfwd, jacrev, jvp, vjp, vmap } from '../src/func/index.js';

const double = (data: number[] | number[][]): Tensor => tensor(data, { dtype: 'float64' });
const close = (a: Tensor, b: Tensor | number[] | number[][]): void => {
  const other = Array.isArray(b) ? double(b) : b;
  expect(a.sizes).toEqual(other.sizes);
  expect(a.allclose(other, { rtol: 1e-9, atol: 1e-12 })).toBe(true);
};
const x = double([0.5, -1.2, 2]);
const f = (v: Tensor): Tensor => stack([v.sin().sum(), v.prod(), v.square().sum().exp()], 0);

describe('jacfwd', () => {
  it('is jacrev, by columns', () => {
    close(jacfwd(f)(x), jacrev(f)(x));
    const matrix = randn([2, 3], { dtype: 'float64' });
    const g = (v: Tensor): Tensor => v.matmul(v.t());
    expect(jacfwd(g)(matrix).sizes).toEqual([2, 2, 2, 3]);
    close(jacfwd(g)(matrix), jacrev(g)(matrix));
  });

  it('takes argnums, and gives zeros where nothing depends', () => {
    const two = (a: Tensor, b: Tensor): Tensor => a.mul(b.square());
    close(jacfwd(two, { argnums: 1 })(x, x.add(1)), jacrev(two, { argnums: 1 })(x, x.add(1)));
    close(
      jacfwd((v: Tensor) => v.detach())(x),
      double([
        [0, 0, 0],
        [0, 0, 0],
        [0, 0, 0],
      ]),
    );
    close(
      jacfwd((v: Tensor) => v.mul(3))(x),
      double([
        [3, 0, 0],
        [0, 3, 0],
        [0, 0, 3],
      ]),
    );
  });

  it('composes with vmap, grad and itself', () => {
    const rows = stack([x, x.add(0.1)], 0);
    close(vmap(jacfwd(f))(rows), stack([jacfwd(f)(x), jacfwd(f)(x.add(0.1))], 0));
    const total = (v: Tensor): Tensor => jacfwd((u: Tensor) => u.pow(3).mul(u))(v).sum();
    close(grad(total)(x), x.square().mul(12));
    const cube = (v: Tensor): Tensor => v.pow(3).sum();
    const twice = jacfwd(jacfwd(cube))(x);
    close(twice, x.mul(6).diagEmbed());
    expect(twice.requiresGrad).toBe(false);
    const w = double([2, 3, 4]).requiresGrad_();
    jacfwd((u: Tensor) => u.mul(w).mul(w))(x)
      .sum()
      .backward();
    close(w.grad!, [4, 6, 8]);
  });
});

describe('a list of argnums', () => {
  const two = (a: Tensor, b: Tensor): Tensor => a.mul(b.pow(2));
  const y = x.add(1);

  it('gives a Jacobian for each argument', () => {
    for (const jac of [jacrev, jacfwd]) {
      const both = jac(two, { argnums: [1, 0] })(x, y);
      expect(both).toHaveLength(2);
      close(both[0]!, jac(two, { argnums: 1 })(x, y));
      close(both[1]!, jac(two)(x, y));
      const [last] = jac(two, { argnums: [-1] })(x, y);
      close(last!, both[0]!);
      expect(jac(two, { argnums: [] })(x, y)).toEqual([]);
      expect(() => jac(two, { argnums: [0, 2] })(x, y)).toThrow(
        expect.objectContaining({ code: 'invalid-argument' }),
      );
    }
  });

  it('gives a Hessian for each pair', () => {
    const energy = (a: Tensor, b: Tensor): Tensor => two(a, b).sum();
    const blocks = hessian(energy, { argnums: [0, 1] })(x, y);
    const zero = x.mul(0).diag();
    const expected = [
      [zero, y.mul(2).diag()],
      [y.mul(2).diag(), x.mul(2).diag()],
    ];
    blocks.forEach((row, i) => row.forEach((block, j) => close(block, expected[i]![j]!)));
    expect(blocks.map((row) => row.length)).toEqual([2, 2]);
  });
});

it('names argnums where they were given by position', () => {
  expect(() => grad(f, 1 as never)).toThrow('Write grad(…, { argnums: 1 }).');
});

describe('hessian', () => {
  it("has PyTorch's values", () => {
    close(hessian((v: Tensor) => v.prod().add(v.pow(3).sum()))(x), [
      [3, 2, -1.2],
      [2, -7.2, 0.5],
      [-1.2, 0.5, 12],
    ]);
  });
  it('of one argument of two, per example', () => {
    const energy = (w: Tensor, v: Tensor): Tensor => w.mul(v.pow(4)).sum();
    const rows = stack([x, x.add(1)], 0);
    const expected = stack(
      rows.unbind(0).map((v) => v.square().mul(24).diagEmbed()),
      0,
    );
    close(
      vmap(hessian(energy, { argnums: 1 }), { inDims: [null, 0] })(double([2, 2, 2]), rows),
      expected,
    );
  });
});

describe('vjp', () => {
  it('gives the result and what multiplies cotangents, for several arguments', () => {
    const y = double([1, 2, 3]);
    const [out, pullback] = vjp((a: Tensor, b: Tensor) => a.mul(b).sum(), x, y);
    expect(out.item()).toBeCloseTo(4.1, 12);
    const [dx, dy] = pullback(tensor(2, { dtype: 'float64' }));
    close(dx!, y.mul(2));
    close(dy!, x.mul(2));
    // Again: nothing is used up.
    close(pullback(tensor(1, { dtype: 'float64' }))[0]!, y);
    expect(dx!.requiresGrad).toBe(false);
  });
  it('of structures', () => {
    const [out, pullback] = vjp((a: { w: Tensor }) => ({ u: a.w.sin(), v: a.w.sum() }), { w: x });
    close(out.u, x.sin());
    const [d] = pullback({ u: x.mul(0).add(1), v: tensor(1, { dtype: 'float64' }) });
    close(d.w, x.cos().add(1));
  });
  it('refuses cotangents of other sizes', () => {
    const [, pullback] = vjp((v: Tensor) => v.sin(), x);
    expect(() => pullback(double([1, 2]))).toThrow(
      'vjp: the cotangents must have the sizes [3], got [2].',
    );
  });
});

describe('jvp', () => {
  it('gives the result and its tangent', () => {
    const y = double([1, 2, 3]);
    const [out, tangent] = jvp((a: Tensor, b: Tensor) => a.mul(b.square()), [x, y], [y, x]);
    close(out, x.mul(y.square()));
    close(tangent, y.pow(3).add(x.square().mul(y).mul(2)));
    expect(tangent.requiresGrad).toBe(false);
  });
  it('per example, and of a gradient: a product with the Hessian', () => {
    const g = grad((v: Tensor) => v.pow(3).sum());
    close(jvp(g, [x], [double([1, 1, 2])])[1], x.mul(6).mul(double([1, 1, 2])));
    const rows = stack([x, x.add(1)], 0);
    close(
      vmap((v: Tensor) => jvp((u: Tensor) => u.sin(), [v], [v])[1])(rows),
      rows.cos().mul(rows),
    );
  });
  it('refuses what does not fit', () => {
    expect(() => jvp((v: Tensor) => v.sin(), x as never, x as never)).toThrow(
      'Expected primals and tangents to be lists.',
    );
    expect(() => jvp((v: Tensor) => v.sin(), [x], [double([1])])).toThrow(
      'the tangents must have the sizes [3], got [1].',
    );
    expect(() => jvp(() => 3, [], [])).toThrow('the result holds something other than tensors.');
  });
});

describe('directions', () => {
  const calls = (run: () => unknown): number => {
    let count = 0;
    const handle: typeof dispatchBelowAutograd = (op, args) => {
      count++;
      return dispatchBelowAutograd(op, args);
    };
    withDispatchMode({ name: 'count', handle }, run);
    return count;
  };
  const wide = (size: number): Tensor => randn([size], { dtype: 'float64' });
  const g = (v: Tensor): Tensor => v.sin().mul(v.select(0, 1)).slice(0, 0, -1);

  it('are a batch: matrices of more rows take no more operators', () => {
    const energy = (v: Tensor): Tensor => v.sin().mul(v.select(0, 1)).sum();
    for (const of of [jacrev(g), jacfwd(g), hessian(energy)])
      expect(calls(() => of(wide(40)))).toBe(calls(() => of(wide(4))));
  });

  it('are taken one by one where the backward of a function is no batch', () => {
    class Doubled extends Function {
      static forward(ctx: FunctionContext, v: Tensor): Tensor {
        ctx.saveForBackward(v);
        return v.square();
      }
      static backward(ctx: FunctionContext, grad: Tensor): Tensor {
        return grad.mul(ctx.savedTensors[0]!.mul(2));
      }
    }
    const own = (v: Tensor): Tensor => Doubled.apply(v.sin()) as Tensor;
    close(
      jacrev(own)(x),
      jacobian((v) => v.sin().square(), x),
    );
    close(
      jacfwd(own)(x),
      jacobian((v) => v.sin().square(), x),
    );
  });

  it('may be read by a hook', () => {
    const seen: number[] = [];
    const watched = (v: Tensor): Tensor => {
      const inner = v.mul(2);
      inner.registerHook((gradient) => void seen.push(gradient.sum().item() as number));
      return inner.square();
    };
    close(
      jacrev(watched)(x),
      jacobian((v) => v.mul(2).square(), x),
    );
    expect(seen).toHaveLength(3);
  });

  it('count the dimensions of gradients that are written into zeros', () => {
    const parts = (v: Tensor): Tensor => {
      const matrix = v.reshape([3, 3]);
      return cat([
        matrix.diagonal().square(),
        matrix.select(-1, 1).sin(),
        matrix.slice(1, 1).exp().sum(1),
      ]);
    };
    const nine = wide(9);
    close(jacrev(parts)(nine), jacobian(parts, nine));
    close(jacfwd(parts)(nine), jacobian(parts, nine));
  });
});

describe('of a record of tensors', () => {
  interface Affine {
    readonly weight: Tensor;
    readonly bias: readonly [Tensor];
  }
  const layer: Affine = {
    weight: tensor([
      [1, -2, 0.5],
      [0.3, 0.1, -1],
    ]),
    bias: [tensor([0.2, -0.4])],
  };
  const v = tensor([0.5, 1, -1.5]);
  const apply = ({ weight, bias }: Affine, x: Tensor): Tensor => weight.mv(x).add(bias[0]).tanh();
  const apart = (weight: Tensor, bias: Tensor, x: Tensor): Tensor =>
    apply({ weight, bias: [bias] }, x);

  it.each([jacrev, jacfwd])('matrices have its structure: %o', (jac) => {
    const found = jac(apply)(layer, v);
    expectTypeOf(found).toEqualTypeOf<Affine>();
    const [weight, bias] = jac(apart, { argnums: [0, 1] })(layer.weight, layer.bias[0], v);
    expect(found.weight.sizes).toEqual([2, 2, 3]);
    expect(found.weight.allclose(weight!)).toBe(true);
    expect(found.bias[0].allclose(bias!)).toBe(true);
    const ofInput = jac(apply, { argnums: 1 })(layer, v);
    expectTypeOf(ofInput).toEqualTypeOf<Tensor>();
    expect(ofInput.allclose(jac((x: Tensor) => apply(layer, x))(v))).toBe(true);
  });

  it('tangent kernels of parameters, for each pair of examples', () => {
    const rows = vmap(jacrev(apply), { inDims: [null, 0] })(layer, v.expand([4, 3]));
    const all = [rows.weight.flatten(2), rows.bias[0]].map((j) => j.matmul(j.transpose(1, 2)));
    const [weight, bias] = jacrev(apart, { argnums: [0, 1] })(layer.weight, layer.bias[0], v);
    const expected = weight!.flatten(1).matmul(weight!.flatten(1).t()).add(bias!.matmul(bias!.t()));
    expect(all[0]!.add(all[1]!).allclose(expected.expand([4, 2, 2]))).toBe(true);
  });

  it('second derivatives have it twice', () => {
    const loss = (p: Affine): Tensor => apply(p, v).square().sum();
    const found = hessian(loss)(layer);
    const [[, cross]] = hessian((w: Tensor, b: Tensor) => apart(w, b, v).square().sum(), {
      argnums: [0, 1],
    })(layer.weight, layer.bias[0]) as [[Tensor, Tensor]];
    expect(found.weight.bias[0].sizes).toEqual([2, 3, 2]);
    expect(found.weight.bias[0].allclose(cross)).toBe(true);
    expect(found.bias[0].weight.allclose(cross.permute([2, 0, 1]))).toBe(true);
  });

  it('of other things is refused', () => {
    expect(() => jacrev(apply as never)(3 as never, v as never)).toThrow(
      'holds something other than tensors',
    );
  });
});
