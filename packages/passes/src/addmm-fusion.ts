/**
 * @file Sums of a product and a bias become `addmm`, also where a view stands between them (a linear layer
 * on more than two dimensions).
 */
import { tensorVal } from '@tessera/graph';
import { broadcastShapes } from '@tessera/tensor';
import { getOp, sameNumbers } from '@tessera/tensor/internal';
import { emitOp } from '@tessera/graph';
import type { Match } from './pattern/match.js';
import { PatternMatcherPass, registerGraphPattern } from './pattern/pattern-matcher-pass.js';
import { CallFunction, KeywordArg, type Pattern } from './pattern/pattern.js';

/** The pass. */
export const addmmFusion: PatternMatcherPass = new PatternMatcherPass('addmm-fusion');

const product = (): Pattern => CallFunction('aten::mm', KeywordArg('a'), KeywordArg('b'));
const viewed = (): Pattern => CallFunction('aten::view', product(), KeywordArg('sizes'));

for (const term of [product, viewed]) {
  const bias = KeywordArg('bias');
  for (const pattern of [
    CallFunction('aten::add.Tensor', term(), bias),
    CallFunction('aten::add.Tensor', bias, term()),
  ])
    registerGraphPattern(pattern, fuse, { passes: addmmFusion, extraCheck: isFusible });
}

function isFusible(match: Match): boolean {
  const { a, b, bias, sizes } = match.kwargs;
  const values = [a, b, bias].map(tensorVal);
  const [left, right, added] = values;
  const result = tensorVal(match.output);
  if (!result || !left || !right || !added) return false;
  // Of 16-bit floats a product is rounded before something is added to it, in `addmm` it is not.
  if (result.dtype.endsWith('16')) return false;
  // A sum takes the layout of its operands, of a transposed bias say; views recorded of it would misread a product.
  if (values.some((value) => value!.dtype !== result.dtype) || !result.isContiguous()) return false;
  const shape = [left.sizes[0]!, right.sizes[1]!];
  // Behind a view only what varies along the last dimension stays what it is.
  if (sizes !== undefined)
    return (
      added.ndim === 1 &&
      [shape[1], 1].includes(added.sizes[0]) &&
      result.sizes.at(-1) === shape[1] &&
      sameNumbers(result.sizes, sizes as readonly number[])
    );
  return added.ndim <= 2 && sameNumbers(broadcastShapes([added.sizes, shape]), shape);
}

function fuse(match: Match): void {
  const { graph, output, kwargs } = match;
  const args = [kwargs.bias, kwargs.a, kwargs.b, 1, 1];
  const { val: _, ...origin } = output.meta;
  const made = graph.insertingBefore(output, () => {
    const sum = emitOp(graph, getOp('aten::addmm'), args, origin);
    return kwargs.sizes === undefined
      ? sum
      : emitOp(graph, getOp('aten::view'), [sum, kwargs.sizes], origin);
  });
  output.replaceAllUsesWith(made);
  match.eraseNodes();
}
