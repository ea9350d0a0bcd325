import { afterEach, describe, expect, it } from 'vitest';
import { atOnce, config, isTesseraError } from '@tessera/shared';
import {
  IrBuilder,
  type ExecutionPlan,
  type Executable,
  type ExternKernel,
  type MatmulKernel,
} from '@tessera/inductor-core';
import { cpuHeap, type Tensor } from '@tessera/tensor';
import { emptyContiguous, readNumbers, writeNumbers } from '@tessera/tensor/internal';
import { useWebAssemblyText } from '../src/index.js';
import { generateMatmul } from '../src/matmul/generate-matmul.js';
import { CONTROL, THREAD_STRIDE } from '../src/runtime/control-block.js';
import { loadingSteps, type KernelGenerator } from '../src/runtime/load-plan.js';
import { hasRelaxedSimd } from '../src/runtime/relaxed-simd.js';
import { threadPool } from '../src/runtime/thread-pool.js';

const ir = new IrBuilder();
const loadPlan = (plan: ExecutionPlan, generator: KernelGenerator): Executable =>
  atOnce(loadingSteps(plan, generator));

const generate: KernelGenerator = (kernel) =>
  generateMatmul(kernel as MatmulKernel, { relaxedSimd: hasRelaxedSimd() });

/** `C = scale · A @ B` for square matrices. */
function squareKernel(name: string, size: number): MatmulKernel {
  const at = (row: string, col: string) => ir.add(ir.scale(ir.sym(row), size), ir.sym(col));
  return {
    kind: 'matmul',
    name,
    params: [
      { name: 'A', dtype: 'float32', access: 'read' },
      { name: 'B', dtype: 'float32', access: 'read' },
      { name: 'C', dtype: 'float32', access: 'write' },
    ],
    scalars: [{ name: 'scale', dtype: 'float32' }],
    batch: [],
    m: [{ name: 'm', size }],
    n: [{ name: 'n', size }],
    k: [{ name: 'k', size }],
    a: ir.load('float32', 'A', at('m', 'k')),
    b: ir.load('float32', 'B', at('k', 'n')),
    accDtype: 'float32',
    epilogue: [
      {
        kind: 'store',
        buf: 'C',
        index: at('m', 'n'),
        value: ir.op('mul', [ir.acc('float32', 0), ir.scalar('float32', 'scale')]),
      },
    ],
  };
}

/** `out = (scale · x @ P) … @ P`, `steps` times, alternating between two buffers of the arena; P is a cyclic shift. */
function shiftPlan(size: number, steps: number): ExecutionPlan {
  const numel = size * size;
  const buffer = (name: string, source: ExecutionPlan['buffers'][number]['source']) => ({
    name,
    dtype: 'float32' as const,
    numel,
    source,
  });
  const shift = Array.from({ length: numel }, (_, i) =>
    (Math.floor(i / size) + 1) % size === i % size ? 1 : 0,
  );
  const source = (step: number): number => (step === 0 ? 0 : 2 + (step % 2));
  return {
    version: 1,
    name: `shift_${size}`,
    device: 'cpu',
    buffers: [
      buffer('x', { kind: 'input', index: 0 }),
      buffer('shift', { kind: 'constant', index: 0 }),
      buffer('even', { kind: 'arena', offset: 0 }),
      buffer('odd', { kind: 'arena', offset: numel * 4 }),
      buffer('out', { kind: 'output', index: 0 }),
    ],
    numInputs: 1,
    outputs: [{ dtype: 'float32', sizes: [size, size], strides: [size, 1] }],
    scalars: [{ name: 'scale', dtype: 'float32' }],
    constants: [{ dtype: 'float32', values: shift }],
    kernels: [squareKernel('step', size)],
    launches: Array.from({ length: steps }, (_, step) => ({
      kernel: 0,
      buffers: [source(step), 1, step === steps - 1 ? 4 : source(step + 1)],
      scalars: [0],
    })),
    arenaBytes: numel * 8,
  };
}

function matrix(size: number, value: (i: number) => number): Tensor {
  const made = emptyContiguous([size, size], 'float32', 'cpu') as Tensor;
  writeNumbers(
    made,
    Array.from({ length: size * size }, (_, i) => value(i)),
  );
  return made;
}

/** Runs a shift plan and says how many elements differ from what shifting `steps` times gives. */
function shiftErrors(executable: Executable, size: number, steps: number): number {
  const x = matrix(size, (i) => i % 1000);
  const out = matrix(size, () => NaN);
  executable.run([x], [out], [1]);
  const before = readNumbers(x);
  const after = readNumbers(out);
  let errors = 0;
  for (let row = 0; row < size; row++) {
    for (let col = 0; col < size; col++) {
      if (after[row * size + ((col + steps) % size)] !== before[row * size + col]) errors++;
    }
  }
  x.storage.release();
  out.storage.release();
  return errors;
}

