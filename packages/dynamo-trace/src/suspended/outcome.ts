/**
 * @file What a call of a function ends with: a value now, or later for async functions.
 *
 * The body of a generator runs when its steps are asked for, after the call, and so eagerly.
 */
import { withPreDispatchMode } from '@tessera/tensor/internal';
import type { Cursor } from '../cursor/cursor.js';
import { GENERATOR_MADE } from '../breaks/graph-breaks.js';
import { type Ending, beginCall, endCall, suspendCall } from './suspended-calls.js';

/** Runs `invoke` with the call's mode active, now and in all of its continuations. */
export function runToEnd(
  call: Cursor,
  mayWait: boolean,
  invoke: () => unknown,
  ending: Ending,
): unknown {
  const run = (): unknown => withPreDispatchMode(call, invoke);
  let result: unknown;
  try {
    result = mayWait ? beginCall(call, run) : run();
    if (isGenerator(result)) call.breakGraph(GENERATOR_MADE);
  } catch (error) {
    ending.fail(error);
    throw error;
  }
  if (result instanceof Promise) return finishLater(call, result, ending);
  return ending.finish(result);
}

/** Whether a value is a generator, sync or async. */
function isGenerator(value: unknown): boolean {
  return Object.prototype.toString.call(value).endsWith('Generator]');
}

function finishLater(call: Cursor, result: Promise<unknown>, ending: Ending): unknown {
  suspendCall(call);
  return result.then(
    (value) => {
      endCall(call);
      return ending.finish(value);
    },
    (error: unknown) => {
      endCall(call);
      ending.fail(error);
      throw error;
    },
  );
}
