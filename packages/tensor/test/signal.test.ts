/**
 * @file `@tessera/tensor/signal` against what PyTorch 2.13 gives (data/signal-windows.json).
 */
import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import type { Tensor } from '../src/index.js';
import * as windows from '../src/signal.js';

type Case = readonly [name: string, length: number, options: object, values: readonly number[]];
const cases = JSON.parse(
  readFileSync(new URL('./data/signal-windows.json', import.meta.url), 'utf8'),
) as Case[];
const all = windows as unknown as Readonly<
  Record<string, (length: number, options: object) => Tensor>
>;

it.each(cases)('%s of %d, %j', (name, length, options, values) => {
  const wide = all[name]!(length, { ...options, dtype: 'float64' });
  expect([wide.dtype, wide.sizes]).toEqual(['float64', [length]]);
  (wide.toArray() as number[]).forEach((value, i) => expect(value).toBeCloseTo(values[i]!, 13));
  const narrow = all[name]!(length, options);
  expect(narrow.dtype).toBe('float32');
  (narrow.toArray() as number[]).forEach((value, i) => expect(value).toBeCloseTo(values[i]!, 5));
});

it('may require gradients', () => {
  expect(windows.hann(4, { requiresGrad: true }).requiresGrad).toBe(true);
});

describe('mistakes', () => {
  it.each<[string, () => unknown, string]>([
    [
      'a length',
      () => windows.hann(-1),
      'general_cosine requires non-negative window length, got M=-1',
    ],
    [
      'a length of another',
      () => windows.bartlett(-1),
      'bartlett requires non-negative window length, got M=-1',
    ],
    [
      'a dtype',
      () => windows.hann(3, { dtype: 'float16' }),
      'general_cosine expects float32 or float64 dtypes, got: torch.float16',
    ],
    ['tau', () => windows.exponential(3, { tau: 0 }), 'Tau must be positive, got: 0 instead.'],
    [
      'center',
      () => windows.exponential(3, { center: 1 }),
      'Center must be None for symmetric windows',
    ],
    [
      'std',
      () => windows.gaussian(3, { std: 0 }),
      'Standard deviation must be positive, got: 0 instead.',
    ],
    ['beta', () => windows.kaiser(3, { beta: -1 }), 'beta must be non-negative, got: -1 instead.'],
    ['no coefficients', () => windows.generalCosine(3, { a: [] }), 'Coefficients cannot be empty'],
    [
      'no list',
      () => windows.generalCosine(3, { a: 5 as never }),
      'Coefficients must be a list/tuple',
    ],
    ['an option', () => windows.hann(3, { periodic: true } as never), 'periodic'],
  ])('%s is refused', (_name, run, message) => {
    expect(run).toThrow(message);
  });
});
