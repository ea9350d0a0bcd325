/**
 * @file Packed sequences: sequences of different lengths without padding, step by step.
 *
 * The steps of all sequences lie one after another in `data`, longest sequence first: `batchSizes[t]` sequences
 * have a step t. A packed sequence is a plain record, so it goes in and out of compiled functions. Modelled on
 * `torch.nn.utils.rnn`.
 */
import { TesseraError, type OptionNames, checkOptionNames } from '@tessera/shared';
import { type Tensor, cat, flatten, full, index, isTensor, stack, tensor } from '@tessera/tensor';
import { formatSizes, readList, checkTensors } from '@tessera/tensor/internal';
import { PackedPlaces, forEachStep, placesTensor, sortedLengths } from './packed-places.js';

/** See the file header. */
export interface PackedSequence {
  /** [sum of lengths, …] */
  readonly data: Tensor;
  /** Sequences that have a step t, falling. */
  readonly batchSizes: readonly number[];
  /** Which given sequence is at a place of the order by length, [N]; null if they were given in it. */
  readonly sortedIndices: Tensor | null;
  /** At which place a given sequence is, [N]; null if they were given in order. */
  readonly unsortedIndices: Tensor | null;
}

/** What `unsortedIndices` hold, which need not be read where they were made here. */
const GIVEN_ORDER = new WeakMap<Tensor, readonly number[]>();

/** Options of packing. */
export interface PackOptions {
  /** Whether sequences are [N, T, …] instead of [T, N, …] (default false). */
  readonly batchFirst?: boolean;
  /** Whether lengths must be falling; without, sequences are sorted (default true). */
  readonly enforceSorted?: boolean;
}

const PACK: OptionNames<PackOptions> = { batchFirst: true, enforceSorted: true };
const PAD: OptionNames<PadOptions> = { batchFirst: true, paddingValue: true };
const PAD_PACKED: OptionNames<PadPackedOptions> = { ...PAD, totalLength: true };
const UNPAD: OptionNames<{ batchFirst: boolean }> = { batchFirst: true };

function invalid(message: string, hint: string): TesseraError {
  return new TesseraError('invalid-argument', message, { hints: [hint] });
}

/** Whether a value is a packed sequence. */
export function isPackedSequence(value: unknown): value is PackedSequence {
  return typeof value === 'object' && value !== null && !isTensor(value) && 'batchSizes' in value;
}

/** @throws invalid-argument */
function lengthList(lengths: readonly number[] | Tensor): number[] {
  const given = isTensor(lengths) ? lengths.toArray() : lengths;
  if (typeof given !== 'object' || given === null || !(Symbol.iterator in given))
    throw invalid(
      `Lengths must be a list of numbers, one for each sequence, not ${String(given)}.`,
      'Write packPaddedSequence(x, [3, 2]).',
    );
  const list = Array.from(given, Number);
  if (list.length > 0 && list.every((length) => Number.isInteger(length) && length > 0))
    return list;
  throw invalid(
    `Length of all samples has to be greater than 0, but found [${list.join(', ')}].`,
    'Give one whole number for each sequence.',
  );
}

/** Packs [T, N, …] of these lengths. @throws invalid-argument, shape-mismatch @see torch.nn.utils.rnn.pack_padded_sequence */
export function packPaddedSequence(
  input: Tensor,
  lengths: readonly number[] | Tensor,
  options: PackOptions = {},
): PackedSequence {
  checkOptionNames('packPaddedSequence', options, PACK);
  const { batchFirst = false, enforceSorted = true } = options;
  const given = lengthList(lengths);
  const order = given.map((_, i) => i);
  if (!enforceSorted) order.sort((a, b) => given[b]! - given[a]! || a - b);
  const sorted = order.map((i) => given[i]!);
  if (sorted.some((length, i) => i > 0 && length > sorted[i - 1]!))
    throw invalid(
      '`lengths` array must be sorted in decreasing order when `enforceSorted` is true.',
      'Pass enforceSorted: false.',
    );
  const [time, batch] = batchFirst ? [input.sizes[1], input.sizes[0]] : input.sizes;
  if (batch !== given.length || sorted[0]! > time!)
    throw new TesseraError(
      'shape-mismatch',
      `Expected \`len(lengths)\` to be equal to batch_size (${batch}) and lengths of at most ${time}, but got [${given.join(', ')}] for an input of shape ${formatSizes(input.sizes)}.`,
      { hints: ['The input is [T, N, …], or [N, T, …] with batchFirst.'] },
    );
  const { device } = input;
  const batchSizes = Array.from(
    { length: sorted[0]! },
    (_, t) => sorted.filter((length) => length > t).length,
  );
  const rows = new Int32Array(sorted.reduce((sum, length) => sum + length, 0));
  forEachStep(batchSizes, (row, t, n) => {
    rows[row] = batchFirst ? order[n]! * time! + t : t * batch! + order[n]!;
  });
  const data = index(flatten(input, 0, 1), placesTensor(rows, [rows.length], device));
  if (enforceSorted) return { data, batchSizes, sortedIndices: null, unsortedIndices: null };
  const places = order.map((_, i) => order.indexOf(i));
  const [sortedIndices, unsortedIndices] = [order, places].map((list) =>
    tensor(list, { dtype: 'int64', device }),
  );
  GIVEN_ORDER.set(unsortedIndices, places);
  return { data, batchSizes, sortedIndices, unsortedIndices };
}

