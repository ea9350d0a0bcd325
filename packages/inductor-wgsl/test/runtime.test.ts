import {
  IrBuilder,
  planFromJson,
  planToJson,
  type ExecutionPlan,
  type LoopKernel,
} from '@tessera/inductor-core';
import { isTesseraError, type TesseraError } from '@tessera/shared';
import { Storage, type DType } from '@tessera/tensor';
import { makeTensor } from '@tessera/tensor/internal';
import { describe, expect, it } from 'vitest';
import { BASELINE_TARGET, generateKernel } from '../src/index.js';
import { hostBytes } from '../src/runtime/memory/host-bytes.js';
import { pieceBytes, scratchPieces } from '../src/runtime/plan/scratch-plan.js';
import { sizeClass } from '../src/runtime/memory/buffer-pool.js';
import { openGpu } from './support/open-gpu.js';
import { deviceTensor, hostNumbers, readTensor } from './support/plans.js';
import { compareKernel } from './support/run-kernel.js';

const gpu = await openGpu();

async function errorOf(action: () => unknown): Promise<TesseraError> {
  try {
    await action();
  } catch (error) {
    if (isTesseraError(error)) return error;
    throw error;
  }
  throw new Error('nothing was thrown');
}

/** `out = x · factor + step` with a runtime scalar, or in place when `out` is `x`. */
function axpyKernel(n: number, inPlace: boolean): LoopKernel {
  const b = new IrBuilder();
  const i = b.sym('i0', n);
  const value = b.op('add', [b.load('float32', 'x', i), b.scalar('float32', 'step')]);
  return {
    kind: 'loop',
    name: 'add_step',
    params: [
      { name: 'x', dtype: 'float32', access: inPlace ? 'readwrite' : 'read' },
      ...(inPlace ? [] : [{ name: 'out', dtype: 'float32' as const, access: 'write' as const }]),
    ],
    scalars: [{ name: 'step', dtype: 'float32' }],
    outer: [{ name: 'i0', size: n }],
    inner: [],
    stages: [
      { kind: 'outer', body: [{ kind: 'store', buf: inPlace ? 'x' : 'out', index: i, value }] },
    ],
  };
}

/** `p = p + g`, element by element. */
function addInto(n: number): LoopKernel {
  const b = new IrBuilder();
  const i = b.sym('i0', n);
  return {
    kind: 'loop',
    name: 'add_into',
    params: [
      { name: 'p', dtype: 'float32', access: 'readwrite' },
      { name: 'g', dtype: 'float32', access: 'read' },
    ],
    scalars: [],
    outer: [{ name: 'i0', size: n }],
    inner: [],
    stages: [
      {
        kind: 'outer',
        body: [
          {
            kind: 'store',
            buf: 'p',
            index: i,
            value: b.op('add', [b.load('float32', 'p', i), b.load('float32', 'g', i)]),
          },
        ],
      },
    ],
  };
}

function planOf(kernel: LoopKernel, n: number): ExecutionPlan {
  return {
    version: 1,
    name: 'test',
    device: 'wgpu',
    buffers: kernel.params.map((param, index) => ({
      name: param.name,
      dtype: param.dtype,
      numel: n,
      source: { kind: 'input', index },
    })),
    numInputs: kernel.params.length,
    outputs: [],
    scalars: kernel.scalars,
    constants: [],
    kernels: [kernel],
    launches: [
      {
        kernel: 0,
        buffers: kernel.params.map((_, i) => i),
        scalars: kernel.scalars.map((_, i) => i),
      },
    ],
    arenaBytes: 0,
  };
}

