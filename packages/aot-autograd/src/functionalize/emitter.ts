/**
 * @file `Emitter`: writes the functional graph, node by node, with layouts under control.
 */
import {
  type Argument,
  type Graph,
  type Node,
  type NodeMeta,
  emitGetItem,
  emitOp,
  tensorVal,
} from '@tessera/graph';
import { TesseraError } from '@tessera/shared';
import type { OpOverload, Tensor } from '@tessera/tensor';
import { getOp, sameNumbers, viewStrides } from '@tessera/tensor/internal';
import { isDense, sameStrides, strideOrder } from '../layout.js';

/** See the file header. New nodes inherit the origin of the node being rewritten. */
export class Emitter {
  private origin: NodeMeta = {};
  /** Place in the program of the node being rewritten. */
  place = 0;

  constructor(readonly graph: Graph) {}

  /** Nodes emitted from now on come from `node`. */
  from(node: Node): void {
    const { val: _, custom: __, ...origin } = node.meta;
    this.origin = { ...origin, programOrder: ++this.place };
  }

  emit(op: OpOverload | string, args: readonly Argument[]): Node {
    return emitOp(this.graph, typeof op === 'string' ? getOp(op) : op, args, this.origin);
  }

  getItem(list: Node, index: number): Node {
    return emitGetItem(this.graph, list, index);
  }

  /** The metadata of an emitted node. */
  val(node: Node): Tensor {
    return tensorVal(node)!;
  }

  /** Another shape: a view if the layout allows it, else of a copy. */
  reshape(node: Node, sizes: readonly number[]): Node {
    const val = this.val(node);
    if (sameNumbers(val.sizes, sizes)) return node;
    const fits = viewStrides(val.sizes, val.strides, sizes) !== null;
    return this.emit('aten::view', [
      fits ? node : this.emit('aten::clone', [node, 'contiguous']),
      sizes,
    ]);
  }

  permute(node: Node, dims: readonly number[]): Node {
    return dims.every((dim, i) => dim === i) ? node : this.emit('aten::permute', [node, dims]);
  }

  /** A copy with its own memory. */
  clone(node: Node): Node {
    return this.emit('aten::clone', [node, null]);
  }

  /** The value with the strides of `like`; itself if it has them. @throws aot-unsupported for strides that are not dense */
  restride(node: Node, like: Pick<Tensor, 'sizes' | 'strides'>): Node {
    const val = this.val(node);
    if (sameStrides(val.sizes, val.strides, like.strides)) return node;
    if (!isDense(like.sizes, like.strides)) {
      throw new TesseraError(
        'aot-unsupported',
        `A value of shape [${like.sizes.join(', ')}] needs strides [${like.strides.join(', ')}], which leave gaps in memory, after an in-place update.`,
        { hints: ['clone() or contiguous() the input before modifying it in place.'] },
      );
    }
    const order = strideOrder(like.sizes, like.strides);
    const inverse: number[] = [];
    order.forEach((dim, i) => (inverse[dim] = i));
    return this.permute(
      this.emit('aten::clone', [this.permute(node, order), 'contiguous']),
      inverse,
    );
  }
}
