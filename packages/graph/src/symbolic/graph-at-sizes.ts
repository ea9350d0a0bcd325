/**
 * @file `GraphAtSizes`: the graph that a template is at values of its symbols.
 */
import { type Size, compileSize } from '@tessera/shared';
import { Storage, type Tensor, type TensorMeta, isTensor } from '@tessera/tensor';
import { makeTensor, storageBytes, storageExtent } from '@tessera/tensor/internal';
import { GraphModule } from '../ir/graph-module.js';
import { Graph } from '../ir/graph.js';
import { type Node, mapArgument } from '../ir/node.js';
import { singleShape, tensorVal } from '../ir/value-meta.js';
import type { GraphTemplate } from './graph-template.js';
import { mapSymbols } from './symbolic-argument.js';
import { type SymbolicShape, isSymbolicShape } from './symbolic-shape.js';

/** See the file header. Tensors whose sizes do not vary are those of the example. */
export class GraphAtSizes {
  constructor(
    private readonly template: GraphTemplate,
    private readonly values: readonly number[],
  ) {}

  /** Whether it is the same graph at all sizes. */
  get isFixed(): boolean {
    return this.template.symbols.length === 0;
  }

  private readonly numberOf = (size: Size | null): number => {
    const { symbols } = this.template;
    if (typeof size !== 'object' || size === null) return size ?? 0;
    return compileSize(size, (symbol) => symbols.indexOf(symbol))(this.values);
  };

  /** The graph itself, a new one each time. */
  module(): GraphModule {
    const { template, numberOf } = this;
    const graph = new Graph();
    const storages = new Map<Storage, Storage>();
    const valueAt = <V>(value: V, shape: SymbolicShape | null | undefined): V | Tensor =>
      isTensor(value) && shape != null && isSymbolicShape(shape)
        ? fakeLike(value, this.layoutOf(shape), storages)
        : value;
    const copies = new Map<Node, Node>();
    for (const node of template.example.graph.nodes) {
      const args = template.argsOf(node).map((arg) =>
        mapArgument(
          mapSymbols(arg, (size) => numberOf(size)),
          (input) => copies.get(input)!,
        ),
      );
      const copy = graph.createNode(node.op, node.target, args, node.name);
      const { val } = node.meta;
      const shapes = [template.shapesOf(node)].flat();
      copy.meta = {
        ...node.meta,
        val: Array.isArray(val)
          ? val.map((item, i) => valueAt(item, shapes[i]))
          : valueAt(val, shapes[0]),
      };
      copies.set(node, copy);
    }
    return new GraphModule(template.example.attributes, graph);
  }

  /** What an input of the graph is. */
  inputAt(position: number): TensorMeta {
    const node = this.template.example.graph.placeholders[position]!;
    const { dtype, device } = tensorVal(node)!;
    return { ...this.layoutOf(singleShape(this.template.shapesOf(node))!), dtype, device };
  }

  private layoutOf({ sizes, strides }: SymbolicShape): Layout {
    return { sizes: sizes.map(this.numberOf), strides: strides.map(this.numberOf) };
  }
}

type Layout = Pick<Tensor, 'sizes' | 'strides'>;

/** A FakeTensor of another layout; those that shared memory share it. */
function fakeLike(
  { dtype, device, storage: of, storageOffset, requiresGrad }: Tensor,
  { sizes, strides }: Layout,
  storages: Map<Storage, Storage>,
): Tensor {
  let storage = storages.get(of);
  if (storage === undefined) {
    const elements = storageOffset + storageExtent(sizes, strides);
    storage = Storage.fake(device, storageBytes(device, dtype, elements));
    storages.set(of, storage);
  }
  const fake = makeTensor(storage, dtype, device, sizes, strides, storageOffset);
  fake.requiresGradFlag = requiresGrad;
  return fake;
}
