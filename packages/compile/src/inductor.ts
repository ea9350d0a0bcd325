/**
 * @file The `inductor` compiler of functional graphs: picks the kernel backend of the graph's device.
 */
import type { GraphCompiler } from '@tessera/aot-autograd';
import type { GraphModule } from '@tessera/graph';
import { type CompiledGraph, compileToExecutable } from '@tessera/inductor-core';
import { counters } from '@tessera/shared';
import { isTensor } from '@tessera/tensor';
import { kernelBackend } from './device-backends.js';

/** Called for every graph that `inductor` compiles. */
export type CompilationObserver = (graph: GraphModule, compiled: CompiledGraph) => void;

const observers = new Set<CompilationObserver>();

/** Watches compilations until the returned function is called: for tests, tools and the explorer. */
export function observeCompilations(observer: CompilationObserver): () => void {
  observers.add(observer);
  return () => observers.delete(observer);
}

/** Device of the first tensor value of a graph. */
function deviceOf(module: GraphModule): string {
  for (const node of module.graph.nodes) if (isTensor(node.meta.val)) return node.meta.val.device;
  return 'cpu';
}

/** Compiles with the kernel backend of the graph's device. */
export const inductorCompiler: GraphCompiler = (module) => {
  const compiled = compileToExecutable(module, kernelBackend(deviceOf(module)));
  counters.inc('inductor', 'graphs');
  counters.inc('inductor', 'kernels', compiled.plan.launches.length);
  for (const observer of observers) observer(module, compiled);
  return compiled;
};
