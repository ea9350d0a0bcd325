/**
 * @file What a caller does while an async call waits.
 */
import { type Tensor, noGrad } from '@tessera/tensor';
import type { CallSpec } from './program.js';
import type { World } from './world.js';

/** Does what the caller does while an async call waits (adding to a count after the read); everything that was returned. */
export async function meanwhile(
  call: CallSpec,
  { args, store }: World,
  started: Promise<Tensor[]>,
  run: () => Tensor[] | Promise<Tensor[]>,
): Promise<Tensor[]> {
  let second: Tensor[] | Promise<Tensor[]> = [];
  // It may fail before anybody waits for it.
  started.catch(() => undefined);
  let failed: { readonly error: unknown } | null = null;
  try {
    if (call.meanwhile === 'read') {
      const sum = args[0]!.sum().item();
      const read = args[0]!.device === 'cpu' ? sum : await sum;
      // Not 0, where sums of normalized values are but for rounding.
      store.count += read > 0.25 ? 1 : 2;
    } else if (call.meanwhile === 'write') noGrad(() => args[0]!.add_(1));
    else if (call.meanwhile === 'call') {
      // Of two calls that read from a GPU at the same time, either may go on first, in eager code too.
      if (args.some((t) => t.device !== 'cpu')) await Promise.allSettled([started]);
      second = run();
    }
  } catch (error) {
    failed = { error };
  }
  // Both run to their ends, whatever becomes of the other.
  const results = await Promise.allSettled([started, second]);
  if (failed !== null) throw failed.error;
  return results.flatMap((result) => {
    if (result.status === 'rejected') throw result.reason;
    return result.value;
  });
}
