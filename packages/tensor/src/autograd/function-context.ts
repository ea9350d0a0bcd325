/**
 * @file `FunctionContext`: what the two directions of a custom `Function` share.
 */
import type { Tensor } from '../tensor.js';
import { backwardTwice } from './backward-twice.js';
import type { SavedTensor } from './saved-tensor.js';

/**
 * What `forward` and `backward` share. Other values may be kept as properties: `ctx: FunctionContext & { steps: number }`
 * says of which type.
 *
 * @typeParam Saved what is saved, if some of it may be null: `FunctionContext<[Tensor, Tensor | null]>`
 */
export class FunctionContext<Saved extends readonly (Tensor | null)[] = Tensor[]> {
  [key: string]: unknown;
  /** Whether a gradient is wanted, per argument of `forward`. */
  readonly needsInputGrad: readonly boolean[];
  /** Null after a backward without `retainGraph`. @internal */
  saved: (SavedTensor | null)[] | null = [];
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
  saveForBackward(...tensors: Saved): void {
    this.toSave = tensors;
  }

  /** The tensors given to `saveForBackward`. @throws inplace-version, backward-twice */
  get savedTensors(): Saved {
    if (this.saved === null) throw backwardTwice('custom Function');
    const tensors = this.saved.map((tensor) => tensor?.unpack('custom Function') ?? null);
    return tensors as readonly (Tensor | null)[] as Saved;
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
