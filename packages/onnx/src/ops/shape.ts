/**
 * @file Operators that rearrange elements: shapes, joining, cutting, padding.
 */
import { type Tensor, arange, cat, full, pad, tril, triu } from '@tessera/tensor';
import type { NodeCall } from '../run/node-call.js';
import type { ListOperatorTable, OperatorTable } from '../registry.js';
import { asMatrix, product, range } from './like.js';

/** The target of Reshape with its 0 (the size in that place) filled in, and with its -1 (what is left), too. */
export function reshapeTarget(
  call: NodeCall,
  from: readonly number[],
): { readonly target: readonly number[]; readonly filled: readonly number[] } {
  const wanted = call.opset >= 5 ? call.numbers(1) : (call.ints('shape') ?? call.numbers(1));
  const copies = !call.flag('allowzero');
  const target = wanted.map((size, i) => {
    if (size !== 0 || !copies) return size;
    if (i >= from.length) call.fail(`size ${i} of the new shape is 0, and there is none to copy`);
    return from[i]!;
  });
  const at = target.indexOf(-1);
  if (at < 0) return { target, filled: target };
  const rest = product(target.filter((_, i) => i !== at));
  const left = rest === 0 ? 0 : product(from) / rest;
  if (!Number.isInteger(left))
    call.fail(`[${from.join(', ')}] cannot be reshaped to [${wanted.join(', ')}]`);
  const filled = target.with(at, left);
  return { target: rest === 0 ? filled : target, filled };
}

/** The dimensions of size 1 that are left out. */
export function squeezedDims(call: NodeCall, from: readonly number[]): number[] {
  const axes = call.axes(1, 13);
  if (axes === null || axes.length === 0)
    return range(from.length).filter((dim) => from[dim] === 1);
  const dims = call.dims(axes, from.length);
  for (const dim of dims)
    if (from[dim] !== 1) call.fail(`dimension ${dim} has size ${from[dim]}, not 1`);
  return dims;
}

/** The dimensions of size 1 that are put in, as they are among those of the result, in order. */
export function addedDims(call: NodeCall, rank: number): number[] {
  const axes = call.axes(1, 13) ?? call.fail('its axes are missing');
  const dims = call.dims(axes, rank + axes.length);
  if (new Set(dims).size < dims.length) call.fail('an axis stands twice');
  return dims.sort((a, b) => a - b);
}

/** The shape of a broadcast of a shape to another. */
function expandedShape(from: readonly number[], to: readonly number[]): number[] {
  const rank = Math.max(from.length, to.length);
  return range(rank).map((i) => {
    const own = from[i - rank + from.length] ?? 1;
    const wanted = to[i - rank + to.length] ?? 1;
    return wanted === 1 ? own : wanted;
  });
}

/** One axis of Slice. */
export interface SlicedAxis {
  readonly dim: number;
  readonly start: number;
  readonly end: number;
  readonly step: number;
}

/** The largest numbers of 32 and 64 bits, the latter as a float64 has it. */
const LARGEST: readonly number[] = [2 ** 31 - 1, 2 ** 63];

/** What Slice takes of each axis, with bounds inside of it. */
export function slicedAxes(call: NodeCall, shape: readonly number[]): SlicedAxis[] {
  const asInputs = call.opset >= 10;
  const starts = asInputs ? call.numbers(1) : (call.ints('starts') ?? call.fail('no starts'));
  const ends = asInputs ? call.numbers(2) : (call.ints('ends') ?? call.fail('no ends'));
  const axes = (asInputs ? call.optionalNumbers(3) : call.ints('axes')) ?? range(starts.length);
  const steps = asInputs ? call.optionalNumbers(4) : null;
  return call.dims(axes, shape.length).map((dim, i) => {
    const size = shape[dim]!;
    const step = steps?.[i] ?? 1;
    if (step === 0) call.fail('a step is 0');
    const bound = (value: number, low: number, high: number): number =>
      Math.min(Math.max(value < 0 ? value + size : value, low), high);
    if (step > 0)
      return { dim, start: bound(starts[i]!, 0, size), end: bound(ends[i]!, 0, size), step };
    // The largest number is no place: it means as far as there is, backwards too.
    const end = LARGEST.includes(ends[i]!) ? -1 : bound(ends[i]!, -1, size - 1);
    return { dim, start: bound(starts[i]!, 0, size - 1), end, step };
  });
}

