/**
 * @file `Function`: a computation with a backward of one's own.
 *
 * `forward` runs without recording; `apply` attaches one backward node that calls `backward`. Inside a
 * compiled function both directions become part of the graph (traced-function.ts). Modelled on
 * `torch.autograd.Function`.
 */
import { callOp } from '../dispatch/dispatcher.js';
import { activeMode } from '../dispatch/modes.js';
import { defineOp, getOp } from '../op/op-overload.js';
import { isTensor } from '../tensor-factory.js';
import { FunctionContext } from './function-context.js';
import { type FunctionClass, attachFunction } from './function-node.js';
import { gradMode, noGrad } from './grad-mode.js';
import { seemsToRequireGrad } from './history.js';
import { recordFunction } from './traced-function.js';

/** Arguments of `apply`: those of `forward` without the context. */
type ApplyArguments<F> = F extends { forward(ctx: never, ...args: infer A): unknown } ? A : never;
type ApplyResult<F> = F extends { forward(ctx: never, ...args: never[]): infer R } ? R : never;

function run(owner: FunctionClass, args: readonly unknown[]): unknown {
  const wanted = args.map((arg) => gradMode.enabled && isTensor(arg) && seemsToRequireGrad(arg));
  const context = new FunctionContext(wanted);
  const result = noGrad(() => owner.forward(context, ...args));
  if (!wanted.includes(true)) return result;
  const isList = Array.isArray(result);
  const inputs = new Set(args.filter(isTensor));
  const traced = activeMode(args) !== null;
  // A result that is an untouched argument, or that a trace has computed already, becomes a tensor of
  // its own over the same memory.
  const outs = (isList ? result : [result]).map((out) => {
    if (!isTensor(out) || context.dirty.has(out)) return out;
    const isArgument = inputs.has(out);
    if (!isArgument && (!traced || out.isLazy)) return out;
    const own = noGrad(() => callOp(getOp('aten::alias'), [out]));
    // A tracer that only looks on has computed nothing.
    return isArgument || own.isLazy ? own : out;
  });
  if (!traced) attachFunction(owner, context, args, outs);
  else if (!recordFunction(owner, context, args, outs)) {
    attachNext = () => attachFunction(owner, context, args, outs);
    callOp(attachEagerly, [[...inputs]]);
  }
  return isList ? outs : outs[0];
}

/** What the next call of the op runs. */
let attachNext: (() => void) | null = null;
/** A step that cannot be recorded: before it, everything recorded so far is computed, and what it is given exists. */
const attachEagerly = defineOp('tessera::custom_function(Tensor[] tensors) -> Tensor[]', {
  tags: ['data-dependent'],
  decompose: () => {
    attachNext!();
    attachNext = null;
    return [];
  },
});

/**
 * Subclass it with static `forward(ctx, …args)` and `backward(ctx, …grads)`, then call `apply(…args)`.
 *
 * @example
 * class Exp extends Function {
 *   static forward(ctx: FunctionContext, x: Tensor): Tensor {
 *     const y = x.exp();
 *     ctx.saveForBackward(y);
 *     return y;
 *   }
 *   static backward(ctx: FunctionContext, grad: Tensor): Tensor {
 *     return grad.mul(ctx.savedTensors[0]);
 *   }
 * }
 * const y = Exp.apply(x);
 */
export abstract class Function {
  /** Runs `forward` and records `backward`. @throws what forward throws, inplace-leaf */
  static apply<F extends FunctionClass>(this: F, ...args: ApplyArguments<F>): ApplyResult<F> {
    return run(this, args) as ApplyResult<F>;
  }
}
