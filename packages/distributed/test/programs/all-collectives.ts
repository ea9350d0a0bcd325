/**
 * The collectives that move parts, messages, objects and groups, with tensors on every rank.
 */
import assert from 'node:assert/strict';
import { type Tensor, arange, full as filled, tensor, zeros } from '@tessera/tensor';
import {
  allGather,
  allGatherIntoTensor,
  allGatherObject,
  allReduce,
  allToAll,
  allToAllSingle,
  barrier,
  broadcastObjectList,
  destroyProcessGroup,
  gather,
  getRank,
  getWorldSize,
  initProcessGroup,
  irecv,
  isend,
  newGroup,
  recv,
  reduceScatter,
  reduceScatterTensor,
  scatter,
  send,
} from '../../src/index.js';

const full = (
  sizes: number[],
  value: number,
  dtype: 'float32' | 'int64' | 'int32' = 'float32',
): Tensor => filled(sizes, value, { dtype });

await initProcessGroup();
const rank = getRank();
const size = getWorldSize();
const everyone = Array.from({ length: size }, (_, r) => r);
const values = (list: readonly Tensor[]): unknown[] => list.map((one) => one.toArray());

// allGather: views with gaps on both sides
const pair = tensor([
  [rank, 7],
  [rank + 0.5, 7],
]).select(1, 0);
const gathered = everyone.map(() => zeros([2, 2]).t().select(0, 1));
await allGather(gathered, pair);
assert.deepEqual(
  values(gathered),
  everyone.map((r) => [r, r + 0.5]),
);
const flat = zeros([2 * size]);
await allGatherIntoTensor(flat, pair);
assert.deepEqual(
  flat.toArray(),
  everyone.flatMap((r) => [r, r + 0.5]),
);

// reduceScatter
const part = zeros([2], { dtype: 'bfloat16' });
await reduceScatter(
  part,
  everyone.map((r) => tensor([r, rank], { dtype: 'bfloat16' })),
);
const ranksSum = (size * (size - 1)) / 2;
assert.deepEqual(part.toArray(), [rank * size, ranksSum]);
const mean = zeros([1, 2]);
await reduceScatterTensor(mean, arange(2 * size, { dtype: 'float32' }).view([size, 2]), {
  op: 'avg',
});
assert.deepEqual(mean.toArray(), [[2 * rank, 2 * rank + 1]]);

// allToAll: rank r sends r + to elements
const sends = everyone.map((to) => full([rank + to], 10 * rank + to));
const receives = everyone.map((from) => zeros([rank + from]));
await allToAll(receives, sends);
assert.deepEqual(
  values(receives),
  everyone.map((from) => Array.from({ length: rank + from }, () => 10 * from + rank)),
);
const swapped = zeros([size, 2], { dtype: 'int32' });
await allToAllSingle(swapped, full([size, 2], rank, 'int32'));
assert.deepEqual(
  swapped.toArray(),
  everyone.map((r) => [r, r]),
);
const uneven = zeros([size * (rank + 1)]);
await allToAllSingle(uneven, arange((size * (size + 1)) / 2, { dtype: 'float32' }), {
  inputSplitSizes: everyone.map((r) => r + 1),
  outputSplitSizes: everyone.map(() => rank + 1),
});
const begins = (rank * (rank + 1)) / 2;
assert.deepEqual(
  uneven.toArray(),
  everyone.flatMap(() => Array.from({ length: rank + 1 }, (_, i) => begins + i)),
);

// gather and scatter
const last = size - 1;
const lists = rank === last ? everyone.map(() => zeros([3])) : null;
await gather(full([3], rank), lists, last);
if (lists !== null)
  assert.deepEqual(
    values(lists),
    everyone.map((r) => [r, r, r]),
  );
const own = zeros([2]);
await scatter(own, rank === 0 ? everyone.map((r) => full([2], r * r)) : null, 0);
assert.deepEqual(own.toArray(), [rank * rank, rank * rank]);