function thrown(body: () => unknown): unknown {
  try {
    body();
  } catch (error) {
    return error;
  }
  return null;
}

const pause = (ms: number): Promise<void> => new Promise((resolve) => void setTimeout(resolve, ms));

afterEach(() => config.set({ 'cpu.threads': 0 }));

describe('running a plan', () => {
  it('chains launches through the arena, with constants and scalars', () => {
    const executable = loadPlan(shiftPlan(12, 5), generate);
    expect(shiftErrors(executable, 12, 5)).toBe(0);
    const x = matrix(12, () => 2);
    const out = matrix(12, () => NaN);
    executable.run([x], [out], [0.5]);
    expect(readNumbers(out)[7]).toBe(2 * 0.5 ** 5);
    executable.dispose();
  });

  it('applies the storage offset of its arguments', () => {
    const executable = loadPlan(shiftPlan(8, 1), generate);
    const all = matrix(16, (i) => i);
    const view = emptyContiguous([8, 8], 'float32', 'cpu') as Tensor;
    view.setStorage(all.storage, 100);
    const out = matrix(8, () => NaN);
    executable.run([view], [out], [1]);
    expect([...readNumbers(out)].slice(0, 8)).toEqual([107, 100, 101, 102, 103, 104, 105, 106]);
    executable.dispose();
  });

  it('gives readable sources', () => {
    const executable = loadPlan(shiftPlan(40, 3), generate);
    expect(executable.sources.map((source) => source.language)).toEqual(['wasm']);
    expect(executable.sources[0].text).toBe(
      ";; $step: import '@tessera/compile/exploration' to read its code",
    );
    useWebAssemblyText();
    expect(executable.sources[0].text).toContain('(func $step');
    executable.dispose();
  });

  it('takes no memory once disposed, and says so when it is run again', () => {
    const use = (): Executable => {
      const executable = loadPlan(shiftPlan(40, 3), generate);
      expect(shiftErrors(executable, 40, 3)).toBe(0);
      executable.dispose();
      return executable;
    };
    // The first use leaves the scratch memory that all plans share.
    use();
    const before = cpuHeap().stats();
    const executable = use();
    expect(cpuHeap().stats()).toEqual(before);
    const x = matrix(40, () => 0);
    expect(
      isTesseraError(
        thrown(() => executable.run([x], [x], [1])),
        'use-after-dispose',
      ),
    ).toBe(true);
  });

  it('refuses released arguments and plans of another device', () => {
    const executable = loadPlan(shiftPlan(8, 1), generate);
    const x = matrix(8, () => 0);
    const gone = matrix(8, () => 0);
    gone.storage.release();
    expect(
      isTesseraError(
        thrown(() => executable.run([gone], [x], [1])),
        'use-after-dispose',
      ),
    ).toBe(true);
    expect(shiftErrors(executable, 8, 1)).toBe(0);
    executable.dispose();
    const foreign = { ...shiftPlan(8, 1), device: 'wgpu' as const };
    expect(
      isTesseraError(
        thrown(() => loadPlan(foreign, generate)),
        'plan-invalid',
      ),
    ).toBe(true);
  });

  it('holds the heap flat over many runs', () => {
    const executable = loadPlan(shiftPlan(4, 2), generate);
    const x = matrix(4, (i) => i);
    const out = matrix(4, () => NaN);
    executable.run([x], [out], [1]);
    const before = cpuHeap().stats();
    for (let i = 0; i < 100_000; i++) executable.run([x], [out], [1]);
    expect(cpuHeap().stats()).toEqual(before);
    executable.dispose();
  });
});

/** Items that worker `thread` last claimed; 0 if it never helped. */
function lastClaimOf(thread: number): number {
  return cpuHeap().i32[(threadPool().control + CONTROL.inFlight + thread * THREAD_STRIDE) >>> 2];
}

describe('threads', () => {
  it('workers start when there has been work to share, and results are the same as on one thread', async () => {
    config.set({ 'cpu.threads': 2 });
    const executable = loadPlan(shiftPlan(160, 3), generate);
    expect(shiftErrors(executable, 160, 3)).toBe(0);
    expect(threadPool().threads).toBe(1);
    for (let i = 0; i < 200 && lastClaimOf(1) === 0; i++) {
      expect(shiftErrors(executable, 160, 3)).toBe(0);
      await pause(1);
    }
    expect(threadPool().threads).toBe(2);
    expect(lastClaimOf(1)).toBeGreaterThan(0);
    config.set({ 'cpu.threads': 1 });
    expect(shiftErrors(executable, 160, 3)).toBe(0);
    expect(threadPool().threads).toBe(1);
    executable.dispose();
  });

  it('every launch sees the writes of the one before, however often', async () => {
    config.set({ 'cpu.threads': 2 });
    const executables = [72, 80].map((size) => ({
      size,
      executable: loadPlan(shiftPlan(size, 24), generate),
    }));
    await pause(50);
    for (let round = 0; round < 150; round++) {
      for (const { size, executable } of executables)
        expect(shiftErrors(executable, size, 24)).toBe(0);
    }
    for (const { executable } of executables) executable.dispose();
  });

  it('plans loaded while workers sleep or spin are shared too', async () => {
    config.set({ 'cpu.threads': 2 });
    for (const wait of [0, 5]) {
      await pause(wait);
      const executable = loadPlan(shiftPlan(96, 2), generate);
      for (let i = 0; i < 20; i++) expect(shiftErrors(executable, 96, 2)).toBe(0);
      executable.dispose();
    }
  });
});