describe.skipIf(gpu === null)('memory of the device', () => {
  const samples: Partial<Record<DType, number[]>> = {
    float32: [1.5, -2, 3e30, 0, 7],
    float16: [1.5, -2, 65504, 0.1, 7],
    bfloat16: [1.5, -2, 3e30, 0, 7],
    int64: [1, -2, 2147483647, -2147483647, 7],
    int32: [1, -2, 2147483647, -2147483648, 7],
    int16: [1, -2, 32767, -32768, 7],
    int8: [1, -2, 127, -128, 7],
    uint8: [1, 2, 255, 0, 7],
    bool: [1, 0, 1, 1, 0],
  };
  for (const [dtype, values] of Object.entries(samples) as [DType, number[]][]) {
    it(`keeps ${dtype} through upload and download at any offset`, async () => {
      const { runtime } = gpu!;
      const host = hostBytes(dtype, values);
      const memory = runtime.allocate(64 * runtime.itemSize(dtype));
      for (const offset of [0, 1, 30]) {
        runtime.upload(memory, offset, dtype, host);
        expect(await runtime.download(memory, offset, dtype, values.length)).toEqual(host);
        const tail = hostNumbers(dtype, await runtime.download(memory, offset + 1, dtype, 3));
        expect(tail).toEqual(hostNumbers(dtype, host).slice(1, 4));
      }
      runtime.free(memory);
    });
  }

  it('refuses an int64 that does not fit in 32 bits', async () => {
    const memory = gpu!.runtime.allocate(64);
    const error = await errorOf(() =>
      gpu!.runtime.upload(memory, 0, 'int64', hostBytes('int64', [5, 2 ** 31])),
    );
    expect(error.code).toBe('invalid-argument');
    expect(error.message).toContain('int64 element 1 is 2147483648');
    const least = await errorOf(() =>
      gpu!.runtime.upload(memory, 0, 'int64', hostBytes('int64', [-(2 ** 31)])),
    );
    expect(least.message).toContain('int64 element 0 is -2147483648');
    gpu!.runtime.free(memory);
  });

  it('has no float64', async () => {
    expect(gpu!.runtime.itemSize('float64')).toBe(0);
    const memory = gpu!.runtime.allocate(64);
    const error = await errorOf(() => gpu!.runtime.upload(memory, 0, 'float64', new Uint8Array(8)));
    expect(error.code).toBe('dtype-unsupported');
    gpu!.runtime.free(memory);
  });

  it('copies between buffers and within one', async () => {
    const { runtime } = gpu!;
    const a = deviceTensor(gpu!, 'float32', [1, 2, 3, 4, 5, 6]);
    const b = deviceTensor(gpu!, 'float32', [0, 0, 0, 0, 0, 0]);
    runtime.copy(a.storage.memory!, 4, b.storage.memory!, 8, 12);
    expect(await readTensor(gpu!, b)).toEqual([0, 0, 2, 3, 4, 0]);
    runtime.copy(a.storage.memory!, 0, a.storage.memory!, 8, 16);
    expect(await readTensor(gpu!, a)).toEqual([1, 2, 1, 2, 3, 4]);
  });

  it('hands freed memory out again', () => {
    const { runtime } = gpu!;
    const first = runtime.allocate(1000);
    runtime.free(first);
    expect(runtime.allocate(1000)).toBe(first);
    runtime.free(first);
    expect(runtime.memoryStatistics.pooled).toBeGreaterThanOrEqual(sizeClass(1000));
  });

  it('refuses memory that was freed', async () => {
    const memory = gpu!.runtime.allocate(64);
    gpu!.runtime.free(memory);
    expect(
      (await errorOf(() => gpu!.runtime.upload(memory, 0, 'float32', new Uint8Array(4)))).code,
    ).toBe('use-after-dispose');
  });

  it('reports a tensor that is larger than any buffer', async () => {
    const error = await errorOf(() => gpu!.runtime.allocate(2 ** 45));
    expect(error.code).toBe('out-of-memory');
    expect(error.message).toContain('35184372088832 bytes');
  });
});

