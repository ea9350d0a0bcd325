/**
 * @file Graphs that AOT autograd refuses run op by op.
 *
 * Some programs are right in eager mode and have no functional form with one backward graph: inputs that share
 * memory and are updated differentiably, saved values that are modified although nobody differentiates. Run
 * op by op they give what eager gives, errors included.
 */
import { type Refusal, isRefusal } from '@tessera/aot-autograd';
import {
  type Backend,
  type CompileRequest,
  UNCOMPILED_HINT,
  backendOf,
  stepsOf,
} from '@tessera/dynamo-trace';
import { counters, log, reportUncompiled } from '@tessera/shared';

/** A backend that runs what it refuses to compile as captured, unless `fullgraph` asked for compiled code; counted as `aot_autograd.eager_fallback`, and told once per function. */
export function withEagerFallback(backend: Backend): Backend {
  const steps = stepsOf(backend);
  return backendOf(function* (module, inputs, request) {
    try {
      return yield* steps(module, inputs, request);
    } catch (error) {
      if (!isRefusal(error) || request?.fullgraph === true) throw error;
      const { code } = error;
      const [message] = error.message.split('\n');
      reportUncompiled(code, message);
      if (request !== undefined) warnUncompiled(request, error, message);
      counters.inc('aot_autograd', 'eager_fallback');
      for (const artifact of ['aot_graphs', 'perf']) {
        log(artifact, () => `The graph runs op by op: ${message}`);
      }
      return (given) => module.forward(...given);
    }
  });
}

/** Functions of which it was told. */
const told = new WeakSet<object>();

/** Tells it, once per function. */
function warnUncompiled(
  { name, program }: CompileRequest,
  { code, hints }: Refusal,
  reason: string,
): void {
  if (told.has(program)) return;
  told.add(program);
  console.warn(
    `tessera: a graph of ${name} runs operator by operator (${code}): ${reason}\n→ ${[UNCOMPILED_HINT, ...hints].join('\n→ ')}`,
  );
}