/** `C = A[rows] @ B`, with row numbers from a tensor. */
function gatherPlan(size: number): ExecutionPlan {
  const kernel = squareKernel('gather', size);
  const row = ir.load('int64', 'rows', ir.sym('m'));
  const gathered: MatmulKernel = {
    ...kernel,
    params: [...kernel.params, { name: 'rows', dtype: 'int64', access: 'read' }],
    scalars: [],
    a: ir.load('float32', 'A', ir.add(ir.scale(ir.value(row), size), ir.sym('k'))),
    epilogue: [{ ...kernel.epilogue[0], value: ir.acc('float32', 0) }] as MatmulKernel['epilogue'],
  };
  const plan = shiftPlan(size, 1);
  return {
    ...plan,
    name: 'gather',
    numInputs: 2,
    buffers: [
      ...plan.buffers,
      { name: 'rows', dtype: 'int64', numel: size, source: { kind: 'input', index: 1 } },
    ],
    scalars: [],
    kernels: [gathered],
    launches: [{ kernel: 0, buffers: [0, 1, 4, 5], scalars: [] }],
  };
}

describe('kernels that fail', () => {
  for (const threads of [1, 2]) {
    it(`reports a trap and goes on working, ${threads} thread(s)`, async () => {
      config.set({ 'cpu.threads': threads });
      const size = 128;
      const executable = loadPlan(gatherPlan(size), generate);
      await pause(30);
      const x = matrix(size, (i) => i);
      const out = matrix(size, () => NaN);
      const rows = emptyContiguous([size], 'int64', 'cpu') as Tensor;
      const order = Array.from({ length: size }, (_, i) => size - 1 - i);
      for (let round = 0; round < 30; round++) {
        writeNumbers(
          rows,
          order.map((row) => (row === round * 4 ? 8_000_000 : row)),
        );
        const error = thrown(() => executable.run([x, rows], [out], []));
        expect(isTesseraError(error, 'kernel-trap')).toBe(true);
        expect((error as Error).message).toContain('gather');
        writeNumbers(rows, order);
        executable.run([x, rows], [out], []);
        expect(readNumbers(out)[1]).toBe(size * (size - 1));
      }
      executable.dispose();
    });
  }
});

describe('extern calls', () => {
  const negate: ExternKernel = {
    kind: 'extern',
    name: 'extern_neg',
    params: [
      { name: 'self', dtype: 'float32', access: 'read' },
      { name: 'out', dtype: 'float32', access: 'write' },
    ],
    scalars: [{ name: 'scale', dtype: 'float32' }],
    op: 'aten::neg',
    args: [{ kind: 'buffer', name: 'self', sizes: [8, 8], strides: [8, 1], offset: 0 }],
    outputs: [{ kind: 'buffer', name: 'out', sizes: [8, 8], strides: [8, 1], offset: 0 }],
  };
  const base = shiftPlan(8, 1);
  /** shift, extern, shift. */
  const plan: ExecutionPlan = {
    ...base,
    kernels: [...base.kernels, negate],
    launches: [
      { kernel: 0, buffers: [0, 1, 2], scalars: [0] },
      { kernel: 1, buffers: [2, 3], scalars: [0] },
      { kernel: 0, buffers: [3, 1, 4], scalars: [0] },
    ],
  };

  it('run between generated kernels, on the buffers of this run', () => {
    const executable = loadPlan(plan, generate);
    expect(executable.sources[1]).toMatchObject({ kernel: 'extern_neg', language: 'extern' });
    const x = matrix(8, (i) => i);
    const out = matrix(8, () => NaN);
    for (const scale of [1, 2]) {
      executable.run([x], [out], [scale]);
      const expected = [-6, -7, 0, -1, -2, -3, -4, -5].map((value) => value * scale * scale + 0);
      expect([...readNumbers(out)].slice(0, 8)).toEqual(expected);
    }
    executable.dispose();
  });

  it('name the operator when there is none of that name', () => {
    const unknown = { ...plan, kernels: [...base.kernels, { ...negate, op: 'aten::negg' }] };
    const executable = loadPlan(unknown, generate);
    const x = matrix(8, (i) => i);
    const error = thrown(() => executable.run([x], [x], [1]));
    expect(isTesseraError(error, 'op-unknown')).toBe(true);
    expect((error as Error).message).toContain('aten::negg');
    executable.dispose();
  });
});
