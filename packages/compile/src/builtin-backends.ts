/**
 * @file The built-in backends: `eager`, `aot_eager`, `inductor`.
 */
import { aotCompileCaptured, runEagerly } from '@tessera/aot-autograd';
import type { Backend, CompiledSegment } from '@tessera/dynamo-trace';
import { registerBackend } from './backend-registry.js';
import { withEagerFallback } from './eager-fallback.js';
import { inductor } from './inductor.js';

/** Runs the captured graph op by op: shows whether capture alone is right. */
const eager: Backend = (module) => (inputs) => module.forward(...inputs);

/** AOT autograd in front of running the functional graphs op by op. */
const aotEager: Backend = (module, examples) =>
  aotCompileCaptured(module, examples, { fwCompiler: runEagerly }).call as CompiledSegment;

/** Registers them; called when the package is loaded. */
export function registerBuiltinBackends(): void {
  registerBackend('eager', eager);
  registerBackend('aot_eager', withEagerFallback(aotEager));
  registerBackend('inductor', withEagerFallback(inductor));
}
