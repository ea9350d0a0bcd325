/**
 * @file Many operations at once, groups of some of the ranks, and memory of tensors.
 */
import { type Communicator, heapBuffer } from '@tessera/distributed';
import { cpuHeap } from '@tessera/tensor';
import { type CommunicatorCase, expectValues, ranksOf } from './conformance-case.js';
import { bufferOf, zeroBuffer } from './elements.js';

/** The sum of something over ranks. */
function sumOver(ranks: readonly number[], value: (rank: number) => number): number {
  return ranks.reduce((sum, rank) => sum + value(rank), 0);
}

/** Collectives in a group of these ranks of the world, beside some of the world. */
async function inGroups(
  world: Communicator,
  group: Communicator | null,
  ranks: readonly number[],
): Promise<void> {
  const mine = bufferOf('int64', [world.rank + 1]);
  const everyone = bufferOf('int64', [1]);
  const gathered = zeroBuffer('int64', ranks.length);
  const pending = [world.allReduce(everyone, 'sum')];
  if (group !== null) {
    pending.push(group.allGather(mine, gathered), group.allReduce(mine, 'sum'));
  }
  for (const { done } of pending.reverse()) await done;
  expectValues('the sum over the world', everyone, [world.size]);
  if (group === null) return;
  if (group.size !== ranks.length || ranks[group.rank] !== world.rank)
    throw new Error(`rank ${group.rank} of ${group.size} in a group of ${ranks.join(', ')}`);
  expectValues(
    'what the group gathers',
    gathered,
    ranks.map((rank) => rank + 1),
  );
  expectValues('the sum over the group', mine, [sumOver(ranks, (rank) => rank + 1)]);
}

/** See the file header. */
export const ORDER_CASES: readonly CommunicatorCase[] = [
  {
    name: 'order: forty collectives begun at once, awaited in reverse',
    run: async (communicator) => {
      const { rank, size } = communicator;
      const ranks = ranksOf(communicator);
      const count = 20;
      const sums = Array.from({ length: count }, (_, i) => bufferOf('int64', [100 * i + rank]));
      const casts = Array.from({ length: count }, (_, i) => bufferOf('int64', [100 * i + rank]));
      const started = [];
      for (let i = 0; i < count; i++) {
        started.push(communicator.allReduce(sums[i]!, 'sum'));
        started.push(communicator.broadcast(casts[i]!, i % size));
      }
      for (const { done } of started.reverse()) await done;
      for (let i = 0; i < count; i++) {
        expectValues(`sum ${i}`, sums[i]!, [sumOver(ranks, (other) => 100 * i + other)]);
        expectValues(`broadcast ${i}`, casts[i]!, [100 * i + (i % size)]);
      }
    },
  },
  {
    name: 'groups: even and odd ranks at once',
    run: async (communicator) => {
      const ranks = ranksOf(communicator);
      const even = ranks.filter((rank) => rank % 2 === 0);
      const odd = ranks.filter((rank) => rank % 2 === 1);
      const groups = [await communicator.split(even)];
      if (odd.length > 0) groups.push(await communicator.split(odd));
      const own = communicator.rank % 2;
      if (groups[1 - own] !== undefined && groups[1 - own] !== null)
        throw new Error('a rank is in a group that does not list it');
      await inGroups(communicator, groups[own]!, own === 0 ? even : odd);
      await groups[own]!.close();
    },
  },
  {
    name: 'groups: all ranks in reverse order, and one inside another',
    run: async (communicator) => {
      const reverse = ranksOf(communicator).reverse();
      const turned = await communicator.split(reverse);
      await inGroups(communicator, turned, reverse);
      const inner = await turned!.split([0]);
      const last = [communicator.size - 1];
      await inGroups(communicator, inner, last);
      await inner?.close();
      await turned!.close();
    },
  },
  {
    name: 'waiting without an event loop, where it can',
    run: async (communicator) => {
      if (!communicator.canBlock) return;
      const buffer = bufferOf('float32', [communicator.rank]);
      const next = bufferOf('float32', [1]);
      const first = communicator.allReduce(buffer, 'sum');
      communicator.allReduce(next, 'sum').waitSync();
      first.waitSync();
      first.waitSync();
      await first.done;
      expectValues('the first', buffer, [sumOver(ranksOf(communicator), (rank) => rank)]);
      expectValues('the second', next, [communicator.size]);
    },
  },
  {
    name: 'memory of tensors: in place, next to what is not touched',
    run: async (communicator) => {
      const heap = cpuHeap();
      const address = heap.alloc(64);
      const words = (): Int32Array => new Int32Array(heap.u8.buffer, address, 16);
      words().fill(-1);
      words().fill(communicator.rank, 4, 8);
      await communicator.allReduce(heapBuffer(address + 16, 'int32', 4), 'sum').done;
      const sum = sumOver(ranksOf(communicator), (rank) => rank);
      const found = [...words()];
      heap.free(address);
      const expected = found.map((_, i) => (i >= 4 && i < 8 ? sum : -1));
      if (found.join() !== expected.join())
        throw new Error(`the memory is [${found.join(', ')}], expected [${expected.join(', ')}]`);
    },
  },
];
