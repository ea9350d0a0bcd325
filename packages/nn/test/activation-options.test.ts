/**
 * @file What tunes an activation is given by position, as PyTorch prints it, or by name, as its keywords:
 * `nn.LeakyReLU(negative_slope=0.2)`. The `@ts-expect-error` lines are checked by the type check of the package.
 */
import { describe, expect, it } from 'vitest';
import {
  CELU,
  ELU,
  Hardshrink,
  Hardtanh,
  LeakyReLU,
  type Module,
  RReLU,
  ReLU6,
  Softplus,
  Softshrink,
} from '../src/index.js';

describe('activations', () => {
  it.each<[string, Module, Module]>([
    ['LeakyReLU', new LeakyReLU({ negativeSlope: 0.2 }), new LeakyReLU(0.2)],
    ['LeakyReLU', new LeakyReLU({ inplace: true }), new LeakyReLU(0.01, { inplace: true })],
    ['ELU', new ELU({ alpha: 2, inplace: true }), new ELU(2, { inplace: true })],
    ['CELU', new CELU({ alpha: 2 }), new CELU(2)],
    ['Softplus', new Softplus({ beta: 2 }), new Softplus(2, 20)],
    ['Softplus', new Softplus({ threshold: 3 }), new Softplus(1, 3)],
    ['Hardtanh', new Hardtanh({ maxVal: 2 }), new Hardtanh(-1, 2)],
    ['RReLU', new RReLU({ upper: 0.5, inplace: true }), new RReLU(1 / 8, 0.5, { inplace: true })],
    ['Hardshrink', new Hardshrink({ lambd: 1 }), new Hardshrink(1)],
    ['Softshrink', new Softshrink({ lambd: 1 }), new Softshrink(1)],
    ['defaults', new Hardtanh({}), new Hardtanh()],
  ])('%s by name is that by position', (_name, named, byPosition) => {
    expect({ ...named }).toEqual({ ...byPosition });
    expect(String(named)).toBe(String(byPosition));
  });

  it.each<[() => unknown, string]>([
    // @ts-expect-error no such option
    [() => new LeakyReLU({ negative_slope: 0.2 }), "LeakyReLU has no option 'negative_slope'."],
    // @ts-expect-error no such option
    [() => new ELU(1, { alpa: 2 }), "ELU has no option 'alpa'."],
    // @ts-expect-error options are an object
    [() => new Hardtanh(-1, 1, true), 'Hardtanh: options are an object, not true.'],
    // @ts-expect-error no such option
    [() => new ReLU6({ maxVal: 5 }), "ReLU6 has no option 'maxVal'."],
    // @ts-expect-error a number
    [() => new Softplus({ beta: '2' }), 'Softplus: beta must be a number.'],
    // @ts-expect-error a number, or options
    [() => new Softshrink(null), 'Softshrink: options are an object, not null.'],
    // @ts-expect-error behind options
    [() => new ELU({ alpha: 2 }, { inplace: true }), 'ELU: expected at most 1 arguments, got 2.'],
    // @ts-expect-error by position and by name
    [() => new RReLU(0.1, 0.3, { upper: 0.5 }), 'RReLU: upper is given twice.'],
    // @ts-expect-error more than there are
    [() => new Softplus(1, 20, {}), 'Softplus: expected at most 2 arguments, got 3.'],
    [() => new Hardtanh({ minVal: 2 }), 'Hardtanh: max_val (1) must be greater than min_val (2)'],
  ])('refuse other options: %s', (call, message) => {
    expect(call).toThrow(message);
  });
});
