/**
 * @file Attention written out in a captured graph, before it is differentiated: `softmax(q kᵀ · c) v` becomes the
 * operator for it, whose backward computes the weights again instead of saving all of them.
 *
 * Only where nobody else reads scores or weights, in float32 and without a mask: where a mask hides a whole row
 * the gradients of a softmax are NaN and those of the operator are not. An operator that keeps them NaN would be
 * exact, but computing weights again saves memory, not time (heads of [256, 64] train in 0.75 to 0.9 of the time
 * with saved weights), and PyTorch saves the weights of masked attention too. On joint graphs, where weights may
 * be read by backward, see attention.ts. A program that has the operator nowhere (a page whose device has no kernels
 * for it) computes what it wrote. Modelled on the training patterns of inductor's fuse_attention.
 */
import { type Argument, Node, emitOp, tensorVal } from '@tessera/graph';
import type { OpOverload } from '@tessera/tensor';
import { findOp, getOp, sameNumbers } from '@tessera/tensor/internal';
import type { Match } from './pattern/match.js';
import { PatternMatcherPass, registerGraphPattern } from './pattern/pattern-matcher-pass.js';
import { CallFunction, KeywordArg, type Pattern } from './pattern/pattern.js';

/** The pass. */
export const capturedAttention: PatternMatcherPass = new PatternMatcherPass('captured-attention');

const products = (): Pattern =>
  CallFunction('aten::matmul', KeywordArg('query'), KeywordArg('turned'));

/** Scores as they enter the softmax, and the factor that their scaling is. */
const SCORES: readonly {
  readonly pattern: () => Pattern;
  readonly factor: (by: number) => number;
}[] = [
  { pattern: products, factor: () => 1 },
  {
    pattern: () => CallFunction('aten::mul.Tensor', products(), KeywordArg('by')),
    factor: (by) => by,
  },
  {
    pattern: () => CallFunction('aten::div.Tensor', products(), KeywordArg('by')),
    factor: (by) => 1 / by,
  },
];

for (const { pattern, factor } of SCORES)
  registerGraphPattern(
    CallFunction(
      'aten::matmul',
      CallFunction('aten::softmax.int', pattern(), KeywordArg('dim')),
      KeywordArg('value'),
    ),
    (match) => fuse(match, factor(typeof match.kwargs.by === 'number' ? match.kwargs.by : 1)),
    { passes: capturedAttention, extraCheck: isAttention },
  );

/** The operator, where the program has it. */
const attention = (): OpOverload | undefined => findOp('aten::scaled_dot_product_attention');

function isAttention({ kwargs, output }: Match): boolean {
  const { query, turned, value, dim, by = 1 } = kwargs;
  if (attention() === undefined || typeof by !== 'number' || (dim !== -1 && dim !== 3))
    return false;
  const key = keyOf(turned);
  if (key === null) return false;
  const vals = [query, key, value, output].map(tensorVal);
  const [q, k, v] = vals;
  if (!q || !k || !v || vals.some((val) => val?.ndim !== 4 || val.dtype !== 'float32'))
    return false;
  const heads = q.sizes.slice(0, 2);
  return (
    [k, v].every((val) => sameNumbers(val.sizes.slice(0, 2), heads)) &&
    q.sizes[3] === v.sizes[3] &&
    [q, k, v].every((val) => val.sizes.every((size) => size > 0))
  );
}

/** What a value is the transpose of; null for others. */
function keyOf(turned: Argument): Node | null {
  if (!(turned instanceof Node) || turned.target !== getOp('aten::transpose.int')) return null;
  const dims = [1, 2].map((at) => (turned.number(at) + 4) % 4).sort((x, y) => x - y);
  return dims[0] === 2 && dims[1] === 3 ? turned.input() : null;
}

function fuse(match: Match, scale: number): void {
  const { graph, output, kwargs } = match;
  const { query, turned: view, value } = kwargs;
  const { val: _, ...origin } = output.meta;
  const args = [query, keyOf(view), value, null, 0, false, scale, false];
  const made = graph.insertingBefore(output, () => emitOp(graph, attention()!, args, origin));
  output.replaceAllUsesWith(made);
  match.eraseNodes();
  if (view instanceof Node && view.users.size === 0) graph.eraseNode(view);
}
