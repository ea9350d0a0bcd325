/**
 * @file Reference interpreter: runs one kernel on plain arrays.
 *
 * It defines what generated code must compute. It is slow, checks every index, and sums in float64, so
 * that it is the more exact side of a comparison. Each body is flattened once into steps that write
 * numbered slots; the body of a `masked` expression is a nested list that runs only where the mask holds.
 */
import { runAttention } from './interpret-attention.js';
import { runRecurrence } from './interpret-recurrence.js';
import { compileBody, compileStores, forEachPoint, storeEffect } from './interpret-body.js';
import { type BufferData, type ExternRunner, Frame, Program } from './interpret-program.js';
import { Accumulator } from './interpret-reduce.js';
import type { FusedKernel, LoopKernel, MatmulKernel } from './kernel.js';
import { toComputeType } from './scalar-eval.js';

export type { BufferData, ExternRunner } from './interpret-program.js';

function runLoop(kernel: LoopKernel, frame: Frame): void {
  const stages = kernel.stages.map((stage) => {
    const reductions: Accumulator[] = [];
    const run = compileBody(frame, stage.body, (stmt, value, index) => {
      if (stmt.kind === 'store') return storeEffect(frame, stmt, value, index!);
      const accumulator = new Accumulator(
        stmt.op,
        stmt.value.dtype,
        stmt.dtype,
        stmt.ids.map((id) => frame.acc(id)),
      );
      reductions.push(accumulator);
      if (stmt.running !== true) return () => accumulator.add(value());
      return () => {
        accumulator.add(value());
        accumulator.finish();
      };
    });
    return { kind: stage.kind, run, reductions };
  });
  forEachPoint(frame, kernel.outer, () => {
    for (const stage of stages) {
      for (const reduction of stage.reductions) reduction.reset();
      if (stage.kind === 'inner') forEachPoint(frame, kernel.inner, stage.run);
      else stage.run();
      for (const reduction of stage.reductions) reduction.finish();
    }
  });
}

function runMatmul(kernel: MatmulKernel, frame: Frame): void {
  const operandsProgram = new Program(frame);
  const a = operandsProgram.compile(kernel.a);
  const b = operandsProgram.compile(kernel.b);
  const product = frame.acc(0);
  const epilogue = compileStores(frame, kernel.epilogue);
  forEachPoint(frame, [...kernel.batch, ...kernel.m, ...kernel.n], () => {
    let sum = 0;
    forEachPoint(frame, kernel.k, () => {
      operandsProgram.run();
      sum += a() * b();
    });
    product.value = toComputeType(sum, kernel.accDtype);
    epilogue();
  });
}

type ByName<V> = Readonly<Record<string, V>> | ReadonlyMap<string, V>;

function mapOf<V>(values: ByName<V>): ReadonlyMap<string, V> {
  return values instanceof Map ? values : new Map(Object.entries(values));
}

/**
 * Runs a kernel on `buffers` and `scalars` given by parameter name; written buffers are changed in place.
 *
 * @throws plan-invalid for a load or store outside of its buffer, or a missing buffer; and what the kernel's checks say
 */
export function interpretKernel(
  kernel: FusedKernel,
  buffers: ByName<BufferData>,
  scalars: ByName<number> = {},
  extern?: ExternRunner,
): void {
  const bufferMap = mapOf(buffers);
  const scalarMap = mapOf(scalars);
  const frame = new Frame(kernel, bufferMap, scalarMap);
  if (kernel.kind === 'loop') runLoop(kernel, frame);
  else if (kernel.kind === 'matmul') runMatmul(kernel, frame);
  else if (kernel.kind === 'attention') runAttention(kernel, frame);
  else if (kernel.kind === 'recurrence') runRecurrence(kernel, frame);
  else if (extern === undefined)
    frame.fail(`no runner was given for the extern call of ${kernel.op}`);
  else extern(kernel, bufferMap, scalarMap);
}
