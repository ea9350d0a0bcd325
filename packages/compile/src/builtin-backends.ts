/**
 * @file The built-in backends: `eager`, `aot_eager`, `inductor`.
 */
import {
  type GraphCompiler,
  type Partitioner,
  aotCompileCaptured,
  minCutRematerializationPartition,
  runEagerly,
} from '@tessera/aot-autograd';
import type { Backend, CompiledSegment } from '@tessera/dynamo-trace';
import type { Tensor } from '@tessera/tensor';
import { registerBackend } from './backend-registry.js';
import { inductorCompiler } from './inductor.js';

/** Runs the captured graph op by op: shows whether capture alone is right. */
const eager: Backend = (module) => (inputs) => module.forward(...inputs) as Tensor[];

/** AOT autograd in front of a compiler of functional graphs. */
function withAot(fwCompiler: GraphCompiler, partitionFn?: Partitioner): Backend {
  return (module, examples) =>
    aotCompileCaptured(module, examples, { fwCompiler, partitionFn }).call as CompiledSegment;
}

/** Registers them; called when the package is loaded. */
export function registerBuiltinBackends(): void {
  registerBackend('eager', eager);
  registerBackend('aot_eager', withAot(runEagerly));
  registerBackend('inductor', withAot(inductorCompiler, minCutRematerializationPartition));
}
