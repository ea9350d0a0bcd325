/** @file Small kernel constructors shared by tests. */
import { IrBuilder, type Expr, type LoopKernel } from '@tessera/inductor-core';
import type { DType } from '@tessera/tensor';
import { generateLoopKernel } from '../src/loops/loop-kernel.js';
import { loadKernel } from './load-kernel.js';

/** `out[i] = build(inputs[i]…)` over as many elements as the inputs have. */
export function pointwise(
  count: number,
  inputs: readonly DType[],
  out: DType,
  build: (ir: IrBuilder, inputs: readonly Expr[]) => Expr,
): { readonly kernel: LoopKernel; readonly run: (...data: readonly number[][]) => number[] } {
  const ir = new IrBuilder();
  const i = ir.sym('i', count);
  const value = build(
    ir,
    inputs.map((dtype, k) => ir.load(dtype, `in${k}`, i)),
  );
  const kernel: LoopKernel = {
    kind: 'loop',
    name: 'pointwise',
    params: [
      ...inputs.map((dtype, k) => ({ name: `in${k}`, dtype, access: 'read' as const })),
      { name: 'out', dtype: out, access: 'write' as const },
    ],
    scalars: [],
    outer: [{ name: 'i', size: count }],
    inner: [],
    stages: [{ kind: 'outer', body: [{ kind: 'store', buf: 'out', index: i, value }] }],
  };
  const loaded = loadKernel(kernel, generateLoopKernel(kernel, { relaxedSimd: false }));
  return {
    kernel,
    run: (...data) => {
      const buffers: Record<string, number[]> = { out: Array.from({ length: count }, () => 0) };
      data.forEach((values, k) => (buffers[`in${k}`] = [...values]));
      loaded.run(buffers);
      return buffers.out;
    },
  };
}
