/**
 * What goes wrong, by name: a rank that throws, is killed, leaves, does something else, or never comes.
 */
import assert from 'node:assert/strict';
import { isTesseraError } from '@tessera/shared';
import { ones, tensor, zeros } from '@tessera/tensor';
import {
  type Work,
  allReduce,
  allToAll,
  barrier,
  broadcast,
  getRank,
  getWorldSize,
  initProcessGroup,
  newGroup,
  recv,
  send,
  reduce,
} from '../../src/index.js';

const sleep = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

await initProcessGroup();
const rank = getRank();
const size = getWorldSize();
await allReduce(ones([4]));

/** Runs what must fail on this rank, and reports how. */
async function failing(code: string, run: () => Promise<unknown>): Promise<void> {
  try {
    await run();
  } catch (error) {
    assert.ok(isTesseraError(error, code as never), String(error));
    console.log(`rank ${rank}: ${error.code}: ${error.message.split('\n')[0]}`);
    return;
  }
  assert.fail(`rank ${rank}: nothing was thrown`);
}

/** Every rank is refused, nothing is written, and the group goes on. */
async function refused(run: () => Promise<unknown>): Promise<void> {
  await failing('distributed-mismatch', run);
  const check = tensor([1]);
  await allReduce(check);
  assert.equal(check.item(), size);
}

const untouched = tensor([5, 6]);
const one = rank === 1;

const faults: Record<string, () => Promise<void>> = {
  async throws() {
    if (one) throw new Error('the data of rank 1 are bad');
    await allReduce(ones([4]));
  },
  async rejects() {
    if (one) void Promise.reject(new Error('nobody caught this'));
    await sleep(50);
    await allReduce(ones([4]));
  },
  async 'throws while others wait without an event loop'() {
    if (one) throw new Error('the data of rank 1 are bad');
    (allReduce(ones([4]), { async: true }) as Work).waitSync();
  },
  async killed() {
    if (one) process.kill(process.pid, 'SIGKILL');
    await allReduce(ones([4]));
  },
  async 'leaves early'() {
    if (one) return;
    await failing('distributed-mismatch', async () => allReduce(ones([4])));
  },
  async 'leaves early from a message'() {
    if (one) return;
    await failing('distributed-mismatch', async () => recv(zeros([4]), 1));
  },
  async 'messages of other lengths'() {
    for (const count of [2, 5]) {
      if (one) await send(ones([count]), 0);
      else await failing('distributed-mismatch', async () => recv(zeros([3]), 1));
    }
    const value = one ? ones([3]) : zeros([3]);
    await (one ? send(value, 0) : recv(value, 1));
    console.log(`rank ${rank} has ${String(value.toArray())}`);
  },
  async 'messages of another dtype'() {
    if (one) await send(ones([3]), 0);
    else await failing('distributed-mismatch', async () => recv(zeros([3], { dtype: 'int32' }), 1));
    const value = one ? ones([3]) : zeros([3]);
    await (one ? send(value, 0) : recv(value, 1));
    console.log(`rank ${rank} has ${String(value.toArray())}`);
  },
  async 'ends before the others'() {
    if (one) return;
    await sleep(1500);
    console.log(`rank ${rank} went on alone`);
  },
  async 'exits with work in flight'() {
    if (one) process.exit(0);
    await failing('distributed-mismatch', async () => allReduce(ones([1 << 20])));
    process.exit(3);
  },
  'another operation': () =>
    refused(async () => (one ? broadcast(untouched, 0) : allReduce(untouched))),
  'another dtype': () => refused(async () => allReduce(one ? untouched.to('float64') : untouched)),
  'another size': () => refused(async () => allReduce(one ? ones([3, 2]) : untouched)),
  'another shape': () => refused(async () => allReduce(one ? untouched.view([2, 1]) : untouched)),
  'another reduction': () => refused(async () => allReduce(untouched, { op: one ? 'max' : 'min' })),
  'another root': () => refused(async () => reduce(untouched, one ? 1 : 0)),
  'other counts': () =>
    refused(async () =>
      allToAll(
        Array.from({ length: size }, () => zeros([1])),
        Array.from({ length: size }, () => ones([one ? 2 : 1])),
      ),
    ),
  async 'another order in a group'() {
    const pair = (await newGroup([0, 1]))!;
    if (pair === null) return;
    await failing('distributed-mismatch', async () =>
      one ? barrier({ group: pair }) : allReduce(untouched, { group: pair }),
    );
  },
  async 'never comes'() {
    if (one) {
      await sleep(4000);
      await failing('distributed-timeout', async () => allReduce(ones([4])));
    } else await failing('distributed-timeout', async () => allReduce(ones([4])));
  },
  async 'is stopped'() {
    if (one) {
      setTimeout(() => process.kill(process.pid, 'SIGSTOP'), 100);
      await sleep(200);
      return;
    }
    await failing('distributed-timeout', async () => allReduce(ones([4])));
    process.exit(4);
  },
  async 'no message'() {
    // Who waits in the barrier meanwhile could be the first to give up.
    if (one) await sleep(2200);
    else await failing('distributed-timeout', async () => recv(zeros([4]), 1));
    await barrier();
  },
};

await faults[process.argv[2]!]!();
assert.deepEqual(untouched.toArray(), [5, 6]);