function slice(call: NodeCall): Tensor {
  let x = call.tensor(0);
  for (const { dim, start, end, step } of slicedAxes(call, x.shape)) {
    if (step > 0) x = x.slice(dim, start, Math.max(start, end), step);
    // Backwards: turned around, position p is size - 1 - p.
    else {
      const last = x.shape[dim]! - 1;
      x = x.flip([dim]).slice(dim, last - start, Math.max(last - end, last - start), -step);
    }
  }
  return x;
}

/** Sizes of the parts of Split. */
export function splitSizes(call: NodeCall, size: number): readonly number[] {
  const given = call.axes(1, 13, 'split');
  if (given !== null) {
    if (given.some((part) => part < 0) || given.reduce((sum, part) => sum + part, 0) !== size)
      call.fail(`parts of ${given.join(', ')} are not the whole ${size}`);
    return given;
  }
  const count = call.int('num_outputs', call.outputCount);
  if (count < 1) call.fail(`${count} parts`);
  const part = Math.ceil(size / count);
  return range(count).map((i) => Math.max(0, Math.min(part, size - i * part)));
}

function split(call: NodeCall): Tensor[] {
  const x = call.tensor(0);
  const dim = call.dim(call.int('axis', 0), x.ndim);
  let start = 0;
  return splitSizes(call, x.shape[dim]!).map((size) => x.narrow(dim, (start += size) - size, size));
}

/** Where each element along an axis comes from, with `before` and `after` more of them. */
function borderIndices(
  call: NodeCall,
  size: number,
  [before, after]: readonly [number, number],
  mode: string,
): Tensor {
  const at = arange(-before, size + after, 1, { dtype: 'int64', device: call.device });
  if (mode === 'edge' || size === 1) return at.clamp(0, size - 1);
  if (mode === 'wrap') return at.remainder(size);
  const last = size - 1;
  return at
    .remainder(2 * last)
    .sub(last)
    .abs()
    .neg()
    .add(last);
}

function padded(call: NodeCall): Tensor {
  const areInputs = call.opset >= 11;
  const pads = areInputs ? call.numbers(1) : (call.ints('pads') ?? call.fail('no pads'));
  const value = areInputs ? (call.optionalNumbers(2)?.[0] ?? 0) : call.float('value', 0);
  return paddedBy(call, pads, value);
}

/** Elements put around x by a list of pads, first all in front, then all behind. */
export function paddedBy(call: NodeCall, pads: readonly number[], value: number): Tensor {
  const x = call.tensor(0);
  const mode = call.choice('mode', ['constant', 'reflect', 'edge', 'wrap'], 'constant');
  const dims = call.dims(call.optionalNumbers(3) ?? range(x.ndim), x.ndim);
  if (pads.length !== 2 * dims.length) call.fail(`${pads.length} pads for ${dims.length} axes`);
  const [before, after] = [Array<number>(x.ndim).fill(0), Array<number>(x.ndim).fill(0)];
  dims.forEach((dim, i) => {
    before[dim] = pads[i]!;
    after[dim] = pads[i + dims.length]!;
  });
  if (mode === 'constant') {
    // Listed from the last dimension on.
    const list = range(x.ndim)
      .reverse()
      .flatMap((dim) => [before[dim]!, after[dim]!]);
    if (x.dtype !== 'bool') return pad(x, list, { value });
    return pad(x.to('uint8'), list, { value }).to('bool');
  }
  let result = x;
  for (const dim of dims) {
    if (before[dim] === 0 && after[dim] === 0) continue;
    // What is taken away is not there when the rest is repeated or mirrored.
    const [front, behind] = [Math.max(-before[dim]!, 0), Math.max(-after[dim]!, 0)];
    const size = x.shape[dim]! - front - behind;
    const around = [before[dim]! + front, after[dim]! + behind] as const;
    const index = borderIndices(call, size, around, mode);
    result = result.indexSelect(dim, front === 0 ? index : index.add(front));
  }
  return result;
}

/** The size of a block, by which sizes can be divided. */
function blockSize(call: NodeCall, sizesBy: (block: number) => readonly number[]): number {
  const block = call.int('blocksize');
  if (
    call.shape(0).length !== 4 ||
    block < 1 ||
    sizesBy(block).some((size) => !Number.isInteger(size))
  )
    call.fail(`blocks of ${block} do not fit a value of shape [${call.shape(0).join(', ')}]`);
  return block;
}

/** [N, C, H, W] → [N, C / b², H b, W b]; in mode DCR the block is the outer part of the channels. */
function depthToSpace(call: NodeCall): Tensor {
  const x = call.tensor(0);
  const [n, c, h, w] = x.shape;
  const b = blockSize(call, (block) => [c / block ** 2]);
  const left = c / (b * b);
  const apart =
    call.choice('mode', ['DCR', 'CRD'], 'DCR') === 'DCR'
      ? x.reshape([n, b, b, left, h, w]).permute([0, 3, 4, 1, 5, 2])
      : x.reshape([n, left, b, b, h, w]).permute([0, 1, 4, 2, 5, 3]);
  return apart.reshape([n, left, h * b, w * b]);
}

