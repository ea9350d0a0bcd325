/**
 * @file Runs plans twice: kernels in the interpreter, and their schedules in that of scheduled kernels.
 */
import type { GraphModule } from '@tessera/graph';
import type { DType } from '@tessera/tensor';
import {
  AttentionKernels,
  type BufferData,
  type Capabilities,
  type ExecutionPlan,
  type GeneratedKernel,
  type ScheduledKernel,
  allocateData,
  compileGraph,
  interpretKernel,
  interpretScheduled,
  printScheduled,
  verifyScheduled,
} from '../src/index.js';
import { target } from './graph-builder.js';

/** How kernels are scheduled. */
export type Scheduler = (kernel: GeneratedKernel) => ScheduledKernel;

/** Values between -1.5 and 1.5; integers and bools are 0 and 1. */
function dataOf(dtype: DType, numel: number, seed: number): BufferData {
  const data = allocateData(dtype, numel);
  for (let i = 0; i < data.length; i++) {
    const value = Math.sin((i + 1) * seed) * 1.5;
    if (data instanceof BigInt64Array) data[i] = BigInt(value > 0);
    else data[i] = dtype.includes('float') ? value : Number(value > 0);
  }
  return data;
}

/** Memory of all buffers; what is no input begins as NaN. */
function memory(plan: ExecutionPlan, seed: number): BufferData[] {
  return plan.buffers.map(({ dtype, numel, source }) => {
    if (source.kind === 'input') return dataOf(dtype, numel, seed + source.index + 1.7);
    const data = allocateData(dtype, numel);
    return data instanceof BigInt64Array ? data : data.fill(NaN);
  });
}

/** Compares all memory after each launch of a plan. @throws for the first value that differs */
export function compareSchedules(plan: ExecutionPlan, schedule: Scheduler, seed: number = 0): void {
  const [expected, actual] = [memory(plan, seed), memory(plan, seed)];
  for (const { kernel: number, buffers } of plan.launches) {
    const kernel = plan.kernels[number]!;
    if (kernel.kind === 'extern') throw new Error(`${kernel.name} is a call`);
    const bound = (of: readonly BufferData[]): Record<string, BufferData> =>
      Object.fromEntries(kernel.params.map(({ name }, i) => [name, of[buffers[i]!]!]));
    const scheduled = schedule(kernel);
    verifyScheduled(scheduled);
    interpretKernel(kernel, bound(expected));
    interpretScheduled(scheduled, { buffers: bound(actual) });
    for (const buffer of buffers)
      expected[buffer]!.forEach((value, at) => {
        const [want, got] = [Number(value), Number(actual[buffer]![at])];
        const isClose =
          Object.is(want, got) || Math.abs(want - got) <= 1e-5 + 1e-5 * Math.abs(want);
        if (!isClose)
          throw new Error(
            `${kernel.name}: ${got} is at ${at}, not ${want}\n${printScheduled(scheduled)}`,
          );
      });
  }
}

/** Compiles a graph for a device that has all kernels. */
export function planOf(graph: GraphModule, overrides: Partial<Capabilities> = {}): ExecutionPlan {
  return compileGraph(graph, {
    backend: target({ scans: true, attention: new AttentionKernels({ widest: 64 }), ...overrides }),
    name: 'plan',
  });
}