/** Options of padding. */
export interface PadOptions {
  /** Whether the result is [N, T, …] instead of [T, N, …] (default false). */
  readonly batchFirst?: boolean;
  /** What stands after the end of a sequence (default 0). */
  readonly paddingValue?: number;
}

/** Options of `padPackedSequence`. */
export interface PadPackedOptions extends PadOptions {
  /** Steps of the result, where more than the longest sequence has. */
  readonly totalLength?: number | null;
}

/** Undoes `packPaddedSequence`: [T, N, …] and the lengths. @throws invalid-argument @see torch.nn.utils.rnn.pad_packed_sequence */
export function padPackedSequence(
  sequence: PackedSequence,
  options: PadPackedOptions = {},
): [padded: Tensor, lengths: number[]] {
  checkOptionNames('padPackedSequence', options, PAD_PACKED);
  if (!isPackedSequence(sequence))
    throw invalid('It takes a packed sequence.', 'Make one: packPaddedSequence(x, [3, 2]).');
  const { batchFirst = false, paddingValue = 0, totalLength = null } = options;
  const { data, batchSizes, unsortedIndices } = sequence;
  const steps = totalLength ?? batchSizes.length;
  if (steps < batchSizes.length)
    throw invalid(
      `Expected total_length to be at least the length of the longest sequence in input, but got total_length=${steps} and max sequence length being ${batchSizes.length}`,
      'Leave totalLength out.',
    );
  const padded = new PackedPlaces(batchSizes, data.device, steps).padded(data, paddingValue);
  const ordered = unsortedIndices === null ? padded : padded.indexSelect(1, unsortedIndices);
  const lengths = sortedLengths(batchSizes);
  const places =
    unsortedIndices === null
      ? null
      : (GIVEN_ORDER.get(unsortedIndices) ?? readList(unsortedIndices));
  return [
    batchFirst ? ordered.transpose(0, 1) : ordered,
    places === null ? lengths : places.map((place) => lengths[place]!),
  ];
}

/** Sequences [T_i, …] as one tensor [T, N, …]. @throws invalid-argument @see torch.nn.utils.rnn.pad_sequence */
export function padSequence(sequences: readonly Tensor[], options: PadOptions = {}): Tensor {
  checkOptionNames('padSequence', options, PAD);
  const { batchFirst = false, paddingValue = 0 } = options;
  if (!Array.isArray(sequences) || !sequences.every(isTensor))
    throw invalid(
      'padSequence: sequences must be a list of tensors.',
      'Write padSequence([a, b]); unbind() takes a tensor apart.',
    );
  if (sequences.length === 0)
    throw invalid('padSequence: received an empty list of sequences.', 'Give at least one.');
  const longest = Math.max(...sequences.map((sequence) => sequence.size(0)));
  const padded = sequences.map((sequence) => {
    const { dtype, device, sizes } = sequence;
    const missing = longest - sizes[0]!;
    if (missing === 0) return sequence;
    const filler = full([missing, ...sizes.slice(1)], paddingValue, { dtype, device });
    return cat([sequence, filler], 0);
  });
  return stack(padded, batchFirst ? 0 : 1);
}

/** The sequences of a padded tensor [T, N, …]. @throws invalid-argument @see torch.nn.utils.rnn.unpad_sequence */
export function unpadSequence(
  padded: Tensor,
  lengths: readonly number[] | Tensor,
  options: { readonly batchFirst?: boolean } = {},
): Tensor[] {
  checkOptionNames('unpadSequence', options, UNPAD);
  checkTensors('unpadSequence', { padded });
  const rows = options.batchFirst === true ? padded : padded.transpose(0, 1);
  return lengthList(lengths).map((length, i) => rows.select(0, i).narrow(0, 0, length));
}

/** Packs sequences [T_i, …]. @throws invalid-argument @see torch.nn.utils.rnn.pack_sequence */
export function packSequence(
  sequences: readonly Tensor[],
  options: { readonly enforceSorted?: boolean } = {},
): PackedSequence {
  const padded = padSequence(sequences);
  return packPaddedSequence(
    padded,
    sequences.map((sequence) => sequence.size(0)),
    options,
  );
}

/** Undoes `packSequence`. @see torch.nn.utils.rnn.unpack_sequence */
export function unpackSequence(sequence: PackedSequence): Tensor[] {
  const [padded, lengths] = padPackedSequence(sequence);
  return unpadSequence(padded, lengths);
}
