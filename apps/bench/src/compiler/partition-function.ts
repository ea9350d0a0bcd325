/**
 * @file `PartitionFunction`: a function on which PyTorch's partitioners were measured, and its inputs.
 */
import { type Tensor, fromTypedArray } from '@tessera/tensor';
import type recorded from '../../data/torch-partition.json';

/** An input: a leaf of some shape, or something that takes no gradient. */
export type PartitionInput =
  readonly number[] | { readonly fixed: readonly number[] } | IndexInput | MaskInput;

/** Integers from 0 up to, not including, `below`. */
interface IndexInput {
  readonly indices: readonly number[];
  readonly below: number;
}

interface MaskInput {
  readonly mask: readonly number[];
}

/** A function and its inputs. */
export interface PartitionFunction {
  readonly name: keyof (typeof recorded)['functions'];
  readonly fn: (...inputs: Tensor[]) => Tensor;
  readonly inputs: readonly PartitionInput[];
}

/** Repeatable inputs; those given by their shape alone are leaves that require grad. */
export function leavesOf(sample: PartitionFunction): Tensor[] {
  return sample.inputs.map((input, k) => {
    if ('indices' in input)
      return filled(Int32Array, input.indices, (i) => (i * 7 + k) % input.below).to('int64');
    if ('mask' in input) return filled(Uint8Array, input.mask, (i) => Number(i % 3 === 0)).eq(1);
    if ('fixed' in input) return filled(Float32Array, input.fixed, (i) => wave(i, k));
    return filled(Float32Array, input, (i) => wave(i, k)).requiresGrad_();
  });
}

function wave(i: number, k: number): number {
  return Math.sin(i * 12.9898 + k * 7.7);
}

function filled(
  type: {
    from: (source: { length: number }, map: (_: unknown, i: number) => number) => TypedArray;
  },
  shape: readonly number[],
  value: (i: number) => number,
): Tensor {
  const length = shape.reduce((a, b) => a * b, 1);
  return fromTypedArray(
    type.from({ length }, (_, i) => value(i)),
    shape,
  );
}

type TypedArray = Float32Array | Int32Array | Uint8Array;
