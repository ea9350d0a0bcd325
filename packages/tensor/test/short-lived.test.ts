/**
 * @file What a backward made is let go with young objects: a getter of an object that is written out lives among old ones,
 * and keeps what it reaches until the next full collection.
 */
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { expect, it } from 'vitest';
import type { OpNode } from '../src/autograd/op-node.js';
import { type Tensor, ones } from '../src/index.js';

setFlagsFromString('--expose-gc');
const collect = runInNewContext('gc') as (options?: { type: 'minor' }) => void;

it('a node leaves little that only a full collection frees', () => {
  const y = ones([2], { requiresGrad: true }).mul(ones([2]));
  const node = y.gradFn as OpNode;
  const grad = ones([2]);
  // A vjp alone: storages of results, which are registered to be freed, live as long as they do.
  const context = (): unknown =>
    (node as unknown as { context(grads: Tensor[], outs: Tensor[]): unknown }).context([grad], [y]);
  for (let i = 0; i < 50; i++) context();
  collect();
  const before = process.memoryUsage().heapUsed;
  for (let i = 0; i < 10_000; i++) {
    context();
    if (i % 1000 === 999) collect({ type: 'minor' });
  }
  collect({ type: 'minor' });
  collect({ type: 'minor' });
  expect((process.memoryUsage().heapUsed - before) / 10_000).toBeLessThan(100);
});
