/** @file Hosts without `SharedArrayBuffer`: everything runs on the calling thread. */
import { expect, it } from 'vitest';
import type { ExecutionPlan, MatmulKernel } from '@tessera/inductor-core';

it('runs plans on memory that cannot be shared', async () => {
  Reflect.deleteProperty(globalThis, 'SharedArrayBuffer');
  const { cpuHeap } = await import('@tessera/tensor');
  const { emptyContiguous, readNumbers, writeNumbers } = await import('@tessera/tensor/internal');
  const { IrBuilder } = await import('@tessera/inductor-core');
  const { cpuBackend } = await import('../src/index.js');
  const { threadPool } = await import('../src/runtime/thread-pool.js');
  expect(cpuHeap().shared).toBe(false);

  const ir = new IrBuilder();
  const size = 200;
  const at = (row: string, col: string) => ir.add(ir.scale(ir.sym(row), size), ir.sym(col));
  const kernel: MatmulKernel = {
    kind: 'matmul',
    name: 'square',
    params: [
      { name: 'A', dtype: 'float32', access: 'read' },
      { name: 'C', dtype: 'float32', access: 'write' },
    ],
    scalars: [],
    batch: [],
    m: [{ name: 'm', size }],
    n: [{ name: 'n', size }],
    k: [{ name: 'k', size }],
    a: ir.load('float32', 'A', at('m', 'k')),
    b: ir.load('float32', 'A', at('k', 'n')),
    accDtype: 'float32',
    epilogue: [{ kind: 'store', buf: 'C', index: at('m', 'n'), value: ir.acc('float32', 0) }],
  };
  const plan: ExecutionPlan = {
    version: 1,
    name: 'square',
    device: 'cpu',
    buffers: [
      { name: 'A', dtype: 'float32', numel: size * size, source: { kind: 'input', index: 0 } },
      { name: 'C', dtype: 'float32', numel: size * size, source: { kind: 'output', index: 0 } },
    ],
    numInputs: 1,
    outputs: [{ dtype: 'float32', sizes: [size, size], strides: [size, 1] }],
    scalars: [],
    constants: [],
    kernels: [kernel],
    launches: [{ kernel: 0, buffers: [0, 1], scalars: [] }],
    arenaBytes: 0,
  };
  const executable = cpuBackend.load(plan);
  const x = emptyContiguous([size, size], 'float32', 'cpu');
  const out = emptyContiguous([size, size], 'float32', 'cpu');
  writeNumbers(
    x,
    Array.from({ length: size * size }, (_, i) => (i % (size + 1) === 0 ? 3 : 0)),
  );
  // The heap may grow between runs: then the views of unshared memory are replaced.
  for (const extra of [64, 64 * 2 ** 20]) {
    const held = cpuHeap().alloc(extra);
    executable.run([x], [out], []);
    expect([...readNumbers(out)].filter((value) => value === 9)).toHaveLength(size);
    cpuHeap().free(held);
  }
  expect(threadPool().threads).toBe(1);
  executable.dispose();
});
