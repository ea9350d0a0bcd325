/**
 * @file A compiled graph as the views show it: kernels as loops, WebAssembly text and WGSL, and memory over time.
 */
import type { GraphModule } from '@tessera/graph';
import {
  type CompiledGraph,
  type ExecutionPlan,
  type FusedKernel,
  printKernel,
  printPlan,
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

/**
 * A compiled graph with its kernels and memory.
 *
 * @param wgslOf WGSL of kernels that were compiled for another device
 */
export function compiledView(
  title: string,
  module: GraphModule,
  compiled: CompiledGraph,
  lines: NodeLines,
  wgslOf: (kernel: FusedKernel) => string = () => '',
): CompiledView {
  const { plan, executable } = compiled;
  const sources = new Map(executable.sources.map((source) => [source.kernel, source]));
  const kernels = plan.kernels.map((kernel, i): KernelView => {
    const source = sources.get(kernel.name);
    return {
      name: kernel.name,
      loops: printKernel(kernel),
      wat: source?.language === 'wasm' ? source.text : '',
      wgsl: source?.language === 'wgsl' ? source.text : wgslOf(kernel),
      nodes: nodesOf(compiled, i),
    };
  });
  return {
    graph: graphView(title, module, lines),
    kernels,
    plan: printPlan(plan),
    arenaBytes: plan.arenaBytes,
    launches: plan.launches.map(({ kernel }) => plan.kernels[kernel]!.name),
    buffers: buffersOf(plan),
  };
}
