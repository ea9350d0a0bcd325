/**
 * @file `Function`: a computation with a backward of one's own.
 *
 * `forward` runs without recording; `apply` attaches one backward node that calls `backward`. Inside a
 * compiled function a call is a graph break: both directions run as ordinary JavaScript. Modelled on
 * `torch.autograd.Function`.
 */
import { TesseraError } from '@tessera/shared';
import { callOp } from '../dispatch/dispatcher.js';
import { activeMode } from '../dispatch/modes.js';
import { isFloatingPoint } from '../dtype.js';
import { defineOp, getOp } from '../op/op-overload.js';
import { formatSizes, sameNumbers } from '../shape.js';
import { isTensor } from '../tensor-factory.js';
import type { Tensor } from '../tensor.js';
import { holdGradient } from './accumulate-grad.js';
import { noteForwardCall } from './anomaly.js';
import { gradMode, noGrad } from './grad-mode.js';
import { type GradMeta, GradNode } from './grad-node.js';
import { castTo, sumToSize, zerosOf } from './gradient-ops.js';
import { gradEdge, requiresGrad, setHistory } from './history.js';
import { checkInPlaceLeaf, rewriteHistory } from './record.js';
import { SavedTensor } from './saved-tensor.js';

/** What `forward` and `backward` share. Other values may be kept as properties. */
export class FunctionContext {
  [key: string]: unknown;
  /** Whether a gradient is wanted, per argument of `forward`. */
  readonly needsInputGrad: readonly boolean[];
  /** @internal */
  saved: (SavedTensor | null)[] = [];
  /** @internal */
  toSave: readonly (Tensor | null)[] = [];
  /** @internal */
  readonly dirty: Set<Tensor> = new Set();
  /** @internal */
  readonly nonDifferentiable: Set<Tensor> = new Set();
  /** @internal */
  materialize = true;

  constructor(needsInputGrad: readonly boolean[]) {
    this.needsInputGrad = needsInputGrad;
  }

  /** Keeps tensors for `backward`, where `savedTensors` gives them back unless they were modified since. */
  saveForBackward(...tensors: (Tensor | null)[]): void {
    this.toSave = tensors;
  }

  /** The tensors given to `saveForBackward`. @throws inplace-version, backward-twice */
  get savedTensors(): (Tensor | null)[] {
    return this.saved.map((tensor) => tensor?.unpack('custom Function') ?? null);
  }

  /** Says that `forward` modified these arguments in place; they must be among its results. */
  markDirty(...tensors: Tensor[]): void {
    for (const tensor of tensors) this.dirty.add(tensor);
  }

  /** Says that no gradient flows through these results. */
  markNonDifferentiable(...tensors: Tensor[]): void {
    for (const tensor of tensors) this.nonDifferentiable.add(tensor);
  }

  /** Whether `backward` gets zeros (default) or null for results that received no gradient. */
  setMaterializeGrads(value: boolean): void {
    this.materialize = value;
  }
}

/** What `backward` returns: a gradient per argument of `forward`, null where there is none. */
export type FunctionGradients = Tensor | null | undefined | readonly (Tensor | null | undefined)[];

interface FunctionClass {
  readonly name: string;
  forward(ctx: FunctionContext, ...args: never[]): unknown;
  backward(ctx: FunctionContext, ...grads: never[]): FunctionGradients;
}

/** Arguments of `apply`: those of `forward` without the context. */
type ApplyArguments<F> = F extends { forward(ctx: FunctionContext, ...args: infer A): unknown }
  ? A
  : never;
type ApplyResult<F> = F extends { forward(ctx: FunctionContext, ...args: never[]): infer R }
  ? R
  : never;

/** Backward node of a custom function. */
class FunctionNode extends GradNode {
  private released = false;

  constructor(
    private readonly owner: FunctionClass,
    private readonly context: FunctionContext,
    private readonly args: readonly (GradMeta | null)[],
    edges: ConstructorParameters<typeof GradNode>[1],
    outMetas: readonly GradMeta[],
  ) {
    super(`${owner.name}Backward`, edges, outMetas);
  }

  override release(): void {
    this.context.saved = [];
    this.released = true;
  }

  apply(grads: readonly (Tensor | null)[]): readonly (Tensor | null)[] {
    if (this.released) {
      throw new TesseraError(
        'backward-twice',
        `Trying to backward through the graph a second time (${this.name}): saved tensors were freed by the first backward().`,
        {
          hints: ['Pass retainGraph: true to the first backward() if you need a second.'],
        },
      );
    }
    // A gradient may be one of these: then no leaf may take its memory.
    for (const tensor of this.context.toSave) if (tensor !== null) holdGradient(tensor);
    const given = this.inputMetas.map(
      (meta, i) => grads[i] ?? (this.context.materialize ? zerosOf(meta) : null),
    );
    const result = (
      this.owner.backward as (
        ctx: FunctionContext,
        ...grads: (Tensor | null)[]
      ) => FunctionGradients
    )(this.context, ...given);
    const list =
      isTensor(result) || result === null || result === undefined
        ? [result ?? null]
        : [...(result as readonly (Tensor | null)[])];
    const surplus = list.slice(this.args.length).some((grad) => grad != null);
    if (list.length < this.args.length || surplus) {
      throw new TesseraError(
        'invalid-argument',
        `function ${this.name} returned an incorrect number of gradients (expected ${this.args.length}, got ${list.length})`,
        {
          hints: ['Return one gradient per argument of forward, null where there is none.'],
        },
      );
    }
    return this.args.flatMap((meta, i) =>
      meta === null ? [] : [this.fit(list[i] ?? null, meta, i)],
    );
  }

