/**
 * @file What a call of a function ends with: a value now, or later for async functions and generators.
 */
import { withPreDispatchMode } from '@tessera/tensor';
import { breakReason } from '../breaks/graph-breaks.js';
import { type SuspendedCall, beginCall, endCall, suspendCall } from './suspended-calls.js';

/** What to do at the end of a call. */
export interface Ending {
  /** The function returned; gives what the caller gets. */
  finish(result: unknown): unknown;
  /** The function threw; gives what the caller catches. */
  fail(error: unknown): unknown;
}

function isPromise(value: unknown): value is Promise<unknown> {
  return value instanceof Promise;
}

const GENERATOR_PROTOTYPE: unknown = Object.getPrototypeOf(
  (function* () {
    // Only its prototype matters.
  })(),
);
const ALL_GENERATORS: unknown = Object.getPrototypeOf(
  Object.getPrototypeOf(GENERATOR_PROTOTYPE as object),
);

function isGenerator(value: unknown): value is Generator {
  return (
    typeof value === 'object' &&
    value !== null &&
    typeof (value as Generator).next === 'function' &&
    Object.prototype.isPrototypeOf.call(ALL_GENERATORS as object, value) &&
    Symbol.iterator in value
  );
}

/** Runs `invoke` with the call's mode active, now and in all of its continuations. */
export function runToEnd(
  call: SuspendedCall,
  mayWait: boolean,
  invoke: () => unknown,
  ending: Ending,
): unknown {
  const run = (): unknown => withPreDispatchMode(call.mode, invoke);
  let result: unknown;
  try {
    result = mayWait ? beginCall(call, run) : run();
  } catch (error) {
    throw ending.fail(error);
  }
  if (isPromise(result)) return finishLater(call, result, ending);
  if (isGenerator(result)) return driveGenerator(call, result, ending);
  return ending.finish(result);
}

function finishLater(call: SuspendedCall, result: Promise<unknown>, ending: Ending): unknown {
  suspendCall(call);
  return result.then(
    (value) => {
      endCall(call);
      call.run.claim();
      return ending.finish(value);
    },
    (error: unknown) => {
      endCall(call);
      call.run.claim();
      throw ending.fail(error);
    },
  );
}

/** A generator whose body runs under the call's mode, step by step. */
function driveGenerator(call: SuspendedCall, body: Generator, ending: Ending): Generator {
  let ended = false;
  const step = (advance: () => IteratorResult<unknown>): IteratorResult<unknown> => {
    if (ended) return advance();
    call.run.claim();
    let item: IteratorResult<unknown>;
    try {
      item = withPreDispatchMode(call.mode, advance);
    } catch (error) {
      ended = true;
      throw ending.fail(error);
    }
    // Between two steps its tensors are the caller's: what the body asked for so far is computed.
    if (item.done !== true) {
      call.run.flush?.(breakReason('GB0006', 'a generator yielded'));
      return item;
    }
    ended = true;
    return { done: true, value: ending.finish(item.value) };
  };
  const driven: Generator = {
    next: (...args) => step(() => body.next(...(args as [unknown]))),
    return: (value) => step(() => body.return(value)),
    throw: (error) => step(() => body.throw(error)),
    [Symbol.iterator]: () => driven,
    [Symbol.dispose]: () => void driven.return(undefined),
  } as Generator;
  return driven;
}
