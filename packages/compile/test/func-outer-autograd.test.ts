/**
 * @file Derivatives by functions (`@tessera/tensor/func`) inside of other derivatives: what a function reads besides its
 * arguments stays differentiable for the code around it. Numbers are those of PyTorch 2.13; each case runs eagerly
 * and compiled.
 */
import { describe, expect, it } from 'vitest';
import { type Tensor, noGrad, stack, tensor } from '@tessera/tensor';
import * as t from '@tessera/tensor';
import { grad, gradAndValue, hessian, jacfwd, jacrev, jvp, vjp, vmap } from '@tessera/tensor/func';
import { compile } from '../src/index.js';
import { close } from './close.js';

const x0 = tensor([1, 5], { dtype: 'float32' });
const w0 = tensor([2, 3], { dtype: 'float32' });
const rows = stack([x0, w0], 0);

type Fn = (w: Tensor) => Tensor;

/** `w x²`, summed, as a function of x. */
const square =
  (w: Tensor): Fn =>
  (x) =>
    w.mul(x).mul(x).sum();

describe.each([
  ['eager', (fn: Fn): Fn => fn],
  ['compiled', (fn: Fn): Fn => compile(fn)],
])('a derivative inside of a derivative, %s', (_, run) => {
  const steps = (f: Fn, v: Tensor, rate: number): Tensor => {
    for (let i = 0; i < 2; i++) v = v.sub(grad(f)(v).mul(rate));
    return v;
  };
  const cases: Record<string, [fn: Fn, expected: unknown]> = {
    'grad of grad, by closure': [grad((w) => grad(square(w))(x0).sum()), [2, 10]],
    'grad of grad, with an argument that is the outer one': [
      grad((x) => grad((y: Tensor) => x.mul(y).mul(y).sum())(x).sum()),
      [8, 12],
    ],
    'three levels': [
      grad((a) =>
        grad((b: Tensor) => grad((c: Tensor) => a.mul(b).mul(c).square().sum())(x0).sum())(
          w0,
        ).sum(),
      ),
      [32, 360],
    ],
    'one step of an inner optimizer': [
      grad((w) =>
        w
          .sub(grad((v: Tensor) => v.square().sum())(w).mul(0.1))
          .square()
          .sum(),
      ),
      [2.56, 3.84],
    ],
    'two steps towards outer weights': [
      grad((w) => steps((v) => v.sub(w).square().mul(v).sum(), x0, 0.1).sum()),
      [0.04000002, 1.3360001],
    ],
    'two steps from outer weights': [
      grad((w) =>
        steps((v) => v.pow(3).sum(), w, 0.01)
          .square()
          .sum(),
      ),
      [2.7700014, 3.4372144],
    ],
    'grad of jacrev': [
      grad((w) => jacrev((x: Tensor) => w.mul(x).mul(x).mul(w))(x0).sum()),
      [8, 60],
    ],
    'jacrev of grad': [
      jacrev((w: Tensor) =>
        grad((x: Tensor) => w.mul(x).square().sum())(x0)
          .div(x0)
          .mul(x0),
      ),
      [
        [8, 0],
        [0, 60],
      ],
    ],
    'jacrev of jacrev': [
      jacrev((w: Tensor) => jacrev((x: Tensor) => w.mul(x).square())(x0).sum(0)),
      [
        [8, 0],
        [0, 60],
      ],
    ],
    'a Hessian of grad': [
      jacrev(
        jacrev((w: Tensor) =>
          grad((x: Tensor) => w.pow(3).mul(x).mul(x).sum())(x0).sum(),
        ) as unknown as Fn,
      ),
      [
        [24, 0],
        [0, 180],
      ],
    ],
    'what comes along with a gradient': [
      grad((w) => {
        const fn = (x: Tensor): [Tensor, Tensor] => [w.mul(x).square().sum(), w.mul(x).mul(x)];
        const [g, aux] = grad(fn, { hasAux: true })(x0) as [Tensor, Tensor];
        return g.mul(aux).sum();
      }),
      [24, 6750],
    ],
    'a value with a gradient': [
      grad((w) => {
        const [g, value] = gradAndValue((x: Tensor) => w.mul(x).square().sum())(x0);
        return g.sum().mul(value);
      }),
      [2224, 28440],
    ],
    'vmap of a closure': [
      vmap((w: Tensor) => grad((x: Tensor) => w.mul(x).square().sum())(tensor(3))),
      [24, 54],
    ],
    'grad of vmap of grad': [
      grad((w) =>
        vmap(grad(square(w)))(rows)
          .square()
          .sum(),
      ),
      [80, 816],
    ],
    'vmap of grad of grad': [
      (w) =>
        vmap(grad((v: Tensor) => grad((x: Tensor) => v.mul(x.pow(3)).sum())(x0).sum()))(
          stack([x0, w], 0),
        ),
      [
        [3, 75],
        [3, 75],
      ],
    ],
    'two vmaps between two derivatives': [
      grad((w) =>
        vmap((a: Tensor) =>
          vmap((b: Tensor) => grad((x: Tensor) => square(w)(x).mul(a).mul(b))(x0).sum())(
            tensor([1, 2]),
          ),
        )(tensor([3, 4])).sum(),
      ),
      [42, 210],
    ],
    'noGrad around everything': [
      (w) => noGrad(() => grad((v: Tensor) => grad(square(v))(x0).sum())(w)),
      [2, 10],
    ],
    'noGrad around the inner one': [
      grad((w) =>
        noGrad(() => grad(square(w))(x0))
          .mul(w)
          .sum(),
      ),
      [4, 30],
    ],
    'hessian with createGraph': [
      grad((w) => t.hessian(square(w), x0, { createGraph: true }).diagonal().sum()),
      [2, 2],
    ],
    'vjp with createGraph': [
      grad((w) => t.vjp(square(w), x0, null, { createGraph: true })[1].sum()),
      [2, 10],
    ],
    'jvp with createGraph': [
      grad((w) => t.jvp(square(w), x0, x0, { createGraph: true })[1]),
      [2, 50],
    ],
    'hvp with createGraph': [
      grad((w) => t.hvp(square(w), x0, x0, { createGraph: true })[1].sum()),
      [2, 10],
    ],
  };
  it.each(Object.entries(cases))('%s', (_name, [fn, expected]) => {
    const own = run(fn);
    for (let call = 0; call < 2; call++) close(own(w0), expected);
    expect(own(w0).requiresGrad).toBe(false);
  });

  const outer: Record<string, [fn: Fn, expected: unknown]> = {
    grad: [(w) => grad(square(w))(x0), [2, 10]],
    'grad of a tensor that takes gradients': [
      (w) => grad((x: Tensor) => x.pow(3).sum())(w),
      [12, 18],
    ],
    'grad of the closure and the argument': [
      (w) => grad((x: Tensor) => w.mul(x.pow(3)).sum())(w),
      [36, 81],
    ],
    'a value': [(w) => gradAndValue(square(w))(x0)[1], [1, 25]],
    'what comes along': [
      (w) => {
        const fn = (x: Tensor): [Tensor, Tensor] => [x.square().sum(), x.square().mul(w)];
        return (grad(fn, { hasAux: true })(x0) as [Tensor, Tensor])[1];
      },
      [1, 25],
    ],
    jacrev: [(w) => jacrev((x: Tensor) => w.mul(x).mul(x))(x0), [2, 10]],
    jacfwd: [(w) => jacfwd((x: Tensor) => w.mul(x).mul(x))(x0), [2, 10]],
    'hessian of a function': [(w) => hessian((x: Tensor) => w.mul(x.pow(3)).sum())(x0), [6, 30]],
    jvp: [(w) => jvp((x: Tensor) => w.mul(x).mul(x), [x0], [x0])[1], [2, 50]],
    vjp: [(w) => vjp((x: Tensor) => w.mul(x).mul(x), x0)[1](x0)[0], [2, 50]],
    'jacrev of jacrev': [
      (w) => jacrev(jacrev((x: Tensor) => w.mul(x.pow(3)).sum()) as unknown as Fn)(x0),
      [6, 30],
    ],
    vmap: [(w) => vmap(grad(square(w)))(rows), [6, 16]],
    'vmap of vmap': [
      (w) => vmap(vmap(grad((x: Tensor) => w.sum().mul(x).mul(x))) as unknown as Fn)(rows),
      [22, 22],
    ],
    hessian: [(w) => t.hessian(square(w), x0, { createGraph: true }), [2, 2]],
  };
  it.each(Object.entries(outer))('backward() through %s', (_name, [fn, expected]) => {
    const own = run(fn);
    for (let call = 0; call < 2; call++) {
      const w = w0.clone().requiresGrad_();
      own(w).sum().backward();
      close(w.grad!, expected);
    }
  });

  const constant: Record<string, Fn> = {
    'what no outer tensor takes part in': (w) => grad((x: Tensor) => square(w.detach())(x))(x0),
    'a gradient that does not depend on the outer tensor': (w) =>
      grad((x: Tensor) => x.square().sum().add(w.sum()))(x0),
    'what comes along': (w) => {
      const fn = (x: Tensor): [Tensor, Tensor] => [square(w)(x), x.square()];
      return (grad(fn, { hasAux: true })(x0) as [Tensor, Tensor])[1];
    },
    'a derivative under noGrad': (w) => noGrad(() => grad(square(w))(x0)),
    'a derivative at an outer tensor under noGrad': (w) =>
      noGrad(() => grad((x: Tensor) => x.square().sum())(w)),
    'jacrev under noGrad': (w) => noGrad(() => jacrev((x: Tensor) => x.square())(w)),
    'jacfwd under noGrad': (w) => noGrad(() => jacfwd((x: Tensor) => x.square())(w)),
    'jacfwd of what no outer tensor takes part in': (w) => jacfwd(square(w.detach()))(x0),
    'hessian without createGraph': (w) => t.hessian(square(w), x0),
    'vjp without createGraph': (w) => t.vjp(square(w), x0)[1],
    'hvp without createGraph': (w) => t.hvp(square(w), x0, x0)[1],
  };
  it.each(Object.entries(constant))('no history for %s', (_name, fn) => {
    const w = w0.clone().requiresGrad_();
    const result = run(fn)(w);
    expect(result.requiresGrad).toBe(false);
    close(result, fn(w).toArray());
    expect(result.square().sum().item()).toBeGreaterThan(0);
  });
});