// Inputs that are parts of the outputs, or hold them.
const shared = zeros([size, 2]);
shared.narrow(0, rank, 1).fill_(rank + 1);
await allGatherIntoTensor(shared, shared.narrow(0, rank, 1));
assert.deepEqual(
  shared.toArray(),
  everyone.map((r) => [r + 1, r + 1]),
);
await reduceScatterTensor(shared.narrow(0, 0, 1), shared);
assert.deepEqual(shared.select(0, 0).toArray(), [size * (rank + 1), size * (rank + 1)]);
const exchanged = tensor(everyone.map((r) => 10 * rank + r));
await allToAllSingle(exchanged, exchanged);
assert.deepEqual(
  exchanged.toArray(),
  everyone.map((r) => 10 * r + rank),
);

// NaN is the least and the largest on every rank, whoever has it, and -0 is less than 0.
for (const dtype of ['float32', 'float64', 'float16', 'bfloat16'] as const)
  for (const op of ['min', 'max'] as const) {
    const values = everyone.map((r) => (r === rank ? NaN : r));
    const mixed = tensor([...values, rank === 0 ? -0 : 0], { dtype });
    await allReduce(mixed, { op });
    const zero = op === 'min' || size === 1 ? -0 : 0;
    assert.deepEqual(mixed.toArray(), [...everyone.map(() => NaN), zero]);
    const parts = everyone.map((r) => tensor([r === last && rank === last ? NaN : r], { dtype }));
    const part = zeros([1], { dtype });
    await reduceScatter(part, parts, { op });
    assert.deepEqual(part.toArray(), [rank === last ? NaN : rank]);
  }

// Messages around a ring: both directions at once, by tag
if (size > 1) {
  const right = (rank + 1) % size;
  const left = (rank + size - 1) % size;
  const a = zeros([2]);
  const b = zeros([2], { dtype: 'int64' });
  const works = [
    irecv(b, right, { tag: 2 }),
    irecv(a, left, { tag: 1 }),
    isend(full([2], rank), right, { tag: 1 }),
    isend(full([2], rank, 'int64'), left, { tag: 2 }),
  ];
  for (const work of works) await work.wait();
  assert.deepEqual(a.toArray(), [left, left]);
  assert.deepEqual(b.toArray(), [right, right]);
  if (rank === 0) await send(tensor([42]), 1);
  if (rank === 1) {
    const got = zeros([1]);
    await recv(got, 0);
    assert.equal(got.item(), 42);
  }
}

// Objects
const list: unknown[] = rank === last ? [{ epoch: 3 }, 'ä', null] : [0, 0, 0];
await broadcastObjectList(list, last);
assert.deepEqual(list, [{ epoch: 3 }, 'ä', null]);
const all: unknown[] = everyone.map(() => 0);
await allGatherObject(all, { rank, name: 'x'.repeat(rank) });
assert.deepEqual(
  all,
  everyone.map((r) => ({ rank: r, name: 'x'.repeat(r) })),
);

// Groups: even and odd ranks at once, each with their own numbers
const even = await newGroup(everyone.filter((r) => r % 2 === 0));
const odd = size > 1 ? await newGroup(everyone.filter((r) => r % 2 === 1).reverse()) : null;
const mine = (rank % 2 === 0 ? even : odd)!;
assert.equal(rank % 2 === 0 ? odd : even, null);
const members = everyone.filter((r) => r % 2 === rank % 2);
assert.deepEqual(mine.ranks, members);
assert.equal(getRank(mine), members.indexOf(rank));
const inGroup = tensor([rank + 1]);
const inWorld = tensor([1]);
const [first, second] = [
  allReduce(inGroup, { group: mine, async: true }),
  allReduce(inWorld, { async: true }),
];
await second.wait();
await first.wait();
assert.deepEqual(inGroup.toArray(), [members.reduce((sum, r) => sum + r + 1, 0)]);
assert.deepEqual(inWorld.toArray(), [size]);
await barrier({ group: mine });
await destroyProcessGroup();
console.log(`rank ${rank} of ${size} is done`);
