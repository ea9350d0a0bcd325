/**
 * @file Which outputs of a resizing may read an input element: where its gradient is gathered from.
 *
 * The position of output `o` among the input elements is `(o + before) · ratio - shift`, and it reads the elements from
 * `first` to `last` beyond the one at or before that. With S = 1 / ratio, input element `i` is read by the outputs from
 * `(i - last + shift) · S - before` to `(i - first + 1 + shift) · S - before`.
 */
import { type Size, sizeAdd, sizeCeilDiv, sizeFloorDiv, sizeMax, sizeMul } from '@tessera/shared';
import { fractionOf } from '@tessera/graph';
import type { DType } from '@tessera/tensor';
import { type ResizeInterpolation, upsampleTaps } from '@tessera/tensor/internal';
import type { Lowering } from '../lowering.js';
import { fixedShape, isLarger, isNumbers, isSame } from '../shape-math.js';
import { type Axis, reach } from './resample.js';
import { type SizedResize, wholeQuotient } from './resize-ratio.js';

/** How elements between input elements are made. */
export type Kind = Exclude<ResizeInterpolation, 'linear-antialiased' | 'cubic-antialiased'>;

/** Which elements another one has to do with. */
export type Readers = ReturnType<Axis['readers']>;

/** What outputs read, from the one at or before their position. */
const READS: Readonly<Record<Kind, { readonly first: number; readonly last: number }>> = {
  nearest: { first: 0, last: 0 },
  'nearest-exact': { first: 0, last: 0 },
  linear: { first: 0, last: 1 },
  cubic: { first: -1, last: 2 },
};

/** Elements that show what outputs read where one size is a multiple of the other. */
const SAMPLE = 8;

/** See `Axis.readers`. */
export function readersOf(l: Lowering, kind: Kind, resize: SizedResize, dtype: DType): Readers {
  const { input, output, alignCorners, scale } = resize;
  const sizes = [input, output];
  const numbers = isNumbers(sizes) ? sizes : sampleOf(resize);
  if (numbers === null) return boundedReaders(l, kind, resize);
  const [from, to] = numbers;
  const table = upsampleTaps(kind, { input: from, output: to, alignCorners, scale }, dtype);
  const { before, count } = reach({ input: from, output: to, table }, true);
  // Positions that are rounded may let one more output read an element, at either end.
  const more = numbers === sizes || Number.isInteger(Math.log2(to / from)) ? 0 : 1;
  return readers(l, [output, input], before + more, count + 2 * more);
}

export function readers(
  l: Lowering,
  [numerator, denominator]: readonly [Size, Size],
  before: Size,
  count: Size,
): Readers {
  return {
    first: (i) => l.ir.sub(l.ir.div(l.ir.scale(i, numerator), denominator), l.ir.size(before)),
    count,
  };
}

/** Small sizes at which outputs read what they do at all sizes; null where there are none. */
function sampleOf({ input, output, alignCorners, scale }: SizedResize): readonly number[] | null {
  const [times, parts] = [wholeQuotient(output, input), wholeQuotient(input, output)];
  const [from, to] = [SAMPLE * Math.max(parts, 1), SAMPLE * Math.max(times, 1)];
  const isWhole = times + parts > 0 && (scale === null || scale === to / from);
  return isWhole && !alignCorners ? [from, to] : null;
}

/** Of sizes that say no more than their quotient: as many outputs as the formulas of the file header allow. */
function boundedReaders(l: Lowering, kind: Kind, resize: SizedResize): Readers {
  const isHalf = !resize.alignCorners && kind !== 'nearest';
  const [before, shift] = [isHalf ? 1 : 0, isHalf && kind !== 'nearest-exact' ? 1 : 0];
  const { first, last } = READS[kind];
  return boundedBy(
    l,
    outputsPerInput(resize),
    resize.output,
    [2 * last - shift, before],
    [2 * (1 - first) + shift, -before],
  );
}

/** How far elements are away from `t · S`, as `(a · S + b) / 2`. */
type Distance = readonly [a: number, b: number];

/** The elements from `behind` before `t · S` to `ahead` after it, where S is a quotient; of `all` of them if there is none. */
export function boundedBy(
  l: Lowering,
  [numerator, denominator]: readonly [Size, Size],
  all: Size,
  behind: Distance,
  ahead: Distance,
): Readers {
  // All of them are at the first element.
  if (numerator === 0 || denominator === 0) return readers(l, [0, 1], 0, all);
  // As many where S is less than 1 as where it is 1: no guard says which it is.
  const most = sizeMax(numerator, denominator);
  const whole = ([a, b]: Distance): Size =>
    sizeCeilDiv(sizeAdd(sizeMul(most, a), sizeMul(denominator, b)), sizeMul(denominator, 2));
  const count = sizeAdd(sizeAdd(whole(ahead), whole(behind)), 2);
  return readers(l, [numerator, denominator], whole(behind), count);
}

/** S as a quotient. */
export function outputsPerInput({
  input,
  output,
  alignCorners,
  scale,
}: SizedResize): readonly [Size, Size] {
  if (alignCorners) return isLarger(output, 1) ? [sizeAdd(output, -1), sizeAdd(input, -1)] : [0, 1];
  if (scale === null || !(scale > 0)) return [output, input];
  const fraction = fractionOf(scale);
  if (fraction !== null && isSame(output, sizeFloorDiv(sizeMul(input, fraction[0]), fraction[1])))
    return fraction;
  const [from, to] = fixedShape([input, output]);
  return [to!, from!];
}