  /** Checks a gradient against its input; broadcast dims are summed. @throws shape-mismatch */
  private fit(grad: Tensor | null, meta: GradMeta, index: number): Tensor | null {
    if (grad === null) return null;
    const lead = grad.ndim - meta.sizes.length;
    const fits =
      lead >= 0 && meta.sizes.every((size, i) => size === grad.sizes[lead + i] || size === 1);
    if (!fits) {
      throw new TesseraError(
        'shape-mismatch',
        `Function ${this.name} returned an invalid gradient at index ${index} - got ${formatSizes(grad.sizes)} but expected shape compatible with ${formatSizes(meta.sizes)}`,
        {
          hints: ['A gradient has the shape of its input.'],
        },
      );
    }
    const shaped = sameNumbers(grad.sizes, meta.sizes) ? grad : sumToSize(grad, meta.sizes);
    return shaped.dtype === meta.dtype ? shaped : castTo(shaped, meta.dtype);
  }
}

function metaOf(tensor: Tensor): GradMeta {
  return { sizes: tensor.sizes, dtype: tensor.dtype, device: tensor.device };
}

function run(owner: FunctionClass, args: readonly unknown[]): unknown {
  const wanted = args.map((arg) => gradMode.enabled && isTensor(arg) && requiresGrad(arg));
  const context = new FunctionContext(wanted);
  const result = noGrad(() =>
    (owner.forward as (ctx: FunctionContext, ...args: unknown[]) => unknown)(context, ...args),
  );
  if (!wanted.includes(true)) return result;
  const isList = Array.isArray(result);
  const inputs = new Set(args.filter(isTensor));
  // A result that is an untouched argument becomes a tensor of its own over the same memory.
  const outs = (isList ? (result as unknown[]) : [result]).map((out) =>
    isTensor(out) && inputs.has(out) && !context.dirty.has(out)
      ? noGrad(() => callOp(getOp('aten::alias'), [out]) as Tensor)
      : out,
  );
  attach(owner, context, args, outs);
  return isList ? outs : outs[0];
}

function attach(
  owner: FunctionClass,
  context: FunctionContext,
  args: readonly unknown[],
  outs: readonly unknown[],
): void {
  const tensors = args.filter(isTensor);
  for (const tensor of context.dirty) checkInPlaceLeaf(tensor);
  const metas = args.map((arg) => (isTensor(arg) ? metaOf(arg) : null));
  const results = outs.filter(isTensor);
  const node = new FunctionNode(owner, context, metas, tensors.map(gradEdge), results.map(metaOf));
  noteForwardCall(node);
  context.saved = context.toSave.map((tensor) => {
    if (tensor === null) return null;
    const output = context.dirty.has(tensor) ? -1 : results.indexOf(tensor);
    return output < 0 ? new SavedTensor(tensor) : new SavedTensor(tensor, node, output);
  });
  results.forEach((out, i) => {
    if (!isFloatingPoint(out.dtype) || context.nonDifferentiable.has(out)) return;
    if (context.dirty.has(out) && out.base !== null)
      rewriteHistory(out, node, tensors.indexOf(out));
    else {
      // A view made in forward is a plain result: its history is this node, not its base's.
      if (!context.dirty.has(out)) out.base = null;
      setHistory(out, node, i);
    }
  });
}

/** Runs a custom function from a tracer's point of view: a step that cannot be recorded. */
let pending: (() => unknown) | null = null;
const opaqueCall = defineOp('tessera::custom_function() -> Tensor[]', {
  tags: ['data-dependent'],
  decompose: () => {
    const call = pending!;
    pending = null;
    return call();
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
 *     return grad.mul(ctx.savedTensors[0]!);
 *   }
 * }
 * const y = Exp.apply(x);
 */
export abstract class Function {
  /** Runs `forward` and records `backward`. @throws what forward throws, inplace-leaf */
  static apply<F extends FunctionClass>(this: F, ...args: ApplyArguments<F>): ApplyResult<F> {
    const call = (): unknown => run(this, args);
    if (activeMode(args) === null) return call() as ApplyResult<F>;
    pending = call;
    return callOp(opaqueCall, []) as ApplyResult<F>;
  }
}
