/**
 * @file Batching by one call per example: what happens where no rule is known. Right, and slow.
 */
import { log } from '@tessera/shared';
import { isTensor } from '../../tensor-factory.js';
import { stack } from '../../ops/arrange/join.js';
import { select } from '../../ops/view/slice.js';
import type { BatchCall } from '../batch-call.js';

const warned = new Set<string>();
// Bound before a tracer watches the console.
const warn = console.warn.bind(console);

function noteSlow(call: BatchCall): void {
  const { qualifiedName: name } = call.op;
  log('perf', () => `vmap: ${name} ran once for each of ${call.size} examples.`);
  if (warned.has(name)) return;
  warned.add(name);
  warn(
    `There is a performance drop because there is no batching rule for ${name}: vmap calls it once for each example.`,
  );
}

/** Calls the operator for each example and stacks the results. */
export function sliced(call: BatchCall): unknown {
  noteSlow(call);
  const results = Array.from({ length: call.size }, (_, i) =>
    call.run(
      call.mapTensors((tensor) =>
        call.isBatched(tensor) ? select(call.values(tensor), 0, i) : tensor,
      ),
    ),
  );
  const join = (parts: readonly unknown[]): unknown => {
    if (parts.every(isTensor)) return stack(parts, 0);
    if (!parts.every(Array.isArray)) return parts[0];
    return parts[0]!.map((_, i) => join(parts.map((part) => part[i])));
  };
  return join(results);
}
