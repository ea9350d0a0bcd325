/**
 * @file `boundKeys`: a graph whose attention reads as many keys as are seen, which inputs of the graph say at each call.
 *
 * Such a number of keys is a size of the lowered graph like one that varies between calls: a symbol. Keys, values and
 * masks are cut to it in a copy of the graph; no other value has it. Counts are whole blocks of keys, so that few of them
 * occur and vectors need no tails.
 */
import {
  type Argument,
  type GraphModule,
  Node,
  type SymbolicShape,
  copyModule,
  emitOp,
  tensorVal,
} from '@tessera/graph';
import { ShapeEnv, type Size, SizeProgram, type SymInt, sizeMul } from '@tessera/shared';
import { getOp } from '@tessera/tensor/internal';
import type { GraphSizes } from '../lower/graph-sizes.js';
import { type KeyBound, keyBound } from './key-bound.js';

/** Keys of a block: the largest power of two up to the first that divides their number; fewer than the second do not pay. */
const BLOCK = { most: 64, fewest: 16 };

/** A symbol, and what its value is at a call: blocks up to the last key that is seen. */
export interface CountedBlocks {
  readonly symbol: SymInt;
  /** Which of the graph's placeholders says it. */
  readonly input: number;
  readonly plus: number;
  readonly block: number;
  /** Blocks of all keys. */
  readonly most: number;
}

/** See the file header. */
export interface BoundedGraph {
  readonly module: GraphModule;
  readonly sizes: GraphSizes;
  readonly counts: readonly CountedBlocks[];
}

/** Position of key, value and mask among the arguments of attention. */
const KEYED = [
  { at: 1, dim: 2 },
  { at: 2, dim: 2 },
  { at: 5, dim: -1 },
];

/** The graph with bounded keys; null if nothing bounds any. */
export function boundKeys(module: GraphModule): BoundedGraph | null {
  const attention = getOp('aten::_scaled_dot_product_flash_attention_for_cpu');
  const isBounded = ({ target, args: [, key, , , , mask] }: Node): boolean =>
    target === attention && hasKeys(mask, keysOf(key)) && keyBound(mask) !== null;
  if (!module.graph.nodes.some(isBounded)) return null;
  const copy = copyModule(module);
  const cuts = new Cuts(copy);
  for (const node of copy.graph.nodes.filter(isBounded)) {
    const keys = keysOf(node.args[1]);
    const count = cuts.countOf(keyBound(node.args[5])!, keys);
    const args = [...node.args];
    for (const { at, dim } of KEYED)
      args[at] = cuts.cut(node.input(at), dim, { keys, count, before: node });
    node.args = args;
  }
  const { env, counts, shapes } = cuts;
  const symbols = counts.map(({ symbol }) => symbol);
  return {
    module: copy,
    counts,
    sizes: {
      env,
      symbols,
      program: new SizeProgram(symbols),
      shapesOf: (node) => shapes.get(node),
      argsOf: (node) => node.args,
    },
  };
}

function keysOf(key: Argument | undefined): number {
  return tensorVal(key)?.sizes[2] ?? 0;
}

/** Whether a mask tells keys apart, of which there are several blocks. */
function hasKeys(mask: Argument | undefined, keys: number): boolean {
  return mask instanceof Node && tensorVal(mask)?.sizes.at(-1) === keys && blockOf(keys) !== null;
}

/** Keys of a block; null where there is one block, or blocks are too short. */
function blockOf(keys: number): number | null {
  let block = BLOCK.most;
  while (keys % block !== 0) block /= 2;
  return block < BLOCK.fewest || block === keys ? null : block;
}

/** Cuts of a graph's values to counts of keys. */
class Cuts {
  readonly env: ShapeEnv = new ShapeEnv();
  readonly counts: CountedBlocks[] = [];
  readonly shapes = new Map<Node, SymbolicShape>();
  private readonly made = new Map<string, Node>();

  constructor(private readonly module: GraphModule) {}

  /** How many keys there are up to a bound. */
  countOf({ input, plus }: KeyBound, keys: number): Size {
    const block = blockOf(keys)!;
    const most = keys / block;
    const at = this.module.graph.placeholders.indexOf(input);
    let found = this.counts.find(
      (each) => each.input === at && each.plus === plus && each.block * each.most === keys,
    );
    if (found === undefined) {
      const source = `blocks of keys up to ${input.name}`;
      const symbol = this.env.createSymbol(most, { source, min: 1, max: most });
      this.counts.push((found = { symbol, input: at, plus, block, most }));
    }
    return sizeMul(found.symbol, block);
  }

  /** The first `count` keys of a value that has all of them along a dimension. */
  cut(
    value: Node,
    dim: number,
    { keys, count, before }: { keys: number; count: Size; before: Node },
  ): Node {
    const key = `${value.name} ${String(count)}`;
    let found = this.made.get(key);
    if (found === undefined) {
      const { graph } = this.module;
      const { val: _, ...origin } = value.meta;
      found = graph.insertingBefore(before, () =>
        emitOp(graph, getOp('aten::slice.Tensor'), [value, dim, 0, keys, 1], origin),
      );
      const { sizes, strides }: { sizes: readonly Size[]; strides: readonly number[] } =
        tensorVal(found)!;
      this.shapes.set(found, { sizes: sizes.with(dim, count), strides });
      this.made.set(key, found);
    }
    return found;
  }
}
