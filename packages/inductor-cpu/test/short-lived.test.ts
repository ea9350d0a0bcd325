/**
 * @file What making code takes is let go with young objects. A function that is assigned to a property, and a getter of an
 * object that is written out, live among old ones, and keep what they reach until the next full collection.
 */
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { expect, it } from 'vitest';
import { cpuBackend } from '../src/index.js';
import { matmul } from './matmul-kernel.js';

setFlagsFromString('--expose-gc');
const collect = runInNewContext('gc') as (options?: { type: 'minor' }) => void;

it('code of a product leaves little that only a full collection frees', () => {
  const { kernel } = matmul({ m: 64, n: 64, k: 64 });
  for (let i = 0; i < 20; i++) cpuBackend.generate(kernel);
  collect();
  const before = process.memoryUsage().heapUsed;
  for (let i = 0; i < 100; i++) {
    cpuBackend.generate(kernel);
    if (i % 10 === 9) collect({ type: 'minor' });
  }
  collect({ type: 'minor' });
  collect({ type: 'minor' });
  // It is some 150 kB each time.
  expect((process.memoryUsage().heapUsed - before) / 100).toBeLessThan(20_000);
});
