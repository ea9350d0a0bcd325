/**
 * @file Backward hooks of a module.
 *
 * Two identities are put around the forward: one on the results, whose backward knows the gradients of
 * the results, and one on the arguments, whose backward runs the hooks. In a trace they are calls of host
 * code: the hooks run whenever the backward does. Modelled on `torch.utils.hooks.BackwardHook`.
 */
import { Function, type FunctionContext, type Tensor, isTensor } from '@tessera/tensor';
import { type HostCode, activeMode, hostCall } from '@tessera/tensor/internal';
import type { BackwardHook, BackwardPreHook, HookGradients } from './hooks.js';
import type { Module } from './module.js';

/** What both identities know of one call. */
class HookedCall {
  /** `enter` and `leave` as host code. */
  readonly onResults: HostCode = (grads) => this.enter(grads);
  readonly onArguments: HostCode = (grads) => this.leave(grads);
  private gradOutput: HookGradients = [];

  constructor(
    private readonly module: Module,
    private readonly before: readonly BackwardPreHook[],
    private readonly after: readonly BackwardHook[],
    /** Where the differentiable arguments stand among all. */
    private readonly positions: readonly number[],
    private readonly argumentCount: number,
  ) {}

  /** Whether it stands for a call with these. */
  isFor(
    before: readonly BackwardPreHook[],
    after: readonly BackwardHook[],
    positions: readonly number[],
    argumentCount: number,
  ): boolean {
    return (
      argumentCount === this.argumentCount &&
      sameItems(before, this.before) &&
      sameItems(after, this.after) &&
      sameItems(positions, this.positions)
    );
  }

  /** Gradients of the results arrive. */
  enter(grads: HookGradients): HookGradients {
    let current = grads;
    for (const hook of this.before) current = hook(this.module, current) ?? current;
    this.gradOutput = current;
    // Nothing will arrive at the arguments.
    if (this.positions.length === 0) this.leave([]);
    return current;
  }

  /** Gradients of the arguments arrive; what the hooks make of them goes on. */
  leave(grads: HookGradients): HookGradients {
    let current: HookGradients = Array.from({ length: this.argumentCount }, (_, i) => {
      const index = this.positions.indexOf(i);
      return index === -1 ? null : (grads[index] ?? null);
    });
    for (const hook of this.after) current = hook(this.module, current, this.gradOutput) ?? current;
    return this.positions.map((position) => current[position] ?? null);
  }
}

function sameItems(a: readonly unknown[], b: readonly unknown[]): boolean {
  return a.length === b.length && a.every((item, i) => item === b[i]);
}

/** Calls that traces hold, per module: equal ones must be the same object to be found again. */
const tracedCalls = new WeakMap<Module, HookedCall[]>();

function tracedCall(module: Module, ...rest: Parameters<HookedCall['isFor']>): HookedCall {
  let calls = tracedCalls.get(module);
  if (calls === undefined) tracedCalls.set(module, (calls = []));
  let call = calls.find((candidate) => candidate.isFor(...rest));
  if (call === undefined) {
    const [before, after, positions, argumentCount] = rest;
    call = new HookedCall(module, [...before], [...after], positions, argumentCount);
    calls.push(call);
  }
  return call;
}

class HookedArguments extends Function {
  static forward(ctx: FunctionContext, call: HookedCall, ...tensors: Tensor[]): Tensor[] {
    ctx.call = call;
    return tensors;
  }

  static backward(ctx: FunctionContext, ...grads: Tensor[]): (Tensor | null)[] {
    return [null, ...hostCall((ctx.call as HookedCall).onArguments, grads)];
  }
}

class HookedResults extends Function {
  static forward(ctx: FunctionContext, call: HookedCall, ...tensors: Tensor[]): Tensor[] {
    ctx.call = call;
    return tensors;
  }

  static backward(ctx: FunctionContext, ...grads: Tensor[]): (Tensor | null)[] {
    return [null, ...hostCall((ctx.call as HookedCall).onResults, grads)];
  }
}

function differentiable(value: unknown): value is Tensor {
  return isTensor(value) && value.requiresGrad;
}

/** Puts replaced tensors back where they stood. */
function replaceAt(
  values: readonly unknown[],
  positions: readonly number[],
  tensors: readonly Tensor[],
): unknown[] {
  const replaced = [...values];
  positions.forEach((position, i) => (replaced[position] = tensors[i]));
  return replaced;
}

/** Runs `forward` so that the hooks see its backward; results are a tensor or an array with tensors. */
export function runWithBackwardHooks(
  module: Module,
  before: readonly BackwardPreHook[],
  after: readonly BackwardHook[],
  args: readonly unknown[],
  forward: (args: readonly unknown[]) => unknown,
): unknown {
  const positions = args.flatMap((value, i) => (differentiable(value) ? [i] : []));
  const call =
    activeMode(args) === null
      ? new HookedCall(module, before, after, positions, args.length)
      : tracedCall(module, before, after, positions, args.length);
  const inner =
    positions.length === 0
      ? args
      : replaceAt(
          args,
          positions,
          HookedArguments.apply(call, ...positions.map((i) => args[i] as Tensor)),
        );
  const result = forward(inner);
  const results = Array.isArray(result) ? result : [result];
  const outPositions = results.flatMap((value, i) => (isTensor(value) ? [i] : []));
  if (!results.some(differentiable)) return result;
  const outer = replaceAt(
    results,
    outPositions,
    HookedResults.apply(call, ...outPositions.map((i) => results[i] as Tensor)),
  );
  return Array.isArray(result) ? outer : outer[0];
}
