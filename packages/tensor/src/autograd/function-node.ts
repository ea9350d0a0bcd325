/**
 * @file The backward node of a custom `Function`, and attaching it to results.
 */
import { TesseraError } from '@tessera/shared';
import { isFloatingPoint } from '../dtype.js';
import type { Storage } from '../memory/storage.js';
import { formatSizes, sameNumbers } from '../shape.js';
import { isTensor } from '../tensor-factory.js';
import type { Tensor } from '../tensor.js';
import { holdGradient } from './accumulate-grad.js';
import { anomaly } from './anomaly-state.js';
import type { FunctionContext } from './function-context.js';
import { type GradMeta, GradNode, metaOf } from './grad-node.js';
import { castTo, sumToSize, zerosOf } from './gradient-ops.js';
import { gradEdge, setHistory } from './history.js';
import { checkInPlaceLeaf, rewriteHistory } from './record.js';
import { SavedTensor } from './saved-tensor.js';

/** What `backward` returns: a gradient per argument of `forward`, null where there is none. */
export type FunctionGradients = Tensor | null | undefined | readonly (Tensor | null | undefined)[];

/** A subclass of `Function`. */
export interface FunctionClass {
  readonly name: string;
  forward(ctx: FunctionContext<readonly (Tensor | null)[]>, ...args: unknown[]): unknown;
  backward(
    ctx: FunctionContext<readonly (Tensor | null)[]>,
    ...grads: (Tensor | null)[]
  ): FunctionGradients;
}

/** Backward node of a custom function. */
export class FunctionNode extends GradNode {
  constructor(
    private readonly owner: FunctionClass,
    private readonly context: FunctionContext,
    private readonly args: readonly (GradMeta | null)[],
    edges: ConstructorParameters<typeof GradNode>[1],
    outMetas: readonly GradMeta[],
    sequenceNr?: number,
  ) {
    super(`${owner.name}Backward`, edges, outMetas, sequenceNr);
  }

  override get keepsTensors(): boolean {
    return this.context.toSave.length > 0;
  }

  override savedStorages(): Storage[] {
    return (this.context.saved ?? []).flatMap((tensor) => tensor?.storages ?? []);
  }

  override release(): void {
    this.context.saved = null;
  }

  apply(grads: readonly (Tensor | null)[]): readonly (Tensor | null)[] {
    // A gradient may be one of these: then no leaf may take its memory.
    for (const tensor of this.context.toSave) if (tensor !== null) holdGradient(tensor);
    const given = this.inputMetas.map(
      (meta, i) => grads[i] ?? (this.context.materialize ? zerosOf(meta) : null),
    );
    if (typeof this.owner.backward !== 'function')
      throw new TesseraError('invalid-argument', `${this.owner.name} has no backward.`, {
        hints: ['Write static backward(ctx, …grads).'],
      });
    const result = this.owner.backward(this.context, ...given);
    const list = Array.isArray(result) ? result : [result ?? null];
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
    // What is no tensor has no dimensions.
    const fits =
      lead >= 0 && meta.sizes.every((size, i) => size === grad.sizes[lead + i] || size === 1);
    if (!fits) {
      throw new TesseraError(
        'shape-mismatch',
        `Function ${this.name} returned an invalid gradient at index ${index} - got ${isTensor(grad) ? formatSizes(grad.sizes) : String(grad)} but expected shape compatible with ${formatSizes(meta.sizes)}`,
        {
          hints: ['A gradient has the shape of its input.'],
        },
      );
    }
    const shaped = sameNumbers(grad.sizes, meta.sizes) ? grad : sumToSize(grad, meta.sizes);
    return shaped.dtype === meta.dtype ? shaped : castTo(shaped, meta.dtype);
  }
}

/**
 * Makes `outs` results of a custom function of `args`.
 *
 * @throws inplace-leaf
 */
export function attachFunction(
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
  anomaly.active?.noteForwardCall(node);
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
