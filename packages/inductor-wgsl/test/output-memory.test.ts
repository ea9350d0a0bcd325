/**
 * @file Where results of plans are put: the same memory again if it is free, slots of slabs for small ones.
 */
import { IrBuilder, type ExecutionPlan, type LoopKernel } from '@tessera/inductor-core';
import { counters } from '@tessera/shared';
import { type Tensor } from '@tessera/tensor';
import { emptyOnMemory, makeTensor } from '@tessera/tensor/internal';
import { beforeAll, describe, expect, it } from 'vitest';
import { BufferPool } from '../src/runtime/memory/buffer-pool.js';
import { FreeList } from '../src/runtime/memory/free-list.js';
import { boundPart, placeParameters } from '../src/runtime/plan/placement.js';
import type { WgpuMemory } from '../src/runtime/memory/wgpu-memory.js';
import { openGpu } from './support/open-gpu.js';
import { deviceTensor, readTensor } from './support/plans.js';

const gpu = await openGpu();

/** What is written becomes the sum of what is read and a scalar, element by element. */
function addKernel(n: number, access: readonly ('read' | 'write' | 'readwrite')[]): LoopKernel {
  const b = new IrBuilder();
  const i = b.sym('i0', n);
  const names = access.map((_, k) => `p${k}`);
  const reads = names.filter((_, k) => access[k] !== 'write');
  const values = reads.map((name) => b.load('float32', name, i));
  const sum = [...values, b.scalar('float32', 'step')].reduce((x, y) => b.op('add', [x, y]));
  return {
    kind: 'loop',
    name: 'add',
    params: names.map((name, k) => ({ name, dtype: 'float32', access: access[k] })),
    scalars: [{ name: 'step', dtype: 'float32' }],
    outer: [{ name: 'i0', size: n }],
    inner: [],
    stages: [
      {
        kind: 'outer',
        body: names
          .filter((_, k) => access[k] !== 'read')
          .map((buf) => ({ kind: 'store', buf, index: i, value: sum })),
      },
    ],
  };
}

/** A plan of one kernel whose written parameters are outputs, and its changed ones inputs. */
function planOf(n: number, kernel: LoopKernel): ExecutionPlan {
  let inputs = 0;
  let outputs = 0;
  const buffers = kernel.params.map(({ name, dtype, access }) => ({
    name,
    dtype,
    numel: n,
    source:
      access === 'write'
        ? ({ kind: 'output', index: outputs++ } as const)
        : ({ kind: 'input', index: inputs++ } as const),
  }));
  return {
    version: 1,
    name: 'test',
    device: 'wgpu',
    buffers,
    numInputs: inputs,
    outputs: Array.from({ length: outputs }, () => ({
      dtype: 'float32',
      sizes: [n],
      strides: [1],
    })),
    scalars: kernel.scalars,
    constants: [],
    kernels: [kernel],
    launches: [{ kernel: 0, buffers: buffers.map((_, k) => k), scalars: [0] }],
    arenaBytes: 0,
  };
}

function load(n: number, access: readonly ('read' | 'write' | 'readwrite')[]) {
  const plan = planOf(n, addKernel(n, access));
  const executable = gpu!.backend.load(plan);
  const run = (inputs: readonly Tensor[], step: number): Tensor[] => {
    const memory = executable.allocateOutputs(inputs);
    const outputs = plan.outputs.map((output, k) =>
      emptyOnMemory({ ...output, device: 'wgpu' }, memory[k]),
    );
    executable.run(inputs, outputs, [step]);
    return outputs;
  };
  return { executable, run };
}

const memoryOf = (tensor: Tensor): WgpuMemory => tensor.storage.memory as WgpuMemory;

function created(): { buffers: number; groups: number } {
  return {
    buffers: counters.get('wgpu', 'buffers_created'),
    groups: counters.get('wgpu', 'bind_groups_created'),
  };
}

