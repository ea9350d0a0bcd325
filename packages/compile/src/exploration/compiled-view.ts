/**
 * @file A compiled graph as the views show it: kernels as loops, schedules, WebAssembly text and WGSL, and memory over
 * time.
 */
import type { GraphModule } from '@tessera/graph';
import {
  type CompiledGraph,
  type ExecutionPlan,
  type FusedKernel,
  type KernelSource,
  printKernel,
  printPlan,
  printSchedule,
} from '@tessera/inductor-core';
import { itemSize } from '@tessera/tensor';
import type { BufferView, CompiledView, KernelView } from './exploration.js';
import { graphView } from './graph-view.js';
import type { NodeLines } from './node-lines.js';

/** Nodes behind each kernel: those of all launches of it. */
function nodesOf({ plan, launchNodes }: CompiledGraph, kernel: number): string[] {
  const found = plan.launches.flatMap((launch, i) =>
    launch.kernel === kernel ? launchNodes[i]! : [],
  );
  return [...new Set(found)];
}

/** Buffers of the arena with the launches between which they are in use. */
function buffersOf(plan: ExecutionPlan): BufferView[] {
  return plan.buffers.flatMap(({ name, numel, dtype, source }, index): BufferView[] => {
    if (source.kind !== 'arena') return [];
    const uses = plan.launches.flatMap(({ buffers }, i) => (buffers.includes(index) ? [i] : []));
    const [from = 0] = uses;
    return [
      {
        name,
        offset: source.offset,
        bytes: numel * itemSize(dtype),
        from,
        to: uses.at(-1) ?? from,
      },
    ];
  });
}

function kernelView(
  kernel: FusedKernel,
  sources: readonly KernelSource[],
  nodes: readonly string[],
): KernelView {
  const textIn = (wanted: string): string =>
    sources.find(({ language }) => language === wanted)?.text ?? '';
  return {
    name: kernel.name,
    loops: printKernel(kernel),
    schedules: sources.flatMap(({ language, schedule }) =>
      schedule === undefined ? [] : [{ language, text: printSchedule(schedule()) }],
    ),
    wat: textIn('wasm'),
    wgsl: textIn('wgsl'),
    nodes,
  };
}

/**
 * A compiled graph with its kernels and memory.
 *
 * @param otherSources code of a kernel for other devices than that which it was compiled for
 */
export function compiledView(
  title: string,
  module: GraphModule,
  compiled: CompiledGraph,
  lines: NodeLines,
  otherSources: (kernel: FusedKernel) => readonly KernelSource[] = () => [],
): CompiledView {
  const { plan, executable } = compiled;
  // One for each kernel, in their order.
  const { sources } = executable;
  const kernels = plan.kernels.map((kernel, i) =>
    kernelView(kernel, [sources[i]!, ...otherSources(kernel)], nodesOf(compiled, i)),
  );
  return {
    graph: graphView(title, module, lines),
    kernels,
    plan: printPlan(plan),
    arenaBytes: plan.arenaBytes,
    launches: plan.launches.map(({ kernel }) => plan.kernels[kernel]!.name),
    buffers: buffersOf(plan),
  };
}
