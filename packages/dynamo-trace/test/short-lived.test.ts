/**
 * @file What a call made is let go with young objects. A function that is assigned to a property lives among old ones, and
 * keeps what it reaches until the next full collection.
 */
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { expect, it } from 'vitest';
import { type Tensor, tensor } from '@tessera/tensor';
import { CompiledFunction } from '../src/index.js';

setFlagsFromString('--expose-gc');
const collect = runInNewContext('gc') as (options?: { type: 'minor' }) => void;

it('a call leaves nothing that only a full collection frees', () => {
  const fn = (x: Tensor): Tensor => {
    let y = x;
    for (let i = 0; i < 20; i++) y = y.mul(0.5).add(1);
    return y;
  };
  const compiled = new CompiledFunction(fn, {
    // Makes nothing in a call: collecting memory of storages is their own.
    backend(module, examples) {
      const outs = module.forward(...examples) as Tensor[];
      return () => outs;
    },
  });
  const call = (x: Tensor): unknown => compiled.call(undefined, [x]);
  const x = tensor([1, 2]);
  for (let i = 0; i < 50; i++) call(x);
  collect();
  const before = process.memoryUsage().heapUsed;
  for (let i = 0; i < 500; i++) {
    call(x);
    if (i % 50 === 49) collect({ type: 'minor' });
  }
  collect({ type: 'minor' });
  collect({ type: 'minor' });
  const bytes = (process.memoryUsage().heapUsed - before) / 500;
  expect(bytes).toBeLessThan(2000);
});
