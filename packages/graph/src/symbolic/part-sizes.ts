/**
 * @file How large the parts of a dimension are that is cut into a number of them: a quotient that is rounded up, and what is
 * left for the last. Few samples do not say how it is rounded. The sizes of parts that are joined again are added up.
 *
 * What is said here is a proposal, as what is fitted is.
 */
import { type Size, sizeAdd, sizeFloorDiv, sizeMul, sizeSub } from '@tessera/shared';
import { OpOverload } from '@tessera/tensor';
import type { Node } from '../ir/node.js';
import { tensorVals } from '../ir/value-meta.js';

type SizesOf = (node: Node) => readonly Size[] | undefined;

/** What the sizes of one of a node's values may be if it is a part of its input, or several joined; else none. */
export function partSizes(node: Node, part: number, sizesOf: SizesOf): readonly Size[] {
  if (!(node.target instanceof OpOverload)) return [];
  switch (node.target.qualifiedName) {
    case 'aten::split.Tensor':
      return split(node, part, sizesOf);
    case 'aten::cat':
      return joined(node, sizesOf);
    default:
      return [];
  }
}

function split(node: Node, part: number, sizesOf: SizesOf): readonly Size[] {
  const dim = node.number(2);
  const sizes = sizesOf(node.input());
  const whole = sizes?.at(dim);
  if (whole === undefined) return [];
  const parts = tensorVals(node).length;
  const first = sizeFloorDiv(sizeAdd(whole, parts - 1), parts);
  const own = part < parts - 1 ? first : sizeSub(whole, sizeMul(first, parts - 1));
  return sizes!.with(dim, own);
}

function joined(node: Node, sizesOf: SizesOf): readonly Size[] {
  const dim = node.number(1);
  const all = node.inputList().map(sizesOf);
  const [first] = all;
  if (first?.at(dim) === undefined) return [];
  const whole = all.reduce((sum: Size, sizes) => sizeAdd(sum, sizes?.at(dim) ?? 0), 0);
  return first.with(dim, whole);
}