describe('FreeList', () => {
  /** Memory as a free list sees it. */
  const memory = (id: number): WgpuMemory => ({ id, freed: true, listed: false }) as WgpuMemory;

  it('hands out the earliest made first, in whichever order they came', () => {
    const all = Array.from({ length: 20 }, (_, id) => memory(id));
    for (const stride of [1, 3, 7, 9]) {
      const list = new FreeList();
      for (let k = 0; k < all.length; k++) list.push(all[(k * stride) % all.length]);
      const got = all.map(() => list.pop()!.id);
      expect(got).toEqual(all.map(({ id }) => id));
      expect(list.pop()).toBeUndefined();
    }
  });

  it('passes over what was taken by name, and has it once when it is freed again', () => {
    const [a, b] = [memory(1), memory(2)];
    const list = new FreeList();
    list.push(a);
    list.push(b);
    a.freed = false;
    a.freed = true;
    list.push(a);
    expect([list.pop(), list.pop(), list.pop()]).toEqual([a, b, undefined]);
    list.push(a);
    list.push(b);
    a.freed = false;
    expect(list.pop()).toBe(b);
    expect(list.pop()).toBeUndefined();
    a.freed = true;
    list.push(a);
    expect(list.drain()).toEqual([a]);
  });
});

describe.skipIf(gpu === null)('BufferPool', () => {
  const destroyed: GPUBuffer[] = [];
  let pool!: BufferPool;

  beforeAll(() => {
    const discard = (buffer: GPUBuffer): void => {
      destroyed.push(buffer);
      buffer.destroy();
    };
    pool = new BufferPool(gpu!.runtime.context, discard, Infinity, 4096);
  });

  it('makes nothing in a loop that frees what is large before what is small', () => {
    const held = pool.allocate(1 << 20);
    const round = (): void => {
      const memory = [1 << 20, 1 << 19, 256, 512].map((bytes) => pool.allocate(bytes));
      for (const each of memory) pool.release(each);
    };
    round();
    const before = created();
    for (let i = 0; i < 5; i++) round();
    expect(created()).toEqual(before);
    pool.release(held);
    expect(destroyed).toEqual([]);
  });

  it('lets go of what waited longest once more waits than was ever in use', () => {
    const { peak } = pool.statistics;
    for (let bytes = 2048; bytes < 2 * peak; bytes *= 2) pool.release(pool.allocate(bytes));
    expect(destroyed.length).toBeGreaterThan(0);
    const { inUse, pooled, peak: highest } = pool.statistics;
    expect(inUse + pooled).toBeLessThanOrEqual(highest + 4096);
    const before = created();
    pool.release(pool.allocate(2 ** Math.floor(Math.log2(2 * peak - 1))));
    expect(created()).toEqual(before);
    pool.trim(0);
    expect(pool.statistics.pooled).toBe(0);
  });
});

describe('how parameters are bound', () => {
  const slab = {} as WgpuMemory['slab'];
  const own = (place: number): WgpuMemory => ({ place, slab: null }) as WgpuMemory;
  const slot = (place: number): WgpuMemory => ({ place, slab }) as WgpuMemory;
  const kernel = addKernel(4, ['read', 'read', 'write']);

  it('slots move as far as the adapter allows, written ones first', () => {
    const memories = [slot(1), slot(2), slot(3)];
    const place = (limit: number) => placeParameters(kernel, memories, [0, 256, 512], limit);
    expect(place(4).modes).toEqual(['dynamic', 'dynamic', 'dynamic']);
    expect(place(2).modes).toEqual(['dynamic', 'fixed', 'dynamic']);
    expect(place(1).modes).toEqual(['fixed', 'fixed', 'dynamic']);
    expect(place(2).variant.offsets).toBe(false);
    expect([boundPart('fixed', 776), boundPart('dynamic', 776), boundPart('whole', 776)]).toEqual([
      776, 8, 0,
    ]);
  });

  it('a buffer that is read and written has one binding', () => {
    const { variant, modes } = placeParameters(kernel, [slot(1), own(2), slot(1)], [0, 0, 256], 4);
    expect(variant).toEqual({ offsets: true, slots: [0, 1, 0] });
    expect(modes).toEqual(['whole', 'fixed', 'whole']);
  });

  it('a buffer that is only read may have several', () => {
    const { variant, modes } = placeParameters(kernel, [slot(1), slot(1), own(2)], [0, 256, 0], 4);
    expect(variant.offsets).toBe(false);
    expect(modes).toEqual(['dynamic', 'dynamic', 'fixed']);
  });
});

