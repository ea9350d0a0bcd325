/**
 * @file Calls of compiled functions that wait at an `await` or a `yield`.
 *
 * While a compiled async function is suspended, other code runs: its caller, other calls of the same
 * function, hooks. `modes.resume` gives every op and event of the continuation back to the mode of its
 * call, and leaves everything else alone. In Node the async context tells which call code belongs to;
 * elsewhere the tensors do: an op on a tensor of a suspended call is part of that call.
 */
import { type Storage, isTensor } from '@tessera/tensor';
import { type PreDispatchMode, type Resume, gradMode, modes } from '@tessera/tensor/internal';
import type { BreakReason } from '../breaks/graph-breaks.js';
import type { Frame } from '../frame/frame.js';
import { type AsyncContext, createAsyncContext } from './async-context.js';

/** A mode whose recorded ops may have to run before somebody else goes on. */
interface TracingMode extends PreDispatchMode {
  dueBefore(storage: Storage, writes: boolean): BreakReason | null;
  flush(reason: BreakReason): void;
}

/** One call from its first suspension on. */
export interface SuspendedCall {
  readonly frame: Frame;
  readonly mode: TracingMode;
  /** Between the first suspension and the end. */
  open: boolean;
}

const calls = new Set<SuspendedCall>();
let context: AsyncContext<SuspendedCall> | null | undefined;

const resume: Resume = {
  modeOf(values) {
    const call = context?.getStore() ?? (context === null ? callOfTensors(values) : undefined);
    if (call === undefined || !call.open) return null;
    resumeGradMode(call);
    return call.mode;
  },
  onAccess(storage, writes) {
    for (const { frame, mode } of calls) {
      const reason = frame.busy ? null : mode.dueBefore(storage, writes);
      if (reason !== null) mode.flush(reason);
    }
  },
};

/** The call goes on: tells its trace that code of others has left another grad mode. */
export function resumeGradMode({ frame, mode }: SuspendedCall): void {
  if (frame.gradMode !== gradMode.enabled) mode.onGradMode(gradMode.enabled);
}

function callOfTensors(values: readonly unknown[]): SuspendedCall | undefined {
  const tensors = values.flat(Infinity).filter(isTensor);
  return [...calls].find(({ frame }) => tensors.some((tensor) => frame.slotOf(tensor) >= 0));
}

/** For tests: finds suspended calls by tensors, as in browsers, or by the host's context. */
export function useAsyncContext(available: boolean): void {
  context = available ? createAsyncContext() : null;
}

/** Runs the synchronous beginning of a call, so that its continuations can be recognised. */
export function beginCall<R>(call: SuspendedCall, fn: () => R): R {
  if (context === undefined) context = createAsyncContext();
  return context === null ? fn() : context.run(call, fn);
}

/** The call is suspended for the first time. */
export function suspendCall(call: SuspendedCall): void {
  call.open = true;
  holdCall(call);
}

/**
 * The call waits although its function has returned: what it owes to others is done before they go on, but what they do
 * is no part of it.
 */
export function holdCall(call: SuspendedCall): void {
  calls.add(call);
  modes.resume = resume;
  modes.suspended = resume;
}

/** The call is over. */
export function endCall(call: SuspendedCall): void {
  call.open = false;
  calls.delete(call);
  if (calls.size > 0) return;
  modes.resume = null;
  modes.suspended = null;
}
