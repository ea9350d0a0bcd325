/**
 * @file The `inductor` compiler of functional graphs: picks the kernel backend of the graph's device.
 */
import type { GraphCompiler } from '@tessera/aot-autograd';
import type { GraphModule } from '@tessera/graph';
import { compileToExecutable } from '@tessera/inductor-core';
import { isTensor } from '@tessera/tensor';
import { kernelBackend } from './device-backends.js';

/** Device of the first tensor value of a graph. */
function deviceOf(module: GraphModule): string {
  for (const node of module.graph.nodes) if (isTensor(node.meta.val)) return node.meta.val.device;
  return 'cpu';
}

/** Compiles with the kernel backend of the graph's device. */
export const inductorCompiler: GraphCompiler = (module) => compileToExecutable(module, kernelBackend(deviceOf(module))) as never;
