/**
 * @file Windows that slide over spatial dimensions: kernel, stride, dilation and padding as ONNX gives them.
 */
import { type Tensor, pad } from '@tessera/tensor';
import type { NodeCall } from '../run/node-call.js';
import { range } from './like.js';

/** Windows over the spatial dimensions of [N, C, …]. */
export interface Windows {
  readonly kernel: readonly number[];
  readonly stride: readonly number[];
  readonly dilation: readonly number[];
  /** Elements in front of and behind each dimension; behind, those that rounding up needs are counted too. */
  readonly before: readonly number[];
  readonly after: readonly number[];
  /** The part of `after` that the file gives itself. */
  readonly declaredAfter: readonly number[];
}

/** A list of one number per spatial dimension. @throws onnx-invalid */
export function perDimension(
  call: NodeCall,
  name: string,
  rank: number,
  fallback: number,
): number[] {
  const given = call.ints(name) ?? [];
  if (given.length === 0) return Array<number>(rank).fill(fallback);
  if (given.length !== rank)
    call.fail(`${name} has ${given.length} numbers for ${rank} dimensions`);
  return [...given];
}

/** The numbers in front and behind of ONNX's list of pads. */
export function bothPads(call: NodeCall, rank: number): [before: number[], after: number[]] {
  const pads = call.ints('pads') ?? [];
  if (pads.length === 0) return [Array<number>(rank).fill(0), Array<number>(rank).fill(0)];
  if (pads.length !== 2 * rank) call.fail(`${pads.length} pads for ${rank} dimensions`);
  return [pads.slice(0, rank), pads.slice(rank)];
}

/** The windows of a node over sizes. @throws onnx-invalid */
export function windowsOf(
  call: NodeCall,
  sizes: readonly number[],
  kernel: readonly number[],
): Windows {
  const rank = sizes.length;
  if (rank < 1 || rank > 3) call.fail(`${rank} spatial dimensions: there may be one to three`);
  if (kernel.length !== rank)
    call.fail(`kernel_shape has ${kernel.length} numbers for ${rank} dimensions`);
  const stride = perDimension(call, 'strides', rank, 1);
  const dilation = perDimension(call, 'dilations', rank, 1);
  const isCeil = call.flag('ceil_mode');
  const modes = ['NOTSET', 'VALID', 'SAME_UPPER', 'SAME_LOWER'] as const;
  const mode = call.choice('auto_pad', modes, 'NOTSET');
  const [before, declaredAfter] = bothPads(call, rank);
  const after: number[] = [];
  for (const i of range(rank)) {
    const span = (kernel[i]! - 1) * dilation[i]! + 1;
    if (mode === 'VALID') before[i] = declaredAfter[i] = 0;
    if (mode.startsWith('SAME')) {
      const count = Math.ceil(sizes[i]! / stride[i]!);
      const total = Math.max(0, (count - 1) * stride[i]! + span - sizes[i]!);
      const less = Math.floor(total / 2);
      before[i] = mode === 'SAME_UPPER' ? less : total - less;
      declaredAfter[i] = total - before[i]!;
    }
    const padded = sizes[i]! + before[i]! + declaredAfter[i]!;
    let count = (isCeil ? Math.ceil : Math.floor)((padded - span) / stride[i]!) + 1;
    // The last window starts inside.
    if (isCeil && (count - 1) * stride[i]! >= sizes[i]! + before[i]!) count--;
    after[i] = declaredAfter[i]! + Math.max(0, (count - 1) * stride[i]! + span - padded);
  }
  return { kernel, stride, dilation, before, after, declaredAfter };
}

/** Elements added to the spatial dimensions of [N, C, …]. */
export function paddedBy(
  x: Tensor,
  before: readonly number[],
  after: readonly number[],
  value: number,
): Tensor {
  if (before.every((count) => count === 0) && after.every((count) => count === 0)) return x;
  const list = range(before.length)
    .reverse()
    .flatMap((i) => [before[i]!, after[i]!]);
  return pad(x, list, { value });
}

/** Padding that an operator takes itself; null if it is another in front than behind. */
export function symmetric({ before, after }: Windows): readonly number[] | null {
  return before.every((count, i) => count === after[i]) ? before : null;
}
