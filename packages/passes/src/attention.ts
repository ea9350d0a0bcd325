/**
 * @file Attention written out as products and a softmax becomes the operator for it, which code generators
 * lower as a whole; with a term added to the scores (a mask), too. Where nothing uses it (`useAttentionFusion`) it is
 * computed as it was written, which the operator would be as well.
 *
 * Only where nobody else reads scores or weights: a graph that records gradients keeps what its backward
 * reads. Where a mask hides everything from a row the operator gives zeros and a softmax NaN, which the
 * replacement restores. Modelled on inductor's fuse_attention.
 */
import type { GraphModule } from '@tessera/graph';
import { tensorVal } from '@tessera/graph';
import { type Tensor, callOp } from '@tessera/tensor';
import {
  contiguousStrides,
  fakeFromMeta,
  findOp,
  sameNumbers,
  scaledDotProductAttention,
} from '@tessera/tensor/internal';
import type { Match } from './pattern/match.js';
import { PatternMatcherPass } from './pattern/pattern-matcher-pass.js';
import { registerReplacement } from './pattern/replacement.js';
import type { Pass } from './pass.js';

type Attention = (query: Tensor, key: Tensor, value: Tensor, factor: number) => Tensor;
type MaskedAttention = (
  query: Tensor,
  key: Tensor,
  value: Tensor,
  mask: Tensor,
  factor: number,
) => Tensor;

let matcher: PatternMatcherPass | null = null;

/** The pass. */
export const attentionFusion: Pass = {
  name: 'attention-fusion',
  // Patterns are traced when a graph comes that may have one: others must not pay for them.
  run: (module) => hasSoftmax(module) && (matcher ??= registered()).run(module),
};

function hasSoftmax({ graph }: GraphModule): boolean {
  return graph.nodes.some(
    ({ target }) => typeof target === 'object' && SOFTMAX.has(target.qualifiedName),
  );
}

const SOFTMAX: ReadonlySet<string> = new Set(['aten::softmax.int', 'aten::_softmax']);

/** How scores are scaled, and the factor that this is. */
const SCALINGS: readonly {
  readonly apply: (scores: Tensor, by: number) => Tensor;
  readonly factor: (by: number) => number;
}[] = [
  { apply: (scores, by) => scores.mul(by), factor: (by) => by },
  { apply: (scores, by) => scores.div(by), factor: (by) => 1 / by },
];

function registered(): PatternMatcherPass {
  const passes = new PatternMatcherPass('attention-fusion');
  const heads = (): Tensor => example([2, 4, 8, 16]);
  for (const { apply, factor } of SCALINGS) {
    const scores = (query: Tensor, key: Tensor, by: number): Tensor =>
      apply(query.matmul(key.transpose(-2, -1)), by);
    const search: Attention = (query, key, value, by) =>
      scores(query, key, by).softmax(-1).matmul(value);
    const replace: Attention = (query, key, value, by) =>
      scaledDotProductAttention(query, key, value, { scale: factor(by) });
    registerReplacement(search, replace, [heads(), heads(), heads()], {
      passes,
      scalars: [EXAMPLE_FACTOR],
      extraCheck: (match) => operands(match, 3).every((operand) => operand.ndim === 4),
    });
    const searchMasked: MaskedAttention = (query, key, value, mask, by) =>
      scores(query, key, by).add(mask).softmax(-1).matmul(value);
    const replaceMasked: MaskedAttention = (query, key, value, mask, by) =>
      masked(query, key, value, mask, factor(by));
    registerReplacement(searchMasked, replaceMasked, [heads(), heads(), heads(), example([8, 8])], {
      passes,
      scalars: [EXAMPLE_FACTOR],
      extraCheck: takesMask,
    });
  }
  return passes;
}

function example(sizes: readonly number[]): Tensor {
  const strides = contiguousStrides(sizes);
  return fakeFromMeta({ sizes, strides, dtype: 'float32', device: 'cpu' });
}

/** The operator, with NaN for rows that see nothing. */
function masked(query: Tensor, key: Tensor, value: Tensor, mask: Tensor, scale: number): Tensor {
  // The operator itself is made of it.
  const flash = findOp('aten::_scaled_dot_product_flash_attention_for_cpu')!;
  const [out, logSumExp] = callOp(flash, [query, key, value, 0, false, mask, scale]) as [
    Tensor,
    Tensor,
  ];
  return out.maskedFill(logSumExp.eq(-Infinity).unsqueeze(-1), NaN);
}

/** Whether the operator takes operands of these layouts, and the mask with them. */
function takesMask(match: Match): boolean {
  const [query, key, value, mask] = operands(match, 4);
  const inputs = [query, key, value];
  return (
    inputs.every((x) => x.ndim === 4 && x.strides[3] === 1 && x.sizes.every((size) => size > 0)) &&
    inputs.every((x) => sameNumbers(x.sizes.slice(0, 2), query.sizes.slice(0, 2))) &&
    value.sizes[3] === query.sizes[3] &&
    mask.dtype === query.dtype &&
    (mask.ndim === 2 || mask.ndim === 4)
  );
}

function operands({ kwargs }: Match, count: number): Tensor[] {
  return Array.from({ length: count }, (_, i) => tensorVal(kwargs[`arg${i}`])!);
}

/** A number that occurs nowhere else in the searched functions. */
const EXAMPLE_FACTOR = 0.113377;
