/**
 * @file What follows a product joins it: `c + α · (a @ b)` becomes `addmm`, `c + bmm(a, b)` becomes `baddbmm`.
 */
import { emitOp, tensorVal } from '@tessera/graph';
import { broadcastShapes, isFloatingPoint } from '@tessera/tensor';
import { getOp, sameNumbers } from '@tessera/tensor/internal';
import type { Match } from './pattern/match.js';
import { PatternMatcherPass, registerGraphPattern } from './pattern/pattern-matcher-pass.js';
import { CallFunction, KeywordArg, type Pattern } from './pattern/pattern.js';

/** The pass. */
export const matmulEpilogue: PatternMatcherPass = new PatternMatcherPass('matmul-epilogue');

const operands = (): [Pattern, Pattern] => [KeywordArg('a'), KeywordArg('b')];

register(
  () =>
    CallFunction('aten::mul.Tensor', CallFunction('aten::mm', ...operands()), KeywordArg('alpha')),
  'aten::addmm',
);
register(() => CallFunction('aten::bmm', ...operands()), 'aten::baddbmm');

/** `c + product` in both orders. */
function register(product: () => Pattern, op: string): void {
  const c = KeywordArg('c');
  for (const pattern of [
    CallFunction('aten::add.Tensor', product(), c),
    CallFunction('aten::add.Tensor', c, product()),
  ])
    registerGraphPattern(pattern, (match) => fuse(match, op), {
      passes: matmulEpilogue,
      extraCheck: isFusible,
    });
}

function isFusible({ kwargs, output }: Match): boolean {
  const { a, b, c, alpha = 1 } = kwargs;
  if (typeof alpha !== 'number') return false;
  const values = [a, b, c].map(tensorVal);
  const [left, right, added] = values;
  const result = tensorVal(output);
  if (!result || !left || !right || !added) return false;
  if (values.some((value) => value!.dtype !== result.dtype)) return false;
  const shape = [...left.sizes.slice(0, -1), right.sizes.at(-1)!];
  return (
    isFloatingPoint(result.dtype) &&
    // Of 16-bit floats a product is rounded before something is added to it, in `addmm` it is not.
    !result.dtype.endsWith('16') &&
    // A sum takes the layout of its operands, of a transposed `c` say; views recorded of it would misread a product.
    result.isContiguous() &&
    added.ndim <= shape.length &&
    sameNumbers(broadcastShapes([added.sizes, shape]), shape)
  );
}

function fuse(match: Match, op: string): void {
  const { graph, output, kwargs } = match;
  const { a, b, c, alpha = 1 } = kwargs;
  const { val: _, ...origin } = output.meta;
  const made = graph.insertingBefore(output, () =>
    emitOp(graph, getOp(op), [c, a, b, 1, alpha], origin),
  );
  output.replaceAllUsesWith(made);
  match.eraseNodes();
}
