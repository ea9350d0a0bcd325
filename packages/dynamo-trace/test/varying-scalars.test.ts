/**
 * @file Numbers that change from call to call, at every operator that takes one: what they decide is decided anew.
 */
import { type Tensor, enableGrad, tensor } from '@tessera/tensor';
import * as T from '@tessera/tensor';
import { describe, expect, it } from 'vitest';
import { compileEager } from './compile-for-test.js';

type Program = (x: Tensor, c: number) => Tensor;

const OPS: Readonly<Record<string, Program>> = {
  'arange(end)': (x, c) =>
    T.arange(Math.round(c * 4))
      .sum()
      .add(x.sum()),
  'arange(end), of a float': (x, c) => T.arange(c).sum().add(x.sum()),
  'arange(start, end, step)': (x, c) => T.arange(c, 9, c).sum().add(x.sum()),
  linspace: (x, c) => T.linspace(0, c, 3).mul(x.sum()),
  full: (x, c) => T.full([2], c).mul(x.sum()),
  'full(size)': (x, c) => T.full([Math.round(c * 4)], 2).mul(x.sum()),
  add: (x, c) => x.add(x, { alpha: c }),
  'add of a number': (x, c) => x.add(c),
  sub: (x, c) => x.sub(c),
  mul: (x, c) => x.mul(c),
  div: (x, c) => x.div(c),
  'div, rounded': (x, c) => x.div(c, { roundingMode: 'floor' }),
  pow: (x, c) => x.abs().add(1).pow(c),
  'a number to a power': (x, c) => T.pow(c, x),
  remainder: (x, c) => x.remainder(c),
  copysign: (x, c) => x.copysign(-c),
  xlogy: (x, c) => x.xlogy(c),
  clamp: (x, c) => x.clamp(-c, c),
  'clamp, below': (x, c) => x.clamp(c),
  norm: (x, c) => x.norm(c),
  dist: (x, c) => T.dist(x, x.mul(2), { p: c }),
  var: (x, c) => x.variance(0, { correction: c }),
  std: (x, c) => x.std(0, { correction: c }),
  renorm: (x, c) => x.renorm(2, 0, c),
  lerp: (x, c) => x.lerp(x.mul(3), c),
  addcmul: (x, c) => x.addcmul(x, x, { value: c }),
  addcdiv: (x, c) => x.addcdiv(x, x.abs().add(1), { value: c }),
  addmm: (x, c) => T.addmm(x, x, x.t(), { beta: c, alpha: c * 2 }),
  softplus: (x, c) => x.softplus({ beta: c }),
  elu: (x, c) => x.elu({ alpha: c }),
  celu: (x, c) => x.celu({ alpha: c }),
  leakyRelu: (x, c) => x.leakyRelu({ negativeSlope: c }),
  threshold: (x, c) => x.threshold(0, c),
  hardtanh: (x, c) => x.hardtanh({ minVal: -c, maxVal: c }),
  hardshrink: (x, c) => x.hardshrink({ lambd: c }),
  softshrink: (x, c) => x.softshrink({ lambd: c }),
  logit: (x, c) => x.sigmoid().logit({ eps: c / 10 }),
  pad: (x, c) => T.pad(x, [1, 0], { value: c }),
  maskedFill: (x, c) => x.maskedFill(x.gt(0), c),
  where: (x, c) => T.where(x.gt(0), x, c),
  gt: (x, c) => x.gt(c).to('float32').mul(x),
  fill_: (x, c) => x.mul(2).fill_(c).add(x),
  trapezoid: (x, c) => T.trapezoid(x, { dx: c }),
};

const NUMBERS = [2, 0.5, 1, 1.5, 0.25, 3];

function play(fn: Program): { values: unknown; grad: unknown }[] {
  return NUMBERS.map((c) => {
    const x = tensor([
      [0.5, -1.25, 2],
      [1, 0.75, -0.125],
      [3, -2, 1.5],
    ]).requiresGrad_();
    const y = enableGrad(() => fn(x, c));
    return { values: y.toArray(), grad: x.grad?.toArray() };
  });
}

describe('numbers that vary', () => {
  for (const [name, op] of Object.entries(OPS)) {
    it(`${name}`, () => {
      const fn: Program = (x, c) => {
        const y = op(x, c);
        if (y.requiresGrad) y.sum().backward();
        return y.detach();
      };
      expect(play(compileEager(fn).call)).toEqual(play(fn));
    });
  }
});
