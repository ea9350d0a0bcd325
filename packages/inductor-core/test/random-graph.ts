/**
 * @file Random functional graphs for fuzzing: pointwise chains with shared values, views, reductions,
 * products, several outputs, input mutations.
 */
import type { GraphModule, Node } from '@tessera/graph';
import { type Tensor, fromTypedArray, isTensor } from '@tessera/tensor';
import { makeTensor } from '@tessera/tensor/internal';
import { GraphBuilder, sizesOf } from './graph-builder.js';

/** Small repeatable generator of integers. */
export class Dice {
  private state: number;

  constructor(readonly seed: number) {
    this.state = seed >>> 0 || 1;
  }

  /** An integer in [0, n). */
  roll(n: number): number {
    this.state ^= this.state << 13;
    this.state ^= this.state >>> 17;
    this.state ^= this.state << 5;
    return (this.state >>> 0) % n;
  }

  pick<T>(items: readonly T[]): T {
    return items[this.roll(items.length)]!;
  }
}

const UNARY = ['sin', 'tanh', 'sigmoid', 'relu', 'neg', 'abs', 'cos', 'erf'];
const BINARY = ['add.Tensor', 'sub.Tensor', 'mul.Tensor', 'maximum', 'minimum'];

function step(b: GraphBuilder, dice: Dice, values: Node[]): Node {
  const x = dice.pick(values);
  const sizes = sizesOf(x);
  const rank = sizes.length;
  switch (dice.roll(21)) {
    case 0:
    case 1:
      return b.op(dice.pick(UNARY), x);
    case 2:
    case 3:
    case 4: {
      const same = values.filter((v) => broadcasts(sizesOf(v), sizes));
      return b.op(dice.pick(BINARY), x, dice.pick(same));
    }
    case 5:
      return rank === 0
        ? b.op('mul.Tensor', x, 0.5)
        : b.op('sum.dim_IntList', x, [dice.roll(rank)], dice.roll(2) === 0);
    case 6:
      return rank === 0 ? b.op('neg', x) : b.op('amax', x, [dice.roll(rank)], dice.roll(2) === 0);
    case 7: {
      const order = sizes.map((_, d) => d).sort(() => dice.roll(3) - 1);
      return b.op('permute', x, order);
    }
    case 8:
      return b.op(
        'clone',
        b.op('view', b.op('clone', x, 'contiguous'), [sizes.reduce((a, c) => a * c, 1)]),
      );
    case 9:
      return rank === 0 ? b.op('unsqueeze', x, 0) : b.op('_softmax', x, dice.roll(rank), false);
    case 10:
      return rank === 2
        ? b.op('mm', x, b.op('permute', x, [1, 0]))
        : b.op('unsqueeze', x, dice.roll(rank + 1));
    case 11:
      return rank === 0 || sizes[0]! < 2
        ? b.op('abs', x)
        : b.op(
            'cat',
            [
              b.op('slice.Tensor', x, 0, 1, sizes[0]!, 1),
              b.op('sin', b.op('slice.Tensor', x, 0, 0, 1, 1)),
            ],
            0,
          );
    case 12:
      return b.op('where.self', b.op('gt.Scalar', x, 0), x, b.op('mul.Tensor', x, 0.1));
    case 13:
      // Equal parts: written each to its place where the join gets memory.
      return rank === 0 || sizes.some((size) => size > 16)
        ? b.op('cos', x)
        : b.op('cat', [b.op('sin', x), x, b.op('mul.Tensor', x, 2)], dice.roll(rank));
    default:
      return rank === 0 ? b.op('cos', x) : structured(b, dice, x);
  }
}

