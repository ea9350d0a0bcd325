/**
 * @file Where the steps of packed sequences lie in a padded tensor [T, N, …], and the other way round.
 *
 * The places are tensors, so code is the same for all lengths: a compiled function takes them as inputs.
 */
import {
  type DeviceType,
  type Tensor,
  flatten,
  fromTypedArray,
  full,
  index,
  unsqueeze,
  where,
} from '@tessera/tensor';

/** Lengths of the sequences, longest first. */
export function sortedLengths(batchSizes: readonly number[]): number[] {
  const lengths = new Array<number>(batchSizes[0] ?? 0).fill(0);
  for (const size of batchSizes) for (let n = 0; n < size; n++) lengths[n]!++;
  return lengths;
}

/** Numbers as a tensor of places. */
export function placesTensor(
  places: Int32Array,
  sizes: readonly number[],
  device: DeviceType,
): Tensor {
  return fromTypedArray(places, sizes, { dtype: 'int32', device });
}

/** Calls back with every step `t` of every sequence `n`, in the order of packed data. */
export function forEachStep(
  batchSizes: readonly number[],
  visit: (row: number, t: number, n: number) => void,
): void {
  let row = 0;
  for (const [t, size] of batchSizes.entries()) for (let n = 0; n < size; n++) visit(row++, t, n);
}

/** See the file header. `steps` may be more than the longest sequence has. */
export class PackedPlaces {
  private readonly lengths: readonly number[];
  private readonly total: number;
  /** Whether a sequence has a step, [T, N]. */
  private readonly exists: Tensor;

  constructor(
    private readonly batchSizes: readonly number[],
    private readonly device: DeviceType,
    private readonly steps: number = batchSizes.length,
  ) {
    this.lengths = sortedLengths(batchSizes);
    this.total = this.lengths.reduce((sum, length) => sum + length, 0);
    const exists = new Uint8Array(steps * this.lengths.length);
    forEachStep(batchSizes, (_, t, n) => (exists[t * this.lengths.length + n] = 1));
    this.exists = fromTypedArray(exists, this.sizes, { dtype: 'bool', device });
  }

  private get sizes(): [steps: number, sequences: number] {
    return [this.steps, this.lengths.length];
  }

  /** Packed data as [T, N, …], each sequence from its first step on, or from its last. */
  padded(data: Tensor, filler: number, reverse = false): Tensor {
    // What lies behind the end of a sequence is replaced. Its rows differ, as gradients are added to them.
    const places = new Int32Array(this.exists.numel).map((_, i) => i % this.total);
    forEachStep(this.batchSizes, (row, t, n) => (places[this.place(t, n, reverse)] = row));
    const rows = index(data, placesTensor(places, this.sizes, this.device));
    let exists = this.exists;
    while (exists.ndim < rows.ndim) exists = unsqueeze(exists, -1);
    const { dtype, device } = data;
    return where(exists, rows, full([], filler, { dtype, device }));
  }

  /** The steps of [T, N, …] as packed data: undoes `padded`. */
  packed(padded: Tensor, reverse: boolean): Tensor {
    const places = new Int32Array(this.total);
    forEachStep(this.batchSizes, (row, t, n) => (places[row] = this.place(t, n, reverse)));
    return this.taken(padded, places);
  }

  /** The last step of each sequence of [T, N, …], [N, …]. */
  last(padded: Tensor): Tensor {
    return this.taken(
      padded,
      Int32Array.from(this.lengths, (length, n) => this.place(length - 1, n, false)),
    );
  }

  private taken(padded: Tensor, places: Int32Array): Tensor {
    return index(flatten(padded, 0, 1), placesTensor(places, [places.length], this.device));
  }

  private place(t: number, n: number, reverse: boolean): number {
    return (reverse ? this.lengths[n]! - 1 - t : t) * this.lengths.length + n;
  }
}
