/**
 * @file How many windows lie in the dimensions of a node's input: convolutions, pools and patches round quotients, and no
 * few samples say how.
 *
 * Windows are told by the names of an operator's parameters. What is said here is a proposal, as what is fitted is.
 */
import {
  type Size,
  sizeAdd,
  sizeCeilDiv,
  sizeFloorDiv,
  sizeMin,
  sizeProduct,
} from '@tessera/shared';
import { OpOverload } from '@tessera/tensor';
import { type Argument, Node } from '../node.js';

/** The sizes of a node's value, as expressions. */
type SizesOf = (node: Node) => readonly Size[] | null;

/** The last sizes of the values of a node that moves windows over its input; none for any other. */
export function windowSizes(node: Node, sizesOf: SizesOf): readonly Size[] {
  const { target, args } = node;
  if (!(target instanceof OpOverload)) return [];
  const at = (name: string): Argument => args[target.argIndex.get(name) ?? args.length];
  const input = args[0];
  const lists = ['stride', 'padding'].map((name) => at(name));
  if (!(input instanceof Node) || lists.includes(undefined) || at('transposed') === true) return [];
  if (at('grad_output') !== undefined) return [];
  const [weight, image] = [at('weight'), sizesOf(input)];
  const kernel = weight instanceof Node ? sizesOf(weight)?.slice(2) : at('kernel_size');
  if (!isNumbers(kernel) || image === null) return [];
  const rank = kernel.length;
  const perDimension = (name: string, otherwise: Argument): readonly number[] => {
    const list = [at(name) ?? otherwise].flat() as number[];
    return list.length === 1 ? Array<number>(rank).fill(list[0]!) : list;
  };
  const given = perDimension('stride', 1);
  const [stride, padding] = [given.length > 0 ? given : kernel, perDimension('padding', 0)];
  const dilation = perDimension('dilation', 1);
  const counts = kernel.map((length, d) => {
    const size = image.at(d - rank)!;
    const span = sizeAdd(size, 2 * padding[d]! - dilation[d]! * (length - 1) - 1);
    const last =
      at('ceil_mode') === true
        ? // The last window starts inside the input or its left padding.
          sizeMin(
            sizeCeilDiv(span, stride[d]!),
            sizeFloorDiv(sizeAdd(size, padding[d]! - 1), stride[d]!),
          )
        : sizeFloorDiv(span, stride[d]!);
    return sizeAdd(last, 1);
  });
  return target.schema.name === 'im2col' ? [sizeProduct(counts)] : counts;
}

function isNumbers(value: unknown): value is readonly number[] {
  return Array.isArray(value) && value.every((item) => typeof item === 'number');
}
