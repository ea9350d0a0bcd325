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

/** What a call is made of: hooks before and after, and where the differentiable arguments stand among how many. */
type Parts = readonly [
  before: readonly BackwardPreHook[],
  after: readonly BackwardHook[],
  positions: readonly number[],
  count: readonly [number],
];

/** What both identities know of one call: as host code. */
interface HookedCall {
  readonly parts: Parts;
  /** Gradients of the results arrive. */
  readonly onResults: HostCode;
  /** Gradients of the arguments arrive; what the hooks make of them goes on. */
  readonly onArguments: HostCode;
}

function hookedCall(module: Module, parts: Parts): HookedCall {
  const [before, after, positions, [length]] = parts;
  let gradOutput: HookGradients = [];
  const onArguments = (grads: HookGradients): HookGradients => {
    let current: HookGradients = Array.from(
      { length },
      (_, i) => grads[positions.indexOf(i)] ?? null,
    );
    for (const hook of after) current = hook(module, current, gradOutput) ?? current;
    return positions.map((position) => current[position] ?? null);
  };
  const onResults = (grads: HookGradients): HookGradients => {
    gradOutput = grads;
    for (const hook of before) gradOutput = hook(module, gradOutput) ?? gradOutput;
    // Nothing will arrive at the arguments.
    if (positions.length === 0) onArguments([]);
    return gradOutput;
  };
  return { parts, onResults, onArguments };
}

function sameItems(a: readonly unknown[], b: readonly unknown[]): boolean {
  return a.length === b.length && a.every((item, i) => item === b[i]);
}

/** Calls that traces hold, per module: equal ones must be the same object to be found again. */
const tracedCalls = new WeakMap<Module, HookedCall[]>();

function tracedCall(module: Module, parts: Parts): HookedCall {
  const calls = tracedCalls.get(module) ?? [];
  tracedCalls.set(module, calls);
  let call = calls.find((known) => known.parts.every((part, i) => sameItems(part, parts[i]!)));
  if (call === undefined) calls.push((call = hookedCall(module, parts)));
  return call;
}

/** An identity whose backward is host code. */
type HookedContext = FunctionContext & { code: HostCode };

class Hooked extends Function {
  static forward(ctx: HookedContext, code: HostCode, ...tensors: Tensor[]): Tensor[] {
    ctx.code = code;
    return tensors;
  }

  static backward(ctx: HookedContext, ...grads: Tensor[]): (Tensor | null)[] {
    return [null, ...hostCall(ctx.code, grads)];
  }
}

function differentiable(value: unknown): value is Tensor {
  return isTensor(value) && value.requiresGrad;
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
  const parts = [before, after, positions, [args.length]] as const;
  const call = (activeMode(args) === null ? hookedCall : tracedCall)(module, parts);
  const through = (
    code: HostCode,
    values: readonly unknown[],
    places: readonly number[],
  ): unknown[] => {
    const tensors = Hooked.apply(code, ...places.map((i) => values[i] as Tensor));
    return values.map((value, i) => tensors[places.indexOf(i)] ?? value);
  };
  const inner = positions.length === 0 ? args : through(call.onArguments, args, positions);
  const result = forward(inner);
  const results = Array.isArray(result) ? result : [result];
  const outPositions = results.flatMap((value, i) => (isTensor(value) ? [i] : []));
  if (!results.some(differentiable)) return result;
  const outer = through(call.onResults, results, outPositions);
  return Array.isArray(result) ? outer : outer[0];
}
