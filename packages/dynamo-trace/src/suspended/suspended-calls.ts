/**
 * @file Calls of compiled functions that wait at an `await` or a `yield`.
 *
 * While a compiled async function is suspended, other code runs: its caller, other calls of the same
 * function, hooks. `modes.resume` gives every op and event of the continuation back to the mode of its
 * call, and leaves everything else alone. In Node the async context tells which call code belongs to;
 * elsewhere the tensors do: an op on a tensor of a suspended call is part of that call.
 */
import {
  type PreDispatchMode,
  type Resume,
  type Storage,
  gradMode,
  isTensor,
  modes,
} from '@tessera/tensor';
import type { BreakReason } from '../breaks/graph-breaks.js';
import { Run } from '../trace/run.js';
import { type AsyncContext, createAsyncContext } from './async-context.js';

/** A mode whose recorded ops may have to run before somebody else goes on. */
interface TracingMode extends PreDispatchMode {
  dueBefore(storage: Storage, writes: boolean): BreakReason | null;
  flush(reason: BreakReason): void;
}

/** One call from its first suspension on. */
export interface SuspendedCall {
  readonly run: Run;
  readonly mode: TracingMode;
  /** Between the first suspension and the end. */
  open: boolean;
}

const calls = new Map<number, SuspendedCall>();
let context: AsyncContext<SuspendedCall> | null | undefined;
let last: SuspendedCall | null = null;

const resume: Resume = {
  modeOf(values) {
    const call = context?.getStore() ?? (context === null ? callOfTensors(values) : undefined);
    if (call === undefined || !call.open) return null;
    // Other calls may have numbered shared tensors as theirs meanwhile.
    if (last !== call || calls.size > 1) call.run.claim();
    last = call;
    Run.resumed = call.run;
    resumeGradMode(call);
    return call.mode;
  },
  onAccess(storage, writes) {
    for (const { run, mode } of calls.values()) {
      const reason = run.busy ? null : mode.dueBefore(storage, writes);
      if (reason === null) continue;
      // The call that runs now takes its tensors back.
      run.claim();
      mode.flush(reason);
      Run.current?.claim();
    }
  },
};

/** The call goes on: tells its trace that code of others has left another grad mode. */
export function resumeGradMode({ run, mode }: SuspendedCall): void {
  if (run.gradMode !== gradMode.enabled) mode.onGradMode(gradMode.enabled);
}

function callOfTensors(values: readonly unknown[]): SuspendedCall | undefined {
  for (const value of values) {
    const call = isTensor(value)
      ? calls.get(value.traceOwner)
      : Array.isArray(value)
        ? callOfTensors(value)
        : undefined;
    if (call !== undefined) return call;
  }
  return undefined;
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
  calls.set(call.run.id, call);
  modes.resume = resume;
  modes.suspended = resume;
}

/** The call is over. */
export function endCall(call: SuspendedCall): void {
  call.open = false;
  calls.delete(call.run.id);
  if (last === call) last = null;
  if (Run.resumed === call.run) Run.resumed = null;
  if (calls.size > 0) return;
  modes.resume = null;
  modes.suspended = null;
}
