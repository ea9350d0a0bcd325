/**
 * @file Attention written out as products and a softmax becomes the operator for it, which code generators
 * lower as a whole.
 *
 * Only where nobody else reads scores or weights: a graph that records gradients keeps what its backward
 * reads. Modelled on inductor's fuse_attention.
 */
import { type GraphModule, type Node, tensorVal } from '@tessera/graph';
import {
  type Tensor,
  fakeFromMeta,
  contiguousStrides,
  scaledDotProductAttention,
} from '@tessera/tensor';
import { PatternMatcherPass } from './pattern/pattern-matcher-pass.js';
import { registerReplacement } from './pattern/replacement.js';
import type { Pass } from './pass.js';

type Attention = (query: Tensor, key: Tensor, value: Tensor, factor: number) => Tensor;

let matcher: PatternMatcherPass | null = null;

/** The pass. */
export const attentionFusion: Pass = {
  name: 'attention-fusion',
  // Patterns are traced when the first graph comes that may have one: tracing them takes longer than
  // compiling a small function.
  run: (module) => hasSoftmax(module) && (matcher ??= registered()).run(module),
};

function hasSoftmax({ graph }: GraphModule): boolean {
  for (const { target } of graph.nodes)
    if (typeof target === 'object' && target.schema.name.endsWith('softmax')) return true;
  return false;
}

function registered(): PatternMatcherPass {
  const passes = new PatternMatcherPass('attention-fusion');
  const heads = (): Tensor =>
    fakeFromMeta({
      sizes: [2, 4, 8, 16],
      strides: contiguousStrides([2, 4, 8, 16]),
      dtype: 'float32',
      device: 'cpu',
    });
  const register = (search: Attention, scaleOf: (factor: number) => number): void => {
    const replace: Attention = (query, key, value, factor) =>
      scaledDotProductAttention(query, key, value, { scale: scaleOf(factor) });
    registerReplacement(search, replace, [heads(), heads(), heads()], {
      passes,
      scalars: [EXAMPLE_FACTOR],
      extraCheck: ({ kwargs }) =>
        ['arg0', 'arg1', 'arg2'].every((name) => tensorVal(kwargs[name] as Node)?.ndim === 4),
    });
  };
  register(
    (query, key, value, factor) =>
      query.matmul(key.transpose(-2, -1)).mul(factor).softmax(-1).matmul(value),
    (factor) => factor,
  );
  register(
    (query, key, value, factor) =>
      query.matmul(key.transpose(-2, -1)).div(factor).softmax(-1).matmul(value),
    (factor) => 1 / factor,
  );
  return passes;
}

/** A number that occurs nowhere else in the searched functions. */
const EXAMPLE_FACTOR = 0.113377;