describe.skipIf(gpu === null)('outputs of a plan', () => {
  it('come back to the memory that they had, whatever else took memory of that size', () => {
    const n = 200;
    const { executable, run } = load(n, ['read', 'write', 'write']);
    const x = deviceTensor(gpu!, 'float32', new Array<number>(n).fill(1));
    const first = run([x], 1);
    const memories = first.map(memoryOf);
    for (const order of [
      [0, 1],
      [1, 0],
    ]) {
      for (const k of order) first[k].storage.release();
      const between = gpu!.runtime.allocate(n * 4);
      expect(memories).toContain(between);
      gpu!.runtime.free(between);
      const before = created();
      const again = run([x], 1);
      expect(again.map(memoryOf)).toEqual(memories);
      expect(created()).toEqual(before);
      first.splice(0, 2, ...again);
    }
    executable.dispose();
  });

  it('do not take what a later output had', () => {
    const n = 200;
    const { executable, run } = load(n, ['read', 'write', 'write']);
    const x = deviceTensor(gpu!, 'float32', new Array<number>(n).fill(1));
    const [held, freed] = run([x], 1);
    const memory = memoryOf(freed);
    freed.storage.release();
    expect(memoryOf(run([x], 1)[1])).toBe(memory);
    expect(memoryOf(held).freed).toBe(false);
    executable.dispose();
  });

  it('of a few bytes cost no buffer each when they are held, and keep their values', async () => {
    const { executable, run } = load(3, ['read', 'write', 'write']);
    const x = deviceTensor(gpu!, 'float32', [1, 2, 3]);
    const held: Tensor[][] = [];
    for (let k = 0; k < 20; k++) held.push(run([x], k));
    const before = created();
    for (let k = 20; k < 200; k++) held.push(run([x], k));
    expect(created()).toEqual(before);
    for (const [k, outputs] of held.entries())
      for (const output of outputs)
        expect(await readTensor(gpu!, output)).toEqual([1 + k, 2 + k, 3 + k]);
    // Slots come back. Reading made a staging buffer.
    const after = created();
    for (const outputs of held.splice(0, 150))
      for (const output of outputs) output.storage.release();
    for (let k = 0; k < 150; k++) held.push(run([x], k));
    expect(created()).toEqual(after);
    executable.dispose();
  });

  it('may be fed back, views of them too', async () => {
    const { executable, run } = load(3, ['read', 'write']);
    let x = deviceTensor(gpu!, 'float32', [0, 10, 20]);
    let before = created();
    for (let k = 0; k < 60; k++) {
      if (k === 40) before = created();
      const [next] = run([x], 1);
      x.storage.release();
      x = next;
    }
    expect(created()).toEqual(before);
    expect(await readTensor(gpu!, x)).toEqual([60, 70, 80]);
    executable.dispose();
    const pair = load(2, ['read', 'write']);
    const view = makeTensor(x.storage, 'float32', 'wgpu', [2], [1], 1);
    expect(await readTensor(gpu!, pair.run([view], 0.5)[0])).toEqual([70.5, 80.5]);
    pair.executable.dispose();
  });

  it('may be changed in place together with others of the same slab', async () => {
    const { executable, run } = load(2, ['read', 'write']);
    const x = deviceTensor(gpu!, 'float32', [1, 2]);
    const sums = [run([x], 0)[0], run([x], 100)[0], run([x], 1000)[0]];
    expect(new Set(sums.map((sum) => memoryOf(sum).place)).size).toBe(1);
    const add = load(2, ['readwrite', 'read']);
    add.run([sums[0], sums[1]], 0);
    add.run([sums[0], sums[2]], 0);
    expect(await readTensor(gpu!, sums[0])).toEqual([1 + 101 + 1001, 2 + 102 + 1002]);
    gpu!.runtime.copy(sums[0].storage.memory!, 0, sums[1].storage.memory!, 0, 8);
    expect(await readTensor(gpu!, sums[1])).toEqual([1103, 1106]);
    expect(await readTensor(gpu!, sums[2])).toEqual([1001, 1002]);
    executable.dispose();
    add.executable.dispose();
  });

  it('that are held outlive their plan, and give the slab back when they go', () => {
    const { executable, run } = load(3, ['read', 'write']);
    const x = deviceTensor(gpu!, 'float32', [1, 2, 3]);
    const held = [run([x], 1)[0], run([x], 2)[0]];
    const { inUse } = gpu!.runtime.memoryStatistics;
    executable.dispose();
    held[0].storage.release();
    expect(gpu!.runtime.memoryStatistics.inUse).toBe(inUse);
    held[1].storage.release();
    expect(gpu!.runtime.memoryStatistics.inUse).toBeLessThan(inUse);
  });
});
