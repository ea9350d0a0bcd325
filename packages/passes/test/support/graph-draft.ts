/**
 * @file A graph that is being drawn: its inputs, constants and calls, and the values to choose among.
 */
import {
  type Argument,
  Graph,
  GraphModule,
  type Node,
  emitGetItem,
  emitOp,
  tensorVal,
  tensorVals,
} from '@tessera/graph';
import { type Tensor, getOp, isFloatingPoint } from '@tessera/tensor';
import { contiguousStrides, fakeFromMeta } from '@tessera/tensor/internal';
import type { Pick } from './picker.js';
import { DTYPES, NUMBERS, SHAPES, WHOLE, filled } from './random-values.js';

/** See the file header. */
export class GraphDraft {
  protected readonly graph: Graph = new Graph();
  protected readonly module: GraphModule = new GraphModule([], this.graph);
  protected pool: Node[] = [];
  protected readonly makers: (() => Tensor)[] = [];

  constructor(protected readonly pick: Pick) {}

  protected one<T>(items: readonly T[]): T {
    return items[this.pick(items.length)]!;
  }

  protected any(): Node {
    return this.one(this.pool);
  }

  /** Late values more often than early ones: graphs become deep. */
  protected recent(): Node {
    const { length } = this.pool;
    return this.pool[length - 1 - Math.min(this.pick(length), this.pick(length))]!;
  }

  protected val(node: Node): Tensor {
    return tensorVal(node)!;
  }

  protected addInput(name: string): void {
    const sizes = this.one(SHAPES);
    const dtype = this.one(DTYPES);
    const salt = this.pick(1000);
    this.makers.push(() => filled(sizes, dtype, salt));
    const node = this.graph.placeholder(name);
    node.meta.val = fakeFromMeta({
      sizes,
      strides: contiguousStrides(sizes),
      dtype,
      device: 'cpu',
    });
    this.pool.push(node);
  }

  protected addConstant(path: string): void {
    const value = filled(this.one(SHAPES), this.one(DTYPES), this.pick(1000));
    this.module.setAttribute(path, value);
    const node = this.graph.getAttr(path);
    node.meta.val = value;
    this.pool.push(node);
  }

  protected call(name: string, ...args: readonly Argument[]): Node {
    const node = emitOp(this.graph, getOp(`aten::${name}`), args);
    if (Array.isArray(node.meta.val)) {
      const items = tensorVals(node).map((_, i) => emitGetItem(this.graph, node, i));
      this.pool.push(...items);
    } else this.pool.push(node);
    return node;
  }

  protected dim(node: Node): number {
    const { ndim } = this.val(node);
    return this.pick(2) === 0 ? this.pick(ndim) : this.pick(ndim) - ndim;
  }

  protected scalar(node: Node): number {
    return this.one(isFloatingPoint(this.val(node).dtype) ? NUMBERS : WHOLE);
  }

  /** A constant where it is needed, in the middle of the graph. */
  protected constant(sizes: readonly number[], lowest: number = -Infinity): Node {
    const path = `w${this.module.attributes.size}`;
    const values = filled(sizes, 'float32', this.pick(1000));
    this.module.setAttribute(
      path,
      values.nanToNum({ nan: 0.5, posinf: 1, neginf: -1 }).clampMin(lowest),
    );
    const node = this.graph.getAttr(path);
    node.meta.val = this.module.getAttribute(path) as Tensor;
    return node;
  }

  /** Layers with constant weights, which freezing folds. */
}
