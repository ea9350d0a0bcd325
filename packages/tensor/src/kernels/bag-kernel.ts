/**
 * @file Reference kernels of embedding bags: rows of a table, combined bag by bag.
 */
import type { Tensor } from '../tensor.js';
import { strictIndex } from './coordinates.js';
import { floatsInPlace, readNumbers, writeNumbers } from './elements.js';

/** How the rows of a bag are combined, as ATen numbers it. */
export const BAG_MODES = { sum: 0, mean: 1, max: 2 } as const;

/** What forward and backward have in common. */
interface BagArgs {
  readonly indices: Tensor;
  readonly offsets: Tensor;
  readonly mode: number;
  readonly padding_idx: number;
}

/** Arguments of `_embedding_bag`. */
export interface BagForwardArgs extends BagArgs {
  readonly weight: Tensor;
  readonly per_sample_weights: Tensor | null;
  readonly include_last_offset: boolean;
}

/** Arguments of `_embedding_bag_backward`. */
export interface BagBackwardArgs extends BagArgs {
  readonly grad: Tensor;
  readonly offset2bag: Tensor;
  readonly bag_size: Tensor;
  readonly maximum_indices: Tensor;
  readonly num_weights: number;
  readonly scale_grad_by_freq: boolean;
  readonly per_sample_weights: Tensor | null;
}

/** Arguments of `_embedding_bag_per_sample_weights_backward`. */
export interface SampleWeightsArgs extends BagArgs {
  readonly grad: Tensor;
  readonly weight: Tensor;
  readonly offset2bag: Tensor;
}

/** Number of bags: the last offset may be the end of the last one. */
export function bagCount({
  offsets,
  include_last_offset,
}: Pick<BagForwardArgs, 'offsets' | 'include_last_offset'>): number {
  return offsets.numel - (include_last_offset ? 1 : 0);
}

/** The bag of each index. @throws index-out-of-range for an offset that is no place among the indices, or a first that is not 0 */
export function bagOfEach(offsets: Tensor, bags: number, count: number): Int32Array {
  const starts = readNumbers(offsets);
  if (bags > 0 && count > 0) {
    starts.forEach((start) => strictIndex(start, count + 1, 'embedding_bag: offsets'));
    strictIndex(starts[0]!, 1, 'embedding_bag: the first of offsets');
  }
  const out = new Int32Array(count);
  for (let bag = 0; bag < bags; bag++)
    out.fill(bag, starts[bag], bag + 1 < bags ? starts[bag + 1] : count);
  return out;
}

/** output, offset2bag, bag_size, maximum_indices of `_embedding_bag`. */
export function bagKernel(args: BagForwardArgs, outs: readonly Tensor[]): void {
  const [output, offset2bag, bagSize, maximum] = outs;
  const { weight, indices, offsets } = args;
  const [rows, width] = weight.sizes;
  const table = floatsInPlace(weight) ?? readNumbers(weight);
  const at = readNumbers(indices);
  const scales = args.per_sample_weights === null ? null : readNumbers(args.per_sample_weights);
  const bags = bagCount(args);
  const bagOf = bagOfEach(offsets, bags, at.length);
  const isMax = args.mode === BAG_MODES.max;
  const sizes = new Float64Array(bags);
  const result = new Float64Array(bags * width);
  const winners = new Float64Array(isMax ? bags * width : 0);
  for (let i = 0; i < at.length; i++) {
    const row = strictIndex(at[i]!, rows, 'embedding_bag');
    if (row === args.padding_idx) continue;
    const bag = bagOf[i]!;
    const isFirst = sizes[bag]!++ === 0;
    const scale = scales === null ? 1 : scales[i]!;
    const from = row * width;
    const to = bag * width;
    for (let j = 0; j < width; j++) {
      const value = table[from + j]! * scale;
      if (!isMax) result[to + j]! += value;
      else if (isFirst || value > result[to + j]!) {
        result[to + j] = value;
        winners[to + j] = row;
      }
    }
  }
  if (args.mode === BAG_MODES.mean)
    result.forEach((total, i) => (result[i] = total / Math.max(sizes[Math.floor(i / width)]!, 1)));
  // PyTorch counts only what the backward of the mode will read.
  const counted = args.mode === BAG_MODES.sum ? new Float64Array(bags) : sizes;
  writeNumbers(output, result);
  if (offset2bag.numel > 0) writeNumbers(offset2bag, bagOf);
  writeNumbers(bagSize, counted);
  writeNumbers(maximum, isMax ? winners : counted);
}

/** The bags that a forward call named, or worked out again where it left them out. */
function bagsOf(
  { offset2bag, offsets, indices }: Pick<BagBackwardArgs, 'offset2bag' | 'offsets' | 'indices'>,
  bags: number,
): ArrayLike<number> {
  return offset2bag.numel === indices.numel
    ? readNumbers(offset2bag)
    : bagOfEach(offsets, bags, indices.numel);
}

/** Gradient of the table. */
export function bagBackwardKernel(args: BagBackwardArgs, [out]: readonly Tensor[]): void {
  const { grad, indices, maximum_indices, bag_size } = args;
  const [bags, width] = grad.sizes;
  const grads = readNumbers(grad);
  const sizes = readNumbers(bag_size);
  const result = new Float64Array(out!.numel);
  if (args.mode === BAG_MODES.max) {
    readNumbers(maximum_indices).forEach((row, i) => {
      if (sizes[Math.floor(i / width)]! > 0) result[row * width + (i % width)]! += grads[i]!;
    });
    writeNumbers(out!, result);
    return;
  }
  const at = readNumbers(indices);
  const bagOf = bagsOf(args, bags);
  const scales = args.per_sample_weights === null ? null : readNumbers(args.per_sample_weights);
  const uses = new Float64Array(args.num_weights);
  for (const row of at) uses[row]!++;
  at.forEach((row, i) => {
    if (row === args.padding_idx) return;
    const bag = bagOf[i]!;
    const share =
      (scales === null ? 1 : scales[i]!) /
      (args.scale_grad_by_freq === true ? uses[row]! : 1) /
      (args.mode === BAG_MODES.mean ? sizes[bag]! : 1);
    for (let j = 0; j < width; j++) result[row * width + j]! += grads[bag * width + j]! * share;
  });
  writeNumbers(out!, result);
}

/** Gradient of the weights of samples: each sample's row times the gradient of its bag. */
export function sampleWeightsBackwardKernel(
  args: SampleWeightsArgs,
  [out]: readonly Tensor[],
): void {
  const { grad, weight, indices } = args;
  const [bags, width] = grad.sizes;
  const grads = readNumbers(grad);
  const table = readNumbers(weight);
  const bagOf = bagsOf(args, bags);
  const result = readNumbers(indices).map((row, i) => {
    if (row === args.padding_idx) return 0;
    let total = 0;
    for (let j = 0; j < width; j++)
      total += grads[bagOf[i]! * width + j]! * table[row * width + j]!;
    return total;
  });
  writeNumbers(out!, result);
}