describe.skipIf(gpu === null)('order of what is enqueued', () => {
  it('runs every launch with its own scalar, thousands without waiting', async () => {
    const x = deviceTensor(gpu!, 'float32', [0, 100, 200, 300, 400]);
    const executable = gpu!.backend.load(planOf(axpyKernel(5, true), 5));
    let sum = 0;
    for (let step = 0; step < 3000; step++) {
      executable.run([x], [], [step % 7]);
      sum += step % 7;
    }
    expect(await readTensor(gpu!, x)).toEqual([sum, sum + 100, sum + 200, sum + 300, sum + 400]);
    executable.dispose();
  });

  it('gives a device that has nothing to do its first commands soon, then more at a time', async () => {
    const x = deviceTensor(gpu!, 'float32', [0]);
    const executable = gpu!.backend.load(planOf(axpyKernel(1, true), 1));
    const { stream } = gpu!.runtime;
    /** Runs before each submission. */
    const sizes = (): number[] => {
      const found: number[] = [];
      let [epoch, count] = [stream.epoch, 0];
      for (let run = 0; run < 600; run++) {
        executable.run([x], [], [0]);
        if (stream.epoch !== epoch) found.push(count);
        if (stream.epoch !== epoch) [epoch, count] = [stream.epoch, 0];
        count++;
      }
      return found;
    };
    await gpu!.synchronize();
    expect(sizes()).toEqual([16, 32, 64, 128, 128, 128]);
    stream.flush();
    expect(sizes()).toEqual([128, 128, 128, 128]);
    await readTensor(gpu!, x);
    expect(sizes().slice(0, 2)).toEqual([16, 32]);
    executable.dispose();
  });

  it('puts an upload between the runs before and after it', async () => {
    const x = deviceTensor(gpu!, 'float32', [1, 2, 3]);
    const executable = gpu!.backend.load(planOf(axpyKernel(3, true), 3));
    const seen: Promise<number[]>[] = [];
    executable.run([x], [], [10]);
    seen.push(readTensor(gpu!, x));
    gpu!.runtime.upload(x.storage.memory!, 0, 'float32', hostBytes('float32', [0, 0, 0]));
    executable.run([x], [], [1]);
    seen.push(readTensor(gpu!, x));
    gpu!.runtime.upload(x.storage.memory!, 1, 'float32', hostBytes('float32', [50]));
    seen.push(readTensor(gpu!, x));
    expect(await Promise.all(seen)).toEqual([
      [11, 12, 13],
      [1, 1, 1],
      [1, 50, 1],
    ]);
    executable.dispose();
  });

  it('does not let memory that is used again disturb what was recorded before', async () => {
    const executable = gpu!.backend.load(planOf(axpyKernel(4, false), 4));
    const results: Promise<number[]>[] = [];
    for (let k = 0; k < 20; k++) {
      const x = deviceTensor(gpu!, 'float32', [k, k, k, k]);
      const out = deviceTensor(gpu!, 'float32', [0, 0, 0, 0]);
      executable.run([x, out], [], [0.5]);
      results.push(readTensor(gpu!, out));
      x.storage.release();
      out.storage.release();
    }
    const wanted = results.map((_, k) => [k + 0.5, k + 0.5, k + 0.5, k + 0.5]);
    expect(await Promise.all(results)).toEqual(wanted);
    executable.dispose();
  });
});

describe.skipIf(gpu === null)('views of one buffer', () => {
  for (const [p, g] of [
    [0, 8],
    [8, 0],
    [3, 9],
    [64, 0],
  ]) {
    it(`adds elements ${g}… to elements ${p}… of the same buffer`, async () => {
      const values = Array.from({ length: 80 }, (_, i) => i);
      const whole = deviceTensor(gpu!, 'float32', values);
      const view = (offset: number) =>
        makeTensor(whole.storage, 'float32', 'wgpu', [6], [1], offset);
      const executable = gpu!.backend.load(planOf(addInto(6), 6));
      executable.run([view(p), view(g)], [], []);
      const wanted = values.map((v, i) => (i >= p && i < p + 6 ? v + (i - p + g) : v));
      expect(await readTensor(gpu!, whole)).toEqual(wanted);
      executable.dispose();
    });
  }

  it('reads one buffer through several read-only parameters', async () => {
    const kernel = axpyKernel(4, false);
    const executable = gpu!.backend.load(planOf(kernel, 4));
    const x = deviceTensor(gpu!, 'float32', [1, 2, 3, 4]);
    const out = deviceTensor(gpu!, 'float32', [0, 0, 0, 0]);
    executable.run([x, out], [], [1]);
    executable.run([out, x], [], [1]);
    expect(await readTensor(gpu!, x)).toEqual([3, 4, 5, 6]);
    executable.dispose();
  });
});

