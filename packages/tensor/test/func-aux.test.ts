/**
 * @file What functions return beside their result (`hasAux`), and `linearize`, as PyTorch 2.13 has them.
 */
import { describe, expect, expectTypeOf, it } from 'vitest';
import { type Tensor, onesLike, tensor } from '../src/index.js';
import {
  grad,
  gradAndValue,
  jacfwd,
  jacrev,
  jvp,
  linearize,
  vjp,
  vmap,
} from '../src/func/index.js';

const double = (data: number[] | number[][]): Tensor => tensor(data, { dtype: 'float64' });
const x = double([0.5, -1.2, 2]);
const f = (v: Tensor): Tensor => v.sin().mul(v.sum());
const withAux = (v: Tensor): [Tensor, { twice: Tensor; note: string }] => [
  f(v),
  { twice: v.mul(2), note: 'kept' },
];
const close = (a: Tensor, b: Tensor): void => expect(a.allclose(b, { rtol: 1e-12 })).toBe(true);

describe('hasAux', () => {
  it('of jacrev and jacfwd', () => {
    for (const jac of [jacrev, jacfwd]) {
      const [matrix, aux] = jac(withAux, { hasAux: true })(x);
      expectTypeOf(aux).toEqualTypeOf<{ twice: Tensor; note: string }>();
      close(matrix, jacrev(f)(x));
      close(aux.twice, x.mul(2));
      expect([aux.note, aux.twice.requiresGrad]).toEqual(['kept', false]);
    }
  });

  it('of vjp, after the arguments', () => {
    const [y, pullback, aux] = vjp(withAux, x, { hasAux: true });
    const [z, other] = vjp(f, x);
    close(y, z);
    close(pullback(onesLike(y))[0], other(onesLike(z))[0]);
    expect(aux.note).toBe('kept');
    expect(vjp(f as never, x, { hasAux: false } as never)).toHaveLength(2);
  });

  it('of jvp', () => {
    const [y, tangent, aux] = jvp(withAux, [x], [onesLike(x)], { hasAux: true });
    const [z, other] = jvp(f, [x], [onesLike(x)]);
    close(y, z);
    close(tangent, other);
    expect(aux.note).toBe('kept');
  });

  it('of grad and gradAndValue', () => {
    const total = (v: Tensor): [Tensor, Tensor] => [f(v).sum(), v.mul(3)];
    const [slope, aux] = grad(total, { hasAux: true })(x);
    const [other, [value, third]] = gradAndValue(total, { hasAux: true })(x);
    close(slope, other);
    close(value, f(x).sum());
    close(aux as Tensor, third);
  });

  it('composes with vmap', () => {
    const rows = double([
      [1, 2, 3],
      [4, 5, 6],
    ]);
    const tensors = (v: Tensor): [Tensor, Tensor] => [f(v), v.mul(2)];
    const [matrices, twice] = vmap((v: Tensor) => jacrev(tensors, { hasAux: true })(v))(rows);
    close(matrices, vmap(jacrev(f))(rows));
    close(twice, rows.mul(2));
  });

  it('wants a pair', () => {
    const message = 'output of function f should be a tuple: (output, aux) if has_aux is True';
    const alone = f as unknown as typeof withAux;
    expect(() => jacrev(alone, { hasAux: true })(x)).toThrow(`vjp(f, *primals): ${message}`);
    expect(() => vjp(alone, x, { hasAux: true })).toThrow(`vjp(f, *primals): ${message}`);
    expect(() => jvp(alone, [x], [x], { hasAux: true })).toThrow(
      `jvp(f, primals, tangents): ${message}`,
    );
    expect(() => grad(alone, { hasAux: true })(x)).toThrow(`grad_and_value(f)(*args): ${message}`);
    expect(() => jvp(f, [x], [x], { aux: true } as never)).toThrow('aux');
  });
});

describe('linearize', () => {
  const g = (a: Tensor, b: { w: Tensor }): Tensor[] => [a.mul(b.w).sum(), a.exp().mul(b.w)];
  const w = double([2, -1, 0.5]);

  it('multiplies with the Jacobian as often as wanted', () => {
    const [y, push] = linearize(g, x, { w });
    const [z] = jvp(g, [x, { w }], [x, { w }]);
    y.forEach((each, i) => close(each, z[i]!));
    for (const [da, dw] of [
      [onesLike(x), w],
      [w, x.square()],
    ] as const) {
      const [, wanted] = jvp(g, [x, { w }], [da, { w: dw }]);
      push(da, { w: dw }).forEach((each, i) => close(each, wanted[i]!));
    }
  });

  it('runs the function once', () => {
    let runs = 0;
    const [, push] = linearize((v: Tensor) => (runs++, f(v)), x);
    push(x);
    push(w);
    expect(runs).toBe(1);
  });

  it('can be differentiated from outside, and batched', () => {
    const total = (v: Tensor): Tensor => linearize((u: Tensor) => u.pow(3), v)[1](w).sum();
    close(grad(total)(x), x.mul(w).mul(6));
    const rows = double([
      [1, 0, 0],
      [0, 1, 0],
      [0, 0, 1],
    ]);
    const [, push] = linearize(f, x);
    close(vmap(push)(rows).t(), jacrev(f)(x));
    close(vmap((row: Tensor) => vjp(f, x)[1](row)[0])(rows), jacrev(f)(x));
    const [, pullback] = vjp(f, x);
    close(vmap((row: Tensor) => pullback(row)[0])(rows), jacrev(f)(x));
  });

  it('refuses tangents of other sizes and dtypes', () => {
    const [, push] = linearize(f, x);
    expect(() => push(double([1, 2]))).toThrow('the tangents must have the sizes [3]');
    expect(() => push(tensor([1, 2, 3]))).toThrow(
      "tangent:0 with dtype torch.float32 in flattened pytree doesn't match the dtype torch.float64 of the corresponding primal.",
    );
  });
});
