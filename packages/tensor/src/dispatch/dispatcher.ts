/**
 * @file The dispatcher: the one path every operator call takes.
 *
 * Order, fixed:
 *
 *   1. autocast: casts are ops of the program         autocast/
 *   2. pre-dispatch mode (graph capture, replay)      modes.pre
 *   3. composite ops decompose                         record.decompose
 *      small operands on cpu follow the others         common-device.ts
 *   4. autograd records a backward node                bindAutograd
 *   5. functionalization is a graph pass (aot-autograd), so nothing happens here
 *   6. dispatch modes, innermost first (proxy, …)      modes.stack
 *   7. fake tensors: the meta rule                     kernels.ts
 *      real tensors: the device's kernel
 *
 * Arguments are positional in schema order and complete. Nothing else intercepts ops.
 */
import { isTesseraError, profiling } from '@tessera/shared';
import { autocastState } from '../autocast/autocast-state.js';
import { gradMode } from '../autograd/grad-mode.js';
import { transfers } from '../device.js';
import type { OpOverload } from '../op/op-overload.js';
import { runComposite } from '../memory/composite-scope.js';
import { libraryScopes, outsideScopes } from '../memory/library-scope.js';
import { show } from '../memory/show.js';
import { checkComposite, refuseCall, refuseNumbers } from './check-arguments.js';
import { runKernel } from './kernels.js';
import { modes } from './modes.js';
import { profileOp } from './profile-op.js';

type Handler = (op: OpOverload, args: readonly unknown[]) => unknown;

let autograd: Handler = dispatchBelowAutograd;

/** Installs the autograd step; it continues with `dispatchBelowAutograd`. Called once by autograd/record.ts. */
export function bindAutograd(handler: Handler): void {
  autograd = handler;
}

/**
 * Calls an operator: step 1 on. The result is what the schema of the operator says.
 *
 * @throws schema-arguments
 */
export function callOp<Result>(op: OpOverload<Result>, args: readonly unknown[]): Result;
export function callOp(op: OpOverload, args: readonly unknown[]): unknown {
  if (!Array.isArray(args) || op?.schema === undefined) refuseCall(op, args);
  const settings = autocastState.active;
  if (settings !== null) return settings.call(op, args);
  const { pre } = modes;
  if (pre !== null) return pre.handle(op, args);
  if (modes.suspended !== null && !modes.unseen) {
    const mode = modes.suspended.modeOf(args);
    if (mode !== null) return mode.handle(op, args);
  }
  return dispatchBelowPreDispatch(op, args);
}

/** Step 3 on: what a pre-dispatch mode calls to run the op after all. */
export function dispatchBelowPreDispatch<R>(op: OpOverload<R>, args: readonly unknown[]): R;
export function dispatchBelowPreDispatch(op: OpOverload, args: readonly unknown[]): unknown {
  const profiler = profiling.active;
  return profiler === null
    ? dispatchUnprofiled(op, args)
    : profileOp(profiler, op, args, () => dispatchUnprofiled(op, args));
}

function dispatchUnprofiled(op: OpOverload, args: readonly unknown[]): unknown {
  if (op.isCustom && libraryScopes.open !== null) {
    show(args);
    return outsideScopes(() => dispatchUnprofiled(op, args));
  }
  const decompose = op.record.decompose;
  if (decompose !== undefined) {
    checkComposite(op, args);
    try {
      return runComposite(op, args, decompose);
    } catch (error) {
      if (!isTesseraError(error)) refuseNumbers(op, args);
      throw error;
    }
  }
  const placed = transfers.active?.place(op, args, dispatchUnprofiled) ?? args;
  if (gradMode.enabled) return autograd(op, placed);
  return dispatchBelowAutograd(op, placed);
}

/** Step 6 on. A dispatch mode's `handle` calls it to continue: the mode is off meanwhile. */
export function dispatchBelowAutograd(op: OpOverload, args: readonly unknown[]): unknown {
  const stack = modes.stack;
  if (stack.length === 0) return runKernel(op, args);
  modes.stack = stack.slice(0, -1);
  try {
    return stack[stack.length - 1]!.handle(op, args);
  } finally {
    modes.stack = stack;
  }
}