describe.skipIf(gpu === null)('plans of several launches', () => {
  /** out = ((x + 1) + 2) + c through two scratch buffers, a constant and an output. */
  function chainPlan(n: number): ExecutionPlan {
    const add = addOf(n);
    const source = (kind: 'arena', offset: number) => ({ kind, offset });
    return {
      version: 1,
      name: 'chain',
      device: 'wgpu',
      buffers: [
        { name: 'x', dtype: 'float32', numel: n, source: { kind: 'input', index: 0 } },
        { name: 'a', dtype: 'float32', numel: n, source: source('arena', 0) },
        { name: 'b', dtype: 'float32', numel: n, source: source('arena', 4096) },
        { name: 'c', dtype: 'float32', numel: n, source: { kind: 'constant', index: 0 } },
        { name: 'out', dtype: 'float32', numel: n, source: { kind: 'output', index: 0 } },
      ],
      numInputs: 1,
      outputs: [{ dtype: 'float32', sizes: [n], strides: [1] }],
      scalars: [
        { name: 'first', dtype: 'float32' },
        { name: 'second', dtype: 'float32' },
      ],
      constants: [{ dtype: 'float32', values: Array.from({ length: n }, (_, i) => i) }],
      kernels: [axpyKernel(n, false), add],
      launches: [
        { kernel: 0, buffers: [0, 1], scalars: [0] },
        { kernel: 0, buffers: [1, 2], scalars: [1] },
        { kernel: 1, buffers: [2, 3, 4], scalars: [] },
      ],
      arenaBytes: 8192,
    };
  }

  function addOf(n: number): LoopKernel {
    const b = new IrBuilder();
    const i = b.sym('i0', n);
    return {
      kind: 'loop',
      name: 'add',
      params: [
        { name: 'u', dtype: 'float32', access: 'read' },
        { name: 'v', dtype: 'float32', access: 'read' },
        { name: 'w', dtype: 'float32', access: 'write' },
      ],
      scalars: [],
      outer: [{ name: 'i0', size: n }],
      inner: [],
      stages: [
        {
          kind: 'outer',
          body: [
            {
              kind: 'store',
              buf: 'w',
              index: i,
              value: b.op('add', [b.load('float32', 'u', i), b.load('float32', 'v', i)]),
            },
          ],
        },
      ],
    };
  }

  it('passes values through scratch memory and constants', async () => {
    const executable = gpu!.backend.load(chainPlan(6));
    const x = deviceTensor(gpu!, 'float32', [5, 5, 5, 5, 5, 5]);
    const out = deviceTensor(gpu!, 'float32', [0, 0, 0, 0, 0, 0]);
    executable.run([x], [out], [1, 2]);
    expect(await readTensor(gpu!, out)).toEqual([8, 9, 10, 11, 12, 13]);
    expect(executable.sources.map((source) => source.kernel)).toEqual(['add_step', 'add']);
    executable.dispose();
    expect((await errorOf(() => executable.run([x], [out], [1, 2]))).code).toBe(
      'use-after-dispose',
    );
  });

  it('names an argument that is on another device', async () => {
    const executable = gpu!.backend.load(chainPlan(6));
    const onCpu = makeTensor(Storage.allocate('cpu', 24), 'float32', 'cpu', [6], [1]);
    const error = await errorOf(() => executable.run([onCpu], [onCpu], [1, 2]));
    expect(error.code).toBe('device-mismatch');
    expect(error.message).toContain(`Plan 'chain' runs on device 'wgpu', but input 0 is on 'cpu'`);
    executable.dispose();
  });

  it('rejects plans with reference kernels and malformed plans', async () => {
    const plan = chainPlan(6);
    const extern: ExecutionPlan = {
      ...plan,
      kernels: [
        plan.kernels[0],
        {
          kind: 'extern',
          name: 'topk',
          op: 'aten::topk',
          params: [],
          scalars: [],
          args: [],
          outputs: [],
        },
      ],
    };
    expect((await errorOf(() => gpu!.backend.load(extern))).code).toBe('kernel-missing');
    const broken: ExecutionPlan = {
      ...plan,
      launches: [{ kernel: 0, buffers: [0, 9], scalars: [0] }],
    };
    expect((await errorOf(() => gpu!.backend.load(broken))).code).toBe('plan-invalid');
  });
});

