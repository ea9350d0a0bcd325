/**
 * @file What a call of a function ends with: a value now, or later for async functions and generators.
 */
import { withPreDispatchMode } from '@tessera/tensor/internal';
import type { Cursor } from '../cursor/cursor.js';
import {
  driveAsyncGenerator,
  driveGenerator,
  isAsyncGenerator,
  isGenerator,
} from './generators.js';
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
  } catch (error) {
    ending.fail(error);
    throw error;
  }
  if (result instanceof Promise) return finishLater(call, result, ending);
  if (isGenerator(result)) return driveGenerator(call, result, ending);
  if (isAsyncGenerator(result)) return driveAsyncGenerator(call, result, ending);
  return ending.finish(result);
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
