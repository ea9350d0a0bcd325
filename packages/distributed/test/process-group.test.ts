/**
 * Process groups without MPI: a group of one, what is refused before anything is sent, and what is missing.
 */
import { execFileSync } from 'node:child_process';
import { isTesseraError } from '@tessera/shared';
import { type Tensor, noGrad, ones, tensor, zeros } from '@tessera/tensor';
import { withFakeTensors } from '@tessera/tensor/internal';
import { afterEach, describe, expect, it } from 'vitest';
import {
  type Communicator,
  type ReduceOp,
  allGather,
  allGatherIntoTensor,
  allGatherObject,
  allReduce,
  allToAllSingle,
  barrier,
  broadcast,
  broadcastObjectList,
  destroyProcessGroup,
  gather,
  getRank,
  getWorldSize,
  initProcessGroup,
  isInitialized,
  isend,
  newGroup,
  reduceScatterTensor,
  soloCommunicator,
} from '../src/index.js';
import { bundle } from './support/mpirun.js';

afterEach(async () => {
  if (isInitialized()) await destroyProcessGroup();
});

function codeOf(run: () => unknown): string {
  try {
    run();
  } catch (error) {
    if (isTesseraError(error)) return error.code;
    throw error;
  }
  return 'nothing was thrown';
}

const solo = (): Promise<unknown> => initProcessGroup({ backend: 'solo' });

describe('options and values', () => {
  type Start = (options: never) => unknown;
  const value = (): Tensor => tensor([1, 2]);
  const collectives: Record<string, Start> = {
    allReduce: (options) => allReduce(value(), options),
    reduceScatterTensor: (options) => reduceScatterTensor(value(), value(), options),
    broadcast: (options) => broadcast(value(), 0, options),
    barrier: (options) => barrier(options),
    allGather: (options) => allGather([value()], value(), options),
    allToAllSingle: (options) => allToAllSingle(value(), value(), options),
    gather: (options) => gather(value(), [value()], 0, options),
  };
  it.each(Object.entries(collectives))(
    '%s refuses options that it has not',
    async (name, start) => {
      await solo();
      for (const options of ['max', { operation: 'max' }, { asyncOp: true }])
        expect(
          codeOf(() => start(options as never)),
          name,
        ).toBe('invalid-argument');
    },
  );

  it('initProcessGroup refuses options that it has not', async () => {
    await expect(initProcessGroup({ backend: 'solo', waldTimeout: 5 } as never)).rejects.toThrow(
      "no option 'waldTimeout'",
    );
  });

  it.each<[string, unknown]>([
    ['a function', [(): number => 1]],
    ['a Map', { metrics: new Map([['loss', 1]]) }],
    ['a tensor', value()],
    ['a date', new Date(0)],
    ['a bigint', [1n]],
    ['a number that JSON has not', { loss: NaN }],
    ['an element that is missing', [undefined]],
  ])('objects refuse %s, which JSON would change', async (_, object) => {
    await solo();
    await expect(allGatherObject([null], object)).rejects.toThrow(/is no JSON value/);
    await expect(broadcastObjectList([object], 0)).rejects.toThrow(/is no JSON value/);
  });

  it('objects refuse a value that contains itself', async () => {
    await solo();
    const value: Record<string, unknown> = {};
    value.value = value;
    await expect(allGatherObject([null], value)).rejects.toThrow(/contains itself/);
    const twice = { a: 1 };
    const list: unknown[] = [null];
    await allGatherObject(list, { one: twice, two: twice, left: undefined });
    expect(list).toEqual([{ one: { a: 1 }, two: { a: 1 } }]);
  });
});

describe('a group of one', () => {
  it('has every collective', async () => {
    await solo();
    expect([getRank(), getWorldSize()]).toEqual([0, 1]);
    const value = tensor([1, 2]);
    await allReduce(value, { op: 'avg' });
    await broadcast(value, 0);
    const list = [zeros([2])];
    await allGather(list, value);
    expect(list[0]!.toArray()).toEqual([1, 2]);
    const out = zeros([2]);
    await reduceScatterTensor(out, value);
    expect(out.toArray()).toEqual([1, 2]);
    await allToAllSingle(out, tensor([3, 4]));
    expect(out.toArray()).toEqual([3, 4]);
    const gathered = [zeros([2])];
    await gather(out, gathered, 0);
    expect(gathered[0]!.toArray()).toEqual([3, 4]);
    const objects: unknown[] = [{ a: 1 }];
    await broadcastObjectList(objects, 0);
    const all: unknown[] = [null];
    await allGatherObject(all, objects);
    expect(all).toEqual([[{ a: 1 }]]);
    const group = await newGroup([0]);
    await barrier({ group: group! });
    expect(group!.name).toBe('group-1');
  });

  it('may be made again after it was destroyed, and not before', async () => {
    await solo();
    await expect(solo()).rejects.toMatchObject({ code: 'invalid-argument' });
    await destroyProcessGroup();
    expect(codeOf(() => getRank())).toBe('distributed-unavailable');
    await solo();
    expect(getRank()).toBe(0);
  });

  it('takes a communicator of somebody else', async () => {
    const mine: Communicator = { ...soloCommunicator(), backend: 'mine', rank: 2, size: 3 };
    const group = await initProcessGroup({ backend: mine });
    expect([group.rank, group.size, group.ranks]).toEqual([2, 3, [0, 1, 2]]);
  });
});

