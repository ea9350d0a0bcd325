/**
 * @file What constant folding leaves alone: random numbers and sizes that vary.
 */
import { compile, markDynamic } from '@tessera/compile';
import { type Tensor, noGrad, rand, randn, zeros } from '@tessera/tensor';
import { expect } from 'vitest';
import { CompileCounterWithBackend } from '../../src/index.js';
import { type Device, expectClose, numbersOf, openDevice } from '../support/devices.js';
import { frozen } from './frozen.js';

/** Two calls draw different numbers. */
export async function rngOp(device: Device): Promise<void> {
  await openDevice(device);
  const draw = compile((): Tensor => rand([4, 4], { device }).add(1));
  const [first, second] = frozen({}, () => noGrad(() => [draw(), draw()])) as [Tensor, Tensor];
  expect([first.device, second.device]).toEqual([device, device]);
  expect(await numbersOf(first)).not.toEqual(await numbersOf(second));
}

/** Sizes of an input make a tensor: the second call has other sizes. */
export async function symintNotFolded(device: Device): Promise<void> {
  await openDevice(device);
  const apply = (a: Tensor): Tensor[] => [a.cos(), zeros([a.size(0), a.size(1)], { device })];
  const counter = new CompileCounterWithBackend('inductor');
  const run = compile(apply, { fullgraph: true, dynamic: true, backend: counter });
  for (const sizes of [
    [2, 4, 6],
    [3, 5, 6],
  ]) {
    const a = randn(sizes, { device });
    markDynamic(a, [0, 1]);
    await frozen({}, async () => {
      const actual = noGrad(() => run(a));
      expect(actual.map((result) => result.device)).toEqual([device, device]);
      await expectClose(
        actual,
        noGrad(() => apply(a)),
      );
    });
  }
  // One graph for both.
  expect(counter.frameCount).toBe(1);
}
