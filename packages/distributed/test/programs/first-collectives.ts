/**
 * allReduce, reduce, broadcast and barrier on every rank, with tensors of many layouts.
 */
import assert from 'node:assert/strict';
import { noGrad, ones, tensor, zeros } from '@tessera/tensor';
import {
  allReduce,
  barrier,
  broadcast,
  destroyProcessGroup,
  getRank,
  getWorldSize,
  initProcessGroup,
  reduce,
} from '../../src/index.js';

await initProcessGroup();
const rank = getRank();
const size = getWorldSize();
const total = (size * (size + 1)) / 2;

const plain = tensor([rank + 1, 2 * (rank + 1)]);
const version = plain.storage.version;
await allReduce(plain);
assert.deepEqual(plain.toArray(), [total, 2 * total]);
assert.equal(plain.storage.version, version + 1);

// A view with gaps: only its elements change.
const whole = ones([3, 4]);
await allReduce(whole.t().narrow(0, 1, 2));
assert.deepEqual(whole.toArray(), [
  [1, size, size, 1],
  [1, size, size, 1],
  [1, size, size, 1],
]);

await allReduce(zeros([0, 3]));

const leaf = tensor([1, 2]).requiresGrad_();
await noGrad(() => allReduce(leaf, { op: 'avg' }));
assert.deepEqual(leaf.toArray(), [1, 2]);
assert.equal(leaf.requiresGrad, true);

const rooted = tensor([rank + 1]);
await reduce(rooted, size - 1, { op: 'max' });
assert.deepEqual(rooted.toArray(), [rank === size - 1 ? size : rank + 1]);

for (let src = 0; src < size; src++) {
  const mine = tensor([rank, rank], { dtype: 'int64' });
  await broadcast(mine, src);
  assert.deepEqual(mine.toArray(), [src, src]);
}

// Many at once, in order; waited for with and without an event loop.
const works = Array.from({ length: 20 }, (_, i) => {
  const value = tensor([rank + i]);
  return { value, i, work: allReduce(value, { async: true }) };
});
for (const { value, i, work } of works.reverse()) {
  if (i % 2 === 0) await work.wait();
  else work.waitSync();
  assert.equal(work.isCompleted(), true);
  assert.deepEqual(value.toArray(), [total - size + i * size]);
}

// Memory of a tensor that is disposed of while it is reduced is not given to somebody else.
const gone = ones([1 << 18]);
const flight = allReduce(gone, { async: true });
gone.dispose();
const next = zeros([1 << 18]);
flight.waitSync();
assert.equal(next.sum().item(), 0);

await barrier();
await destroyProcessGroup();
await initProcessGroup({ timeout: 10_000 });
const again = tensor([1]);
await allReduce(again);
assert.deepEqual(again.toArray(), [size]);
console.log(`rank ${rank} of ${size} is done`);
