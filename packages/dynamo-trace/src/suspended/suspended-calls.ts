/**
 * @file Calls of compiled functions that wait at an `await`.
 *
 * While a compiled async function is suspended, other code runs: its caller, other calls of the same
 * function, hooks. `modes.suspended` gives every op and event of the continuation back to the mode of its
 * call, and leaves everything else alone. In Node the async context (`AsyncLocalStorage`) tells which call
 * code belongs to. Browsers have none yet (the AsyncContext proposal); there the tensors do: an op on a tensor of a
 * suspended call is part of that call.
 */
import { nodeBuiltin } from '@tessera/shared';
import { isTensor } from '@tessera/tensor';
import { type Resume, gradMode, modes } from '@tessera/tensor/internal';
import type { Cursor } from '../cursor/cursor.js';

/** A value that follows the control flow. */
interface AsyncContext<T> {
  run<R>(value: T, fn: () => R): R;
  getStore(): T | undefined;
}

interface AsyncHooks {
  readonly AsyncLocalStorage: new <T>() => AsyncContext<T>;
}

/** A new context, or null where the host has none. */
function createAsyncContext<T>(): AsyncContext<T> | null {
  const hooks = nodeBuiltin<AsyncHooks>('node:async_hooks');
  return hooks === null ? null : new hooks.AsyncLocalStorage<T>();
}

/** What is done when a call ends. */
export interface Ending {
  /** The function returned; gives what the caller gets. */
  finish(result: unknown): unknown;
  /** The function threw. */
  fail(error: unknown): void;
}

/** Calls that wait, by the mode under which they go on. */
const calls = new Set<Cursor>();
/** Those of them whose functions have not ended. */
const suspended = new Set<Cursor>();
let context: AsyncContext<Cursor> | null | undefined;

const resume: Resume = {
  modeOf(values) {
    const call = context?.getStore() ?? (context === null ? callOfTensors(values) : undefined);
    if (call === undefined || !suspended.has(call)) return null;
    resumeGradMode(call);
    return call;
  },
  onAccess(storage, writes) {
    for (const call of calls) {
      const reason = call.frame.busy ? null : call.dueBefore(storage, writes);
      if (reason !== null) call.flush(reason);
    }
  },
};

/** The call goes on: tells its trace that code of others has left another grad mode. */
function resumeGradMode(call: Cursor): void {
  if (call.frame.gradMode !== gradMode.enabled) call.onGradMode(gradMode.enabled);
}

function callOfTensors(values: readonly unknown[]): Cursor | undefined {
  const tensors = values.flat(Infinity).filter(isTensor);
  return [...calls].find(({ frame, earlier }) =>
    tensors.some(
      (tensor) =>
        frame.slotOf(tensor) >= 0 ||
        earlier.kept.some((before) => before.find(tensor) >= 0) ||
        earlier.find(tensor) !== null,
    ),
  );
}

/** For tests: finds suspended calls by tensors, as in browsers, or by the host's context. */
export function useAsyncContext(available: boolean): void {
  context = available ? createAsyncContext() : null;
}

/** Runs the synchronous beginning of a call, so that its continuations can be recognised. */
export function beginCall<R>(call: Cursor, fn: () => R): R {
  if (context === undefined) context = createAsyncContext();
  return context === null ? fn() : context.run(call, fn);
}

/** The call is suspended for the first time. */
export function suspendCall(call: Cursor): void {
  suspended.add(call);
  holdCall(call);
}

/**
 * The call waits although its function has returned: what it owes to others is done before they go on, but what they do
 * is no part of it.
 */
export function holdCall(call: Cursor): void {
  calls.add(call);
  modes.suspended = resume;
}

/** The call is over. */
export function endCall(call: Cursor): void {
  suspended.delete(call);
  calls.delete(call);
  if (calls.size > 0) return;
  modes.suspended = null;
}
