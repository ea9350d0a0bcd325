/**
 * @file Whole numbers too large for an int64, as masks use them, or for the 32 bits that WebGPU has, as times in milliseconds are.
 */
import { beforeAll, describe, expect, it } from 'vitest';
import { compile, config, initWebGpu } from '../src/index.js';
import { wantsGpu } from '../../../tooling/wants-gpu.js';
import { type Tensor, manualSeed, maskedFill, ones, rand, tensor, where } from '@tessera/tensor';
import { constantPad } from '@tessera/tensor/internal';

const mask = tensor([true, false]);
const lowest = Math.fround(-1e30);
const cases: [string, (x: Tensor) => Tensor, number[]][] = [
  ['maskedFill', (x) => maskedFill(x, mask, -1e30), [lowest, 1]],
  ['where', (x) => where(mask, x, -1e30), [1, lowest]],
  ['constantPad', (x) => constantPad(x, [1, 0], -1e30), [lowest, 1, 1]],
  ['mul', (x) => x.mul(-1e30), [lowest, lowest]],
];

describe.each(cases)('%s with -1e30', (_, fn, expected) => {
  it('keeps the number, eager and compiled', () => {
    for (const kernels of ['reference', 'inductor'] as const)
      config.patch({ 'eager.kernels': kernels }, () => {
        expect(fn(ones([2])).toArray(), kernels).toEqual(expected);
        expect(compile(fn)(ones([2])).toArray(), `compiled, ${kernels}`).toEqual(expected);
      });
  });
});

describe.skipIf(!wantsGpu)('numbers of more than 32 bits on WebGPU', () => {
  beforeAll(async () => {
    await initWebGpu();
  });

  const numbers = [2 ** 31 - 1, 2 ** 31, 3e9, -3e9, 1.8e12, 5, 2 ** 53];

  it.each([
    ['add', (x: Tensor, n: number): Tensor => x.add(n)],
    ['mul', (x: Tensor, n: number): Tensor => x.mul(n)],
  ])('are floats in %s of floats, eager, as constants and as arguments', async (_, fn) => {
    const compiled = compile(fn);
    for (const n of numbers) {
      const x = tensor([1, -2]);
      const wanted = fn(x, n).toArray();
      const constant = compile((y: Tensor) => fn(y, n));
      expect(await fn(x.to('wgpu'), n).toArray()).toEqual(wanted);
      expect(await constant(x.to('wgpu')).toArray()).toEqual(wanted);
      expect(await compiled(x.to('wgpu'), n).toArray()).toEqual(wanted);
    }
  });

  it('are floats where a mask chooses between them and floats', async () => {
    const x = tensor([1, -2]);
    const choose = (y: Tensor): Tensor => where(y.gt(0), y, -1e10);
    for (const fn of [choose, compile(choose)])
      expect(await fn(x.to('wgpu')).toArray()).toEqual([1, -1e10]);
  });

  it('are refused by integers', async () => {
    const x = tensor([1], { dtype: 'int64', device: 'wgpu' });
    await expect(async () => x.add(3e9).toArray()).rejects.toMatchObject({
      code: 'invalid-argument',
    });
  });

  it('seed the generator', async () => {
    const draw = (): Tensor => rand([4], { device: 'wgpu' });
    const compiled = compile(draw);
    const drawn: unknown[] = [];
    for (const seed of [1, 2 ** 31 + 1, 2 ** 32 - 1])
      for (const fn of [draw, compiled]) {
        manualSeed(seed);
        drawn.push(await fn().toArray());
      }
    expect([drawn[1], drawn[3], drawn[5]]).toEqual([drawn[0], drawn[2], drawn[4]]);
    expect(drawn[2]).not.toEqual(drawn[0]);
  });
});