function spaceToDepth(call: NodeCall): Tensor {
  const x = call.tensor(0);
  const [n, c, h, w] = x.shape;
  const b = blockSize(call, (block) => [h / block, w / block]);
  const isDcr = call.choice('mode', ['DCR', 'CRD'], 'DCR') === 'DCR';
  const apart = x
    .reshape([n, c, h / b, b, w / b, b])
    .permute(isDcr ? [0, 3, 5, 1, 2, 4] : [0, 1, 3, 5, 2, 4]);
  return apart.reshape([n, c * b * b, h / b, w / b]);
}

/** Cuts or pads each axis around its middle to a size. */
function centerCropPad(call: NodeCall): Tensor {
  let x = call.tensor(0);
  const sizes = call.numbers(1);
  const dims = call.dims(call.ints('axes') ?? range(x.ndim), x.ndim);
  dims.forEach((dim, i) => {
    const [size, wanted] = [x.shape[dim]!, sizes[i]!];
    if (size > wanted) x = x.narrow(dim, Math.floor((size - wanted) / 2), wanted);
    if (size >= wanted) return;
    const before = Math.floor((wanted - size) / 2);
    const around = (count: number): Tensor =>
      full(
        x.shape.map((own, d) => (d === dim ? count : own)),
        0,
        { dtype: x.dtype, device: call.device },
      );
    x = cat([around(before), x, around(wanted - size - before)], dim);
  });
  return x;
}

/** Turns the first elements of each row around, as many as the row's length says. */
function reverseSequence(call: NodeCall): Tensor {
  const x = call.tensor(0);
  const [time, batch] = [call.int('time_axis', 0), call.int('batch_axis', 1)];
  const lengths = call.numbers(1);
  const rows = lengths.map((length, i) => {
    const row = x.narrow(batch, i, 1);
    const rest = row.narrow(time, length, row.shape[time]! - length);
    return cat([row.narrow(time, 0, length).flip([time]), rest], time);
  });
  return cat(rows, batch);
}

export function trilu(call: NodeCall): Tensor {
  const x = call.tensor(0);
  const k = call.optionalNumbers(1)?.[0] ?? 0;
  const plain = x.dtype === 'bool' ? x.to('uint8') : x;
  const cut = call.flag('upper', true) ? triu(plain, k) : tril(plain, k);
  return x.dtype === 'bool' ? cut.to('bool') : cut;
}

function transpose(call: NodeCall): Tensor {
  const x = call.tensor(0);
  return x.permute(call.ints('perm') ?? range(x.ndim).reverse());
}

function concat(call: NodeCall): Tensor {
  const parts = call.tensors();
  if (parts.length === 0) call.fail('it has no inputs');
  // Before opset 4 the axis had a default.
  return cat(parts, call.dim(call.int('axis', call.opset < 4 ? 1 : undefined), parts[0]!.ndim));
}

/** Operators of the standard domain with one output. */
export const shapes: OperatorTable = {
  Identity: (call) => call.inputs[0] ?? null,
  Reshape: (call) => call.tensor(0).reshape(reshapeTarget(call, call.shape(0)).target),
  Flatten: (call) => {
    const x = call.tensor(0);
    const axis = call.int('axis', 1);
    const at = axis === x.ndim ? axis : call.dim(axis, x.ndim);
    return asMatrix(x, at);
  },
  // By dimensions, not by sizes: a traced call is the same for all of these.
  Squeeze: (call) => call.tensor(0).squeeze(squeezedDims(call, call.shape(0))),
  Unsqueeze: (call) => {
    const x = call.tensor(0);
    return addedDims(call, x.ndim).reduce((y, dim) => y.unsqueeze(dim), x);
  },
  Transpose: transpose,
  Expand: (call) => call.tensor(0).expand(expandedShape(call.shape(0), call.numbers(1))),
  Tile: (call) => call.tensor(0).repeat(call.numbers(1)),
  Concat: concat,
  Slice: slice,
  Pad: padded,
  DepthToSpace: depthToSpace,
  SpaceToDepth: spaceToDepth,
  CenterCropPad: centerCropPad,
  ReverseSequence: reverseSequence,
  Trilu: trilu,
};

/** Operators of the standard domain with several outputs. */
export const shapeLists: ListOperatorTable = { Split: split };