describe.skipIf(gpu === null)('a plan from a file', () => {
  it('takes tensors of its dtypes and sizes only', async () => {
    const b = new IrBuilder();
    const i = b.sym('i0', 4);
    const value = b.op('neg', [b.load('float32', 'io0', i)]);
    const kernel: LoopKernel = {
      ...addInto(4),
      params: [{ name: 'io0', dtype: 'float32', access: 'readwrite' }],
      stages: [{ kind: 'outer', body: [{ kind: 'store', buf: 'io0', index: i, value }] }],
    };
    const loaded = gpu!.backend.load(planFromJson(planToJson(planOf(kernel, 4))));
    const x = deviceTensor(gpu!, 'float32', [1, 2, 3, 4]);
    loaded.run([x], [], []);
    expect(await readTensor(gpu!, x)).toEqual([-1, -2, -3, -4]);
    for (const wrong of [
      deviceTensor(gpu!, 'float32', [1, 2, 3]),
      deviceTensor(gpu!, 'int32', [1, 2, 3, 4]),
    ])
      expect((await errorOf(() => loaded.run([wrong], [], []))).code).toBe('plan-invalid');
    expect((await errorOf(() => loaded.run([x, x], [], []))).code).toBe('plan-invalid');
  });
});

describe('scratch memory', () => {
  it('is shared by buffers whose lifetimes do not meet, and only by those', () => {
    const n = 1000;
    const buffer = (index: number) => ({
      name: `b${index}`,
      dtype: 'float32' as const,
      numel: n,
      source: { kind: 'arena' as const, offset: 0 },
    });
    const kernel = axpyKernel(n, false);
    const plan: ExecutionPlan = {
      ...planOf(kernel, n),
      buffers: [0, 1, 2, 3, 4].map(buffer),
      launches: [0, 1, 2, 3].map((i) => ({ kernel: 0, buffers: [i, i + 1], scalars: [0] })),
    };
    const pieces = scratchPieces(plan, [4096, 4096, 4096, 4096, 4096]);
    expect(pieces).toEqual([0, 1, 0, 1, 0]);
    // At other sizes, those of a piece may be of several.
    expect(pieceBytes(pieces, [256, 512, 1024, 256, 256])).toEqual([1024, 512]);
  });
});

describe.skipIf(gpu === null)('limits of the adapter', () => {
  it('folds long grids into two dimensions', async () => {
    for (const n of [5000, 20000]) {
      const kernel = { ...axpyKernel(n, false), outer: [{ name: 'i0', size: n }] };
      const values = Array.from({ length: n }, (_, i) => i);
      await compareKernel(gpu!, kernel, { x: values, out: values.map(() => 0) }, [0.5], 1, {
        generate: (k, variant) =>
          generateKernel(k, { ...gpu!.backend.target, maxWorkgroupsPerDimension: 3 }, variant),
      });
    }
  });

  it('names a kernel that binds too many buffers', async () => {
    const error = await errorOf(() =>
      generateKernel(axpyKernel(4, false), { ...BASELINE_TARGET, maxStorageBuffers: 1 }),
    );
    expect(error.code).toBe('plan-invalid');
    expect(error.message).toContain(`'add_step' binds 2 buffers; this adapter allows 1`);
  });

  it('offers what the adapter has', () => {
    const { capabilities } = gpu!.backend;
    expect(capabilities.maxBuffersPerKernel).toBeGreaterThanOrEqual(8);
    expect(capabilities.dtypes.has('float64')).toBe(false);
    expect(capabilities.int64).toBe('i32');
    expect(gpu!.adapterName).not.toBe('');
  });
});

describe('float64', () => {
  it('has no kernels', async () => {
    const kernel = axpyKernel(4, false);
    const wide: LoopKernel = {
      ...kernel,
      params: kernel.params.map((param) => ({ ...param, dtype: 'float64' })),
    };
    expect((await errorOf(() => generateKernel(wide, BASELINE_TARGET))).code).toBe(
      'dtype-unsupported',
    );
  });
});
