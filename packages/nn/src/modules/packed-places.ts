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
  /** Places that were asked for: all layers of a network share them. */
  private readonly made = new Map<string, Tensor>();

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
    const rows = index(
      data,
      this.places(`rows ${reverse}`, this.sizes, (places) => {
        // What lies behind the end of a sequence is replaced. Its rows differ, as gradients are added to them.
        for (let i = 0; i < places.length; i++) places[i] = i % this.total;
        forEachStep(this.batchSizes, (row, t, n) => (places[this.place(t, n, reverse)] = row));
      }),
    );
    let exists = this.exists;
    while (exists.ndim < rows.ndim) exists = unsqueeze(exists, -1);
    const { dtype, device } = data;
    return where(exists, rows, full([], filler, { dtype, device }));
  }

  /** The steps of [T, N, …] as packed data: undoes `padded`. */
  packed(padded: Tensor, reverse: boolean): Tensor {
    const places = this.places(`steps ${reverse}`, [this.total], (to) =>
      forEachStep(this.batchSizes, (row, t, n) => (to[row] = this.place(t, n, reverse))),
    );
    return index(flatten(padded, 0, 1), places);
  }

  /** The last step of each sequence of [T, N, …], [N, …]. */
  last(padded: Tensor): Tensor {
    const places = this.places('last', [this.lengths.length], (to) =>
      this.lengths.forEach((length, n) => (to[n] = this.place(length - 1, n, false))),
    );
    return index(flatten(padded, 0, 1), places);
  }

  private places(key: string, sizes: number[], fill: (places: Int32Array) => void): Tensor {
    let places = this.made.get(key);
    if (places === undefined) {
      const numbers = new Int32Array(sizes.reduce((all, size) => all * size, 1));
      fill(numbers);
      this.made.set(key, (places = placesTensor(numbers, sizes, this.device)));
    }
    return places;
  }

  private place(t: number, n: number, reverse: boolean): number {
    return (reverse ? this.lengths[n]! - 1 - t : t) * this.lengths.length + n;
  }
}
