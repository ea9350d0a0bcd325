/**
 * @file `AccumulateGrad`: the end of the backward graph, adding into a leaf's `.grad`.
 */
import { addGradients, inLayoutOf } from './gradient-ops.js';
import { contiguousStrides, isDense } from '../shape.js';
import { autogradMeta } from './autograd-meta.js';
import { GradNode } from './grad-node.js';
import type { Tensor } from '../tensor.js';
import { gradMode } from './grad-mode.js';
import type { Storage } from '../memory/storage.js';
import { adopt, outsideScopes } from '../memory/library-scope.js';
import { keep } from '../memory/tidy.js';
import { setOwnGradient } from './own-gradient.js';

/** See the file header. Holds its leaf strongly; the leaf holds it. */
export class AccumulateGrad extends GradNode {
  constructor(
    /** The tensor that the program holds, once there is one. */
    public leaf: Tensor,
    /** When the leaf of a derivative of a function was made, as a sequence number; null for any other leaf. */
    readonly madeAt: number | null = null,
  ) {
    super(
      'AccumulateGrad',
      [],
      [{ sizes: leaf.sizes, dtype: leaf.dtype, device: leaf.device }],
      Number.MAX_SAFE_INTEGER,
    );
  }

  apply(grads: readonly (Tensor | null)[]): readonly (Tensor | null)[] {
    const grad = grads[0];
    // A leaf that was told not to take gradients since keeps what it has.
    if (grad == null || !this.leaf.requiresGradFlag) return [];
    const meta = autogradMeta(this.leaf);
    // With createGraph (grad mode on) the sum must stay differentiable; otherwise it is done in place.
    if (meta.grad !== null) meta.grad = addGradients(meta.grad, grad, !gradMode.enabled);
    else this.take(ownedGradient(grad, this.leaf));
    // The leaf holds its gradient beyond the scope of this backward pass.
    keep(meta.grad!);
    for (const hook of meta.postAccumulateHooks ?? []) outsideScopes(() => hook(this.leaf));
    return [];
  }

  private take(grad: Tensor): void {
    if (adopt(grad.storage)) setOwnGradient(this.leaf, grad);
    else autogradMeta(this.leaf).grad = grad;
  }

  override get runsProgram(): boolean {
    return false;
  }
}

/** Memory that somebody holds a gradient in: a leaf, or the caller who passed it in. */
const held = new WeakSet<Storage>();

/** Notes that the caller holds this gradient, so that no leaf takes its memory. */
export function holdGradient(grad: Tensor): void {
  if (grad.storageOrNull !== null) held.add(grad.storageOrNull);
}

/** A gradient that a tensor which is no leaf keeps for the program, in memory that no leaf takes or has taken. */
export function retainedGradient(grad: Tensor): Tensor {
  const storage = grad.storageOrNull;
  if (storage === null || storage.state !== 'real' || gradMode.enabled) return grad;
  const own = held.has(storage) ? grad.detach().clone() : grad;
  held.add(own.storage);
  return own;
}

/**
 * A gradient that may be kept, in the layout of its leaf where that is dense, else row-major: optimizers run over
 * both as one block. One that shares memory with others is copied when recording is off.
 */
function ownedGradient(grad: Tensor, leaf: Tensor): Tensor {
  if (!obeysLayout(grad, leaf)) {
    const own = inLayoutOf(leaf, grad);
    if (!gradMode.enabled) held.add(own.storage);
    return own;
  }
  if (gradMode.enabled) return grad;
  const shared = grad.base !== null || hasZeroStride(grad) || held.has(grad.storage);
  const own = shared ? grad.detach().clone() : grad.detach();
  held.add(own.storage);
  return own;
}

/**
 * The strides that a leaf's gradient gets.
 *
 * @see AccumulateGrad's gradient layout contract in PyTorch
 */
export function gradientStrides({ sizes, strides }: Tensor): readonly number[] {
  return isDense(sizes, strides) ? strides : contiguousStrides(sizes);
}

/** Whether a gradient has the strides that its leaf wants. */
export function obeysLayout(grad: Tensor, leaf: Tensor): boolean {
  const { sizes } = leaf;
  const wanted = gradientStrides(leaf);
  return sizes.every((size, i) => size <= 1 || grad.strides[i] === wanted[i]) || grad.numel === 0;
}

function hasZeroStride(tensor: Tensor): boolean {
  return tensor.strides.some((stride, i) => stride === 0 && tensor.sizes[i]! > 1);
}
