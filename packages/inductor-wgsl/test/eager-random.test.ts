/**
 * @file Eager random operators on WebGPU: the numbers that the CPU draws from the same seed.
 */
import { EagerProvider } from '@tessera/inductor-core';
import {
  type DeviceType,
  type Tensor,
  dropout,
  getRngState,
  manualSeed,
  rand,
  randint,
  randLike,
  randn,
  randperm,
  zeros,
} from '@tessera/tensor';
import { bernoulli_, normal_, registerKernelProvider, uniform_ } from '@tessera/tensor/internal';
import { describe, expect, it } from 'vitest';
import { openGpu } from './support/open-gpu.js';

const gpu = await openGpu();
if (gpu !== null) registerKernelProvider('wgpu', new EagerProvider(gpu.backend));

const draws: [name: string, draw: (device: DeviceType) => Tensor][] = [
  ['rand', (device) => rand([3, 5], { device })],
  ['randn', (device) => randn([2, 7], { device })],
  ['randint', (device) => randint(-3, 40, [11], { device, dtype: 'int32' })],
  ['randint of millions', (device) => randint(-3, 12_000_000, [11], { device })],
  ['randint of all that fit', (device) => randint(0, 2 ** 31 - 1, [11], { device })],
  ['randperm', (device) => randperm(9, { device })],
  ['randLike', (device) => randLike(zeros([4, 2], { device }))],
  ['uniform_', (device) => uniform_(zeros([6], { device }), -1, 3)],
  ['normal_', (device) => normal_(zeros([5], { device }), 2, 0.5)],
  ['normal_ of a view', (device) => normal_(zeros([3, 4], { device }).t())],
  ['bernoulli_', (device) => bernoulli_(zeros([20], { device }), 0.3)],
  ['dropout', (device) => dropout(zeros([4, 5], { device }).add(2), { p: 0.25 })],
];

describe.skipIf(gpu === null)('random numbers in eager', () => {
  it.each(draws)('%s draws what the cpu does, twice in a row', async (_name, draw) => {
    const drawn: number[][] = [];
    const states: unknown[] = [];
    for (const device of ['cpu', 'wgpu'] as const) {
      manualSeed(42);
      const pair = [draw(device), draw(device)];
      states.push(getRngState());
      for (const tensor of pair) drawn.push(Array.from(await tensor.toTypedArray(), Number));
    }
    expect(states[1]).toEqual(states[0]);
    expect(drawn[0]).not.toEqual(drawn[1]);
    for (const i of [0, 1])
      drawn[i]!.forEach((value, at) => expect(drawn[i + 2]![at]).toBeCloseTo(value, 5));
  });

  it('an empty draw moves the generator on, as on the cpu', () => {
    manualSeed(1);
    rand([0], { device: 'wgpu' });
    expect(getRngState().offset).toBe(1);
  });
});
