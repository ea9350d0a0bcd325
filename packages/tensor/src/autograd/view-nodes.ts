/**
 * @file Backward nodes for views and in-place operations on them.
 */
import type { Storage } from '../memory/storage.js';
import type { Tensor } from '../tensor.js';
import {
  type Geometry,
  gatherFromBase,
  geometryOf,
  replaceInBase,
  scatterToBase,
  zerosOf,
} from './gradient-ops.js';
import { backwardTwice } from './backward-twice.js';
import { type Edge, type GradMeta, GradNode, metaOf } from './grad-node.js';

/** Gradient of a base from that of a view whose own history is stale (the base was modified since). */
export class ViewOfBase extends GradNode {
  private readonly view: Geometry;
  private readonly base: Geometry;

  constructor(view: Tensor, base: Tensor, edge: Edge | null) {
    super('AsStridedBackward0', [edge], [metaOf(view)]);
    this.view = geometryOf(view);
    this.base = geometryOf(base);
  }

  override get runsProgram(): boolean {
    return false;
  }

  apply(grads: readonly (Tensor | null)[]): readonly (Tensor | null)[] {
    const grad = grads[0];
    return [grad == null ? null : scatterToBase(grad, this.view, this.base)];
  }
}

/**
 * History of a base after an in-place op on one of its views: the region of the view goes through the
 * op's own node, the rest passes unchanged.
 *
 * @see PyTorch's CopySlices
 */
export class CopySlices extends GradNode {
  private readonly view: Geometry;
  private readonly base: Geometry;
  private readonly meta: GradMeta;
  /** Null once released. */
  private inner: GradNode | null;

  /** `inner` is the op's node; its edge `selfEdge` is the one to the view's old value. */
  constructor(
    view: Tensor,
    base: Tensor,
    baseEdge: Edge | null,
    inner: GradNode,
    private readonly selfEdge: number,
  ) {
    super(
      'CopySlices',
      [baseEdge, ...inner.nextEdges.filter((_, i) => i !== selfEdge)],
      [metaOf(base)],
    );
    this.inner = inner;
    this.view = geometryOf(view);
    this.base = geometryOf(base);
    this.meta = metaOf(view);
  }

  apply(grads: readonly (Tensor | null)[]): readonly (Tensor | null)[] {
    const grad = grads[0];
    if (grad == null) return this.nextEdges.map(() => null);
    if (this.inner === null) throw backwardTwice(this.name);
    const results = this.inner.apply([gatherFromBase(grad, this.view, this.base)]);
    const part =
      this.selfEdge >= 0 ? (results[this.selfEdge] ?? zerosOf(this.meta)) : zerosOf(this.meta);
    const rest = results.filter((_, i) => i !== this.selfEdge);
    return [
      this.nextEdges[0] === null ? null : replaceInBase(grad, part, this.view, this.base),
      ...rest,
    ];
  }

  override get runsProgram(): boolean {
    return this.inner?.runsProgram !== false;
  }

  /** The inner node goes as a whole. */
  override get keepsTensors(): boolean {
    return true;
  }

  override savedStorages(): readonly Storage[] {
    return this.inner?.savedStorages() ?? [];
  }

  override release(): void {
    this.inner = null;
  }
}