describe('what is refused before anything is sent', () => {
  it('reductions that mean nothing', async () => {
    await solo();
    for (const op of ['band', 'bor', 'bxor'] as const)
      expect(codeOf(() => allReduce(ones([2]), { op }))).toBe('invalid-argument');
    for (const dtype of ['int32', 'int64', 'bool'] as const)
      expect(codeOf(() => allReduce(ones([2], { dtype }), { op: 'avg' }))).toBe('invalid-argument');
    expect(codeOf(() => allReduce(ones([2]), { op: 'mean' as ReduceOp }))).toBe('invalid-argument');
  });

  it('ranks outside the group, groups without this rank, and itself as a peer', async () => {
    await solo();
    expect(codeOf(() => broadcast(ones([2]), 1))).toBe('invalid-argument');
    expect(codeOf(() => allReduce(ones([2]), { group: null as never }))).toBe('invalid-argument');
    expect(codeOf(() => isend(ones([2]), 0))).toBe('invalid-argument');
    await expect(newGroup([0, 0])).rejects.toMatchObject({ code: 'invalid-argument' });
    await expect(newGroup([1])).rejects.toMatchObject({ code: 'invalid-argument' });
    await expect(newGroup(0 as never)).rejects.toMatchObject({ code: 'invalid-argument' });
    expect(() => barrier({ group: 'world' as never })).toThrow(/world is no process group/);
  });

  it('tensors that do not fit', async () => {
    await solo();
    const float = ones([2]);
    expect(codeOf(() => allGather([ones([3])], float))).toBe('shape-mismatch');
    expect(codeOf(() => allGather([], float))).toBe('invalid-argument');
    expect(codeOf(() => allGatherIntoTensor(ones([2], { dtype: 'int32' }), float))).toBe(
      'dtype-mismatch',
    );
    expect(codeOf(() => allReduce(float.expand([4, 2])))).toBe('inplace-overlap');
    expect(codeOf(() => allReduce('x' as unknown as Tensor))).toBe('invalid-argument');
    const fake = withFakeTensors(() => ones([2]));
    expect(codeOf(() => allReduce(fake))).toBe('fake-data-access');
    const gone = ones([2]);
    gone.dispose();
    expect(codeOf(() => allReduce(gone))).toBe('use-after-dispose');
  });

  it('collectives before initProcessGroup()', () => {
    expect(codeOf(() => allReduce(ones([2])))).toBe('distributed-unavailable');
  });
});

describe('memory and versions', () => {
  it('a tensor that backward needs is known to have changed', async () => {
    await solo();
    const x = tensor([1, 2]).requiresGrad_();
    const y = x.exp();
    await noGrad(() => allReduce(y.detach()));
    expect(codeOf(() => y.sum().backward())).toBe('inplace-version');
  });

  it('an error of the communicator is thrown to who waits, however it waits', async () => {
    const error = new Error('lost');
    const broken: Communicator = {
      ...soloCommunicator(),
      allReduce: () => ({
        done: Promise.reject(error),
        waitSync: () => {
          throw error;
        },
      }),
    };
    await initProcessGroup({ backend: broken });
    await expect(allReduce(ones([1]))).rejects.toBe(error);
    const work = allReduce(ones([1]), { async: true });
    expect(() => work.waitSync()).toThrow(error);
    await expect(work.wait()).rejects.toBe(error);
  });
});

describe('what is missing', () => {
  it('a library that is not there is distributed-unavailable, and says what to install', async () => {
    const program = await bundle('without-mpi');
    const said = execFileSync(process.execPath, [program], {
      encoding: 'utf8',
      env: { ...process.env, TESSERA_MPI_LIBRARY: 'libnowhere.so' },
    });
    expect(said).toContain('distributed-unavailable');
    expect(said).toContain('libnowhere.so');
    expect(said).toContain('apt-get install mpich');
    expect(said).toContain("backend: 'solo'");
  });

  it('a library of another MPI than the launcher is found out', async () => {
    const program = await bundle('without-mpi');
    const said = execFileSync(process.execPath, [program], {
      encoding: 'utf8',
      env: { ...process.env, OMPI_COMM_WORLD_SIZE: '3', TESSERA_MPI_LIBRARY: 'libm.so.6' },
    });
    expect(said).toContain('distributed-unavailable');
  });
});
