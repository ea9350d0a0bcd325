/**
 * @file How many windows lie in the dimensions of a node's input: convolutions, pools and patches round quotients, and few
 * samples do not say how.
 *
 * Windows are told by the names of an operator's parameters. What is said here is a proposal, as what is fitted is.
 */
import { type Size, sizeAdd, sizeFloorDiv, sizeMin, sizeProduct } from '@tessera/shared';
import { OpOverload } from '@tessera/tensor';
import { type Argument, Node } from '../node.js';

/** The sizes of a node's value, as expressions. */
type SizesOf = (node: Node) => readonly Size[] | undefined;

/** What the last sizes of a node's values may be if it moves windows over its input; none if it does not. */
export function windowSizes({ target, args }: Node, sizesOf: SizesOf): readonly Size[] {
  if (!(target instanceof OpOverload && target.argIndex.has('padding'))) return [];
  const at = (name: string): Argument => args[target.argIndex.get(name) ?? -1];
  const [image, weight] = [args[0], at('weight')].map((node) =>
    node instanceof Node ? sizesOf(node) : undefined,
  );
  const kernel = weight?.slice(2) ?? at('kernel_size');
  if (image === undefined || !isNumbers(kernel)) return [];
  const counts = kernel.map((length, d) => {
    const of = (name: string, otherwise: number): number => {
      const list = at(name) as readonly number[] | undefined;
      return list?.[d] ?? list?.[0] ?? otherwise;
    };
    const [stride, padding] = [of('stride', length), of('padding', 0)];
    const padded = sizeAdd(image.at(d - kernel.length) ?? 0, padding);
    const span = sizeAdd(padded, padding - 1 - (length - 1) * of('dilation', 1));
    const isCeil = at('ceil_mode') === true;
    const last = sizeFloorDiv(isCeil ? sizeAdd(span, stride - 1) : span, stride);
    // Rounded up, the last window starts inside the input or its left padding.
    const most = isCeil ? sizeMin(last, sizeFloorDiv(sizeAdd(padded, -1), stride)) : last;
    return sizeAdd(most, 1);
  });
  return target.schema.name === 'im2col' ? [sizeProduct(counts)] : counts;
}

function isNumbers(value: unknown): value is readonly number[] {
  return Array.isArray(value) && value.every((item) => typeof item === 'number');
}
