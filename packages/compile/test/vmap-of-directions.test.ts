/**
 * @file `vmap` over the directions of a vector-Jacobian product, as in the documentation of `torch.vmap`: what is
 * differentiated is shared by all examples, the direction is each one's own. Each case runs eagerly and compiled.
 */
import { expect, it, describe } from 'vitest';
import { type Tensor, eye, grad, tensor, zeros } from '@tessera/tensor';
import { grad as derivative, hessian, vjp, vmap } from '@tessera/tensor/func';
import { compile, graphBreak } from '../src/index.js';

type Fn = (x: Tensor, directions: Tensor) => unknown;

describe.each([
  ['eager', (fn: Fn): Fn => fn],
  ['compiled', (fn: Fn): Fn => compile(fn)],
])('vmap over directions, %s', (_, run) => {
  const x = tensor([1, 2, 3]);
  const directions = tensor([
    [1, 2, 3],
    [4, 5, 6],
  ]);
  const expected = [
    [2, 8, 18],
    [8, 20, 36],
  ];

  it('batches a pullback', () => {
    const fn = run((x, directions) => {
      const [, pull] = vjp((a: Tensor) => a.pow(2), x);
      return vmap((v: Tensor) => pull(v)[0]!)(directions);
    });
    for (let call = 0; call < 3; call++)
      expect((fn(x, directions) as Tensor).toArray()).toEqual(expected);
  });

  it('batches grad() of an output that all examples share', () => {
    const fn = run((x, directions) => {
      const leaf = x.clone().requiresGrad_();
      const y = leaf.pow(2);
      const unused = leaf.mul(2).detach().requiresGrad_();
      return vmap((v: Tensor) => {
        const [of, none] = grad(y, [leaf, unused], { gradOutputs: v, allowUnused: true });
        expect(none).toBe(null);
        return of!;
      })(directions);
    });
    for (let call = 0; call < 3; call++)
      expect((fn(x, directions) as Tensor).toArray()).toEqual(expected);
  });

  it('takes directions from any dimension, and a batch of batches of them', () => {
    const fn = run((x, directions) => {
      const [, pull] = vjp((a: Tensor) => a.pow(2), x);
      const product = (v: Tensor): Tensor => pull(v)[0]!;
      return [
        vmap(product, { inDims: 1 })(directions.t()),
        vmap(vmap(product))(directions.unsqueeze(1)),
      ];
    });
    const [byColumns, nested] = fn(x, directions) as [Tensor, Tensor];
    expect(byColumns.toArray()).toEqual(expected);
    expect(nested.squeeze(1).toArray()).toEqual(expected);
  });

  it('differentiates what it gives', () => {
    const fn = run((x) => {
      const rows = (a: Tensor): Tensor => {
        const [, pull] = vjp((b: Tensor) => b.pow(3), a);
        return vmap((v: Tensor) => pull(v)[0]!)(eye(3)).sum();
      };
      return hessian(rows)(x);
    });
    expect((fn(x, directions) as Tensor).toArray()).toEqual([
      [6, 0, 0],
      [0, 6, 0],
      [0, 0, 6],
    ]);
  });

  it('gives gradients that are differentiated by backward()', () => {
    const fn = run((x) => {
      const leaf = x.clone().requiresGrad_();
      const y = leaf.pow(3);
      const along = (v: Tensor): Tensor => grad(y, leaf, { gradOutputs: v, createGraph: true })[0]!;
      return grad(vmap(along)(eye(3)).sum(), leaf)[0]!;
    });
    expect((fn(x, directions) as Tensor).toArray()).toEqual([6, 12, 18]);
  });
});

it('vmap over directions behind a graph break has the values, and cannot be differentiated', () => {
  const product = (x: Tensor): Tensor => {
    const [, pull] = vjp((a: Tensor) => a.pow(3), x);
    graphBreak();
    return vmap((v: Tensor) => pull(v)[0]!)(eye(3)).sum();
  };
  const x = tensor([1, 2, 3]);
  const forward = compile(product);
  const twice = compile((x: Tensor) => derivative(product)(x));
  for (let call = 0; call < 2; call++) {
    expect(forward(x).item()).toBe(42);
    expect(() => twice(x).toArray()).toThrow(
      expect.objectContaining({ code: 'double-backward-compiled' }),
    );
  }
});

describe('vmap over directions of what compiled code made', () => {
  const rows = [
    [3, 0],
    [0, 12],
  ];
  const along =
    (y: Tensor, x: Tensor) =>
    (v: Tensor): Tensor =>
      grad(y, x, { gradOutputs: v, retainGraph: true })[0]!;

  it('runs its backward once for each example, behind a graph break', () => {
    const fn = compile((x: Tensor): [Tensor, Tensor] => {
      const y = x.pow(3);
      graphBreak();
      const product = along(y, x);
      return [vmap(product, { inDims: 1 })(eye(2)), vmap(vmap(product))(eye(2).unsqueeze(1))];
    });
    for (let call = 0; call < 4; call++) {
      const [one, nested] = fn(tensor([1, 2], { requiresGrad: true }));
      expect(one.toArray()).toEqual(rows);
      expect(nested.squeeze(1).toArray()).toEqual(rows);
    }
  });

  it('runs its backward once for each example, outside', () => {
    const cube = compile((x: Tensor) => x.pow(3));
    const x = tensor([1, 2], { requiresGrad: true });
    const y = cube(x);
    expect(vmap(along(y, x))(eye(2)).toArray()).toEqual(rows);
    expect(vmap(along(y, x))(zeros([0, 2])).shape).toEqual([0, 2]);
    // Beside directions that all examples share.
    const z = y.mul(eye(2).select(0, 0));
    const both = vmap(
      (v: Tensor) => grad([y, z], x, { gradOutputs: [v, tensor([1, 1])], retainGraph: true })[0]!,
    );
    expect(both(eye(2)).toArray()).toEqual([
      [6, 0],
      [3, 12],
    ]);
  });
});