/** Operators that read windows, rows or positions of a tensor with dimensions. */
function structured(b: GraphBuilder, dice: Dice, x: Node): Node {
  const sizes = sizesOf(x);
  const rank = sizes.length;
  const last = sizes[rank - 1]!;
  switch (dice.roll(8)) {
    case 0:
      return b.item(b.op('native_layer_norm', x, [last], null, null, 1e-3), dice.roll(3));
    case 1:
      return b.op('constant_pad_nd', x, [dice.roll(2), 1], dice.roll(3));
    case 2:
      return b.op('expand', b.op('unsqueeze', x, 0), [2, ...sizes], false);
    case 3:
      return b.op(
        'index_select',
        x,
        0,
        b.op('argmax', b.op('view', b.op('clone', x, 'contiguous'), [sizes[0]!, -1]), 0),
      );
    case 4:
      return b.op('var.correction', x, [dice.roll(rank)], 1, dice.roll(2) === 0);
    case 5:
      return rank === 3
        ? b.op('bmm', x, b.op('permute', x, [0, 2, 1]))
        : b.op('cumsum', x, dice.roll(rank));
    case 6: {
      if (rank !== 3 || sizes[1]! < 2 || last < 2) return b.op('flip', x, [dice.roll(rank)]);
      const image = b.op('unsqueeze', x, 0);
      const weight = b.op('slice.Tensor', b.op('slice.Tensor', image, 2, 0, 2, 1), 3, 0, 2, 1);
      return b.op('convolution', image, weight, null, [1, 1], [1, 0], [1, 1], false, [0, 0], 1);
    }
    default: {
      if (rank !== 3 || sizes[1]! < 2 || last < 2)
        return b.op('slice.Tensor', x, rank - 1, 0, last, 2);
      return b.item(
        b.op(
          'max_pool2d_with_indices',
          b.op('unsqueeze', x, 0),
          [2, 2],
          [1, 2],
          [0, 1],
          [1, 1],
          false,
        ),
        0,
      );
    }
  }
}

function broadcasts(from: readonly number[], to: readonly number[]): boolean {
  return (
    from.length <= to.length &&
    from.every((size, d) => size === 1 || size === to[d + to.length - from.length])
  );
}

/** A graph and the sizes and strides of its inputs. */
export interface RandomGraph {
  readonly module: GraphModule;
  readonly inputs: () => Tensor[];
}

/** Makes a graph of about `length` operators. */
export function randomGraph(dice: Dice, length: number): RandomGraph {
  const b = new GraphBuilder();
  const shapes = [[4, 6], [6, 4], [3, 4, 6], [6], [1, 6], [4, 1]];
  const inputs = Array.from({ length: 2 + dice.roll(3) }, () => {
    const shape = dice.pick(shapes);
    const transposed = shape.length === 2 && dice.roll(3) === 0;
    return b.input(shape, 'float32', transposed ? [1, shape[0]!] : undefined);
  });
  const values: Node[] = [...inputs];
  for (let i = 0; i < length; i++) {
    const made = step(b, dice, values);
    const count = sizesOf(made).reduce((a, c) => a * c, 1);
    if (count <= 600) values.push(made);
  }
  const outputs = new Set<Node>();
  const made = values.slice(inputs.length);
  for (let i = 0; i < 1 + dice.roll(3) && made.length > 0; i++) outputs.add(dice.pick(made));
  if (made.length > 0) outputs.add(made[made.length - 1]!);
  // Outputs are dense and fresh: views of inputs and expanded values are the caller's business.
  const results = [...outputs].map((node) => b.op('clone', node, 'contiguous'));
  // Mutations come last and take values computed before any of them, as functionalization makes them.
  const mutations = inputs.flatMap((input): [Node, Node][] => {
    if (dice.roll(4) !== 0) return [];
    return [
      [
        input,
        b.op('clone', dice.pick(values.filter((v) => broadcasts(sizesOf(v), sizesOf(input))))),
      ],
    ];
  });
  for (const [input, value] of mutations) b.mutate(input, value);
  const module = b.done(...results);
  return {
    module,
    inputs: () =>
      inputs.map((node, k) => {
        const val = node.meta.val;
        if (!isTensor(val)) throw new Error('not a tensor');
        const data = Float32Array.from(
          { length: val.numel },
          (_, i) => Math.sin((i + 1) * (k + 1.7)) * 1.5,
        );
        const flat = fromTypedArray(data, [val.numel]);
        return makeTensor(flat.storage, 'float32', 'cpu', val.sizes, val.strides);
      }),
  };
}
