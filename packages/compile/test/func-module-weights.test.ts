/**
 * @file Weights of a module, and graph breaks, in derivatives by functions (`@tessera/tensor/func`): a loss of the
 * derivative of a module's result trains the module. Numbers are those of PyTorch 2.13.
 */
import { describe, expect, it } from 'vitest';
import { type Tensor, noGrad, tensor } from '@tessera/tensor';
import { grad, vmap } from '@tessera/tensor/func';
import { Linear, functionalCall } from '@tessera/nn';
import { compile } from '../src/index.js';
import { close } from './close.js';

type Fn = (x: Tensor) => Tensor;

describe.each([
  ['eager', <A extends unknown[], R>(fn: (...args: A) => R) => fn],
  ['compiled', <A extends unknown[], R>(fn: (...args: A) => R) => compile(fn)],
])('weights of a module, %s', (_, run) => {
  function model(): Linear {
    const m = new Linear(1, 1);
    noGrad(() => (m.weight.fill_(2), m.bias!.fill_(1)));
    return m;
  }
  const x = tensor([1, 2], { dtype: 'float32' });
  const onSquare =
    (m: Linear) =>
    (q: Tensor): Tensor =>
      m
        .call(q.reshape([1]))
        .square()
        .sum();

  it.each([
    ['a first derivative', (u: Fn) => vmap(grad(u))(x).square().mean(), 480, 128],
    ['a second derivative', (u: Fn) => vmap(grad(grad(u)))(x).sum(), 16, 0],
  ] as const)('get gradients of a loss of %s of its result', (_name, loss, weight, bias) => {
    const m = model();
    const step = run(() => {
      m.zeroGrad();
      const value = loss(onSquare(m)).add(m.bias!.sum().mul(0));
      value.backward();
      return value;
    });
    for (let i = 0; i < 2; i++) {
      step();
      close(m.weight.grad!, [[weight]]);
      close(m.bias!.grad!, [bias]);
    }
  });

  it('get gradients of gradients per example by functionalCall', () => {
    const m = model();
    const loss = run(() => {
      const fn = (p: Record<string, Tensor>, q: Tensor): Tensor =>
        functionalCall(m, p, [q.reshape([1])])
          .square()
          .sum();
      const parameters = Object.fromEntries(m.namedParameters()) as Record<string, Tensor>;
      const each = vmap(grad(fn), { inDims: [null, 0] })(parameters, x);
      return each.weight!.square().sum().add(each.bias!.sum());
    });
    for (let i = 0; i < 2; i++) {
      m.zeroGrad();
      loss().backward();
      close(m.weight.grad!, [[350]]);
      close(m.bias!.grad!, [188]);
    }
  });
});

it('a graph break inside of an inner derivative never gives a wrong outer one', () => {
  const fn = (w: Tensor): Tensor => {
    const f = (x: Tensor): Tensor => {
      const y = w.mul(x);
      return y.sum().item() > 0 ? y.mul(x).sum() : y.sum();
    };
    return grad(f)(tensor([1, 5], { dtype: 'float32' }));
  };
  const w = tensor([2, 3], { dtype: 'float32' }).requiresGrad_();
  const result = compile(fn)(w);
  close(result, [4, 30]);
  expect(result.requiresGrad).toBe(true);
  expect(() => result.sum().backward()).toThrow('double backward');
  expect(compile(fn)(w.detach()).requiresGrad).toBe(false);
});
