/**
 * @file What the sizes of resized images are where factors are given: products that are rounded down.
 *
 * Factors are told by the names of an operator's parameters. What is said here is a proposal, as what is fitted is.
 */
import { type Size, sizeFloorDiv, sizeMul } from '@tessera/shared';
import { OpOverload } from '@tessera/tensor';
import { Node } from '../ir/node.js';

/** Largest denominator of a factor that is taken for a fraction. */
const MOST_PARTS = 64;

/** How often a factor is taken, of a size in so many parts; null for one that is no simple fraction. */
export function fractionOf(factor: number): readonly [times: number, parts: number] | null {
  for (let parts = 1; parts <= MOST_PARTS; parts++)
    if (Number.isInteger(factor * parts)) return [factor * parts, parts];
  return null;
}

/** What the last sizes of a node's value may be if it resizes its input by factors; none if it does not. */
export function scaledSizes(
  { target, args }: Node,
  sizesOf: (node: Node) => readonly Size[] | undefined,
): readonly Size[] {
  if (!(target instanceof OpOverload)) return [];
  const factors = target.schema.args.flatMap(({ name }, i) =>
    name.startsWith('scales') ? [args[i]] : [],
  );
  const [input] = args;
  const sizes = input instanceof Node && factors.length > 0 ? sizesOf(input) : undefined;
  if (sizes === undefined) return [];
  return factors.map((factor, i) => {
    const size = sizes.at(i - factors.length)!;
    const fraction = typeof factor === 'number' ? fractionOf(factor) : null;
    return fraction === null ? size : sizeFloorDiv(sizeMul(size, fraction[0]), fraction[1]);
  });
}
