/**
 * @file Shapes, and operators on numbers of the host that only rearrange them.
 */
import { type DeviceType, full } from '@tessera/tensor';
import { HOST_LIMIT, HostArray } from '../run/host-array.js';
import type { NodeCall } from '../run/node-call.js';
import type { OperatorTable, ShapeOperatorTable } from '../registry.js';
import { product, range } from './like.js';
import { addedDims, reshapeTarget, slicedAxes, splitSizes, squeezedDims } from './shape.js';

/** Row-major strides. */
function strides(shape: readonly number[]): number[] {
  return shape.map((_, dim) => product(shape.slice(dim + 1)));
}

/** A host array whose element at a position is the one at another position of `from`; null if it grows too large. */
export function arranged(
  from: HostArray,
  shape: readonly number[],
  sourceOf: (position: readonly number[]) => readonly number[],
): HostArray | null {
  const count = product(shape);
  if (count > HOST_LIMIT) return null;
  const [to, own] = [strides(shape), strides(from.shape)];
  const data = range(count).map((flat) => {
    const position = shape.map((size, dim) => Math.floor(flat / to[dim]!) % size);
    return from.data[sourceOf(position).reduce((at, p, dim) => at + p * own[dim]!, 0)]!;
  });
  return new HostArray(from.dtype, shape, data);
}

/** The same with one dimension taken from other places. */
function along(from: HostArray, dim: number, places: readonly number[]): HostArray | null {
  const shape = from.shape.map((size, d) => (d === dim ? places.length : size));
  return arranged(from, shape, (position) => position.map((p, d) => (d === dim ? places[p]! : p)));
}

function gather(call: NodeCall): HostArray | null {
  const [from, index] = [call.host(0), call.host(1)];
  const dim = call.dim(call.int('axis', 0), from.ndim);
  const size = from.shape[dim]!;
  const places = index.data.map((i) => (i < 0 ? i + size : i));
  if (places.some((place) => place < 0 || place >= size))
    call.fail(`index ${index.data.join(', ')} into ${size} elements`);
  const shape = [...from.shape.slice(0, dim), ...index.shape, ...from.shape.slice(dim + 1)];
  return along(from, dim, places)?.reshaped(shape) ?? null;
}

function concat(call: NodeCall): HostArray | null {
  const parts = call.inputs.map((_, i) => call.host(i));
  if (parts.some(({ ndim }) => ndim !== 1)) return null;
  const data = parts.flatMap((part) => part.data);
  return data.length > HOST_LIMIT ? null : new HostArray(parts[0]!.dtype, [data.length], data);
}

/** Most elements of a list that is part of a shape, or of axes. */
const LONGEST_LIST = 16;

/** Whether a constant is a table, of which a call takes as much as its sizes ask for. */
function isTable({ hasTensor, ndim, numel }: HostArray): boolean {
  return hasTensor && (ndim > 1 || numel > LONGEST_LIST);
}

function slice(call: NodeCall): HostArray | null {
  let x: HostArray | null = call.host(0);
  if (isTable(x)) return null;
  for (const { dim, start, end, step } of slicedAxes(call, x.shape)) {
    const count = Math.max(0, Math.ceil((end - start) / step));
    x =
      x &&
      along(
        x,
        dim,
        range(count).map((i) => start + i * step),
      );
  }
  return x;
}

function expand(call: NodeCall): HostArray | null {
  const from = call.host(0);
  const wanted = call.numbers(1);
  const rank = Math.max(from.ndim, wanted.length);
  const own = [...Array<number>(rank - from.ndim).fill(1), ...from.shape];
  const to = [...Array<number>(rank - wanted.length).fill(1), ...wanted];
  const shape = own.map((size, i) => (size === 1 ? to[i]! : size));
  // No part of a shape has more dimensions than one.
  if (shape.length > 1 || product(shape) > HOST_LIMIT) return null;
  const data = from.numel === 1 ? Array<number>(product(shape)).fill(from.data[0]!) : from.data;
  const make = (device: DeviceType) => from.toTensor(device).expand(shape);
  return new HostArray(from.dtype, shape, data, false, make);
}

function split(call: NodeCall): HostArray[] | null {
  const x = call.host(0);
  const dim = call.dim(call.int('axis', 0), x.ndim);
  let start = 0;
  const parts = splitSizes(call, x.shape[dim]!).map((size) => {
    start += size;
    return along(
      x,
      dim,
      range(size).map((i) => start - size + i),
    );
  });
  return parts.every((part) => part !== null) ? parts : null;
}

function transpose(call: NodeCall): HostArray | null {
  const x = call.host(0);
  const order = call.dims(call.ints('perm') ?? range(x.ndim).reverse(), x.ndim);
  const shape = order.map((dim) => x.shape[dim]!);
  return arranged(x, shape, (position) => {
    const source: number[] = [];
    order.forEach((dim, i) => (source[dim] = position[i]!));
    return source;
  });
}

/** Operators on numbers of the host. */
export const hostShapes: ShapeOperatorTable = {
  Identity: (call) => call.host(0),
  Reshape: (call) => call.host(0).reshaped(reshapeTarget(call, call.shape(0)).filled),
  Flatten: () => null,
  Squeeze: (call) => {
    const dims = squeezedDims(call, call.shape(0));
    return call.host(0).reshaped(call.shape(0).filter((_, i) => !dims.includes(i)));
  },
  Unsqueeze: (call) => {
    const shape = [...call.shape(0)];
    for (const dim of addedDims(call, shape.length)) shape.splice(dim, 0, 1);
    return call.host(0).reshaped(shape);
  },
  Gather: gather,
  Concat: concat,
  Slice: slice,
  Expand: expand,
  Split: split,
  Transpose: transpose,
};

/** Sizes as numbers; ranges of dimensions may be cut out of a shape since opset 15. */
function shapeOf(call: NodeCall): HostArray {
  const shape = [...call.shape(0)];
  const bound = (name: string, fallback: number): number => {
    const at = call.int(name, fallback);
    return Math.min(Math.max(at < 0 ? at + shape.length : at, 0), shape.length);
  };
  const part = shape.slice(bound('start', 0), bound('end', shape.length));
  return new HostArray('int64', [part.length], part);
}

/** A shape filled with a number. What may be a part of a shape stays on the host, as its tensor is only a fill. */
function constantOfShape(call: NodeCall): HostArray | ReturnType<typeof full> {
  const shape = [...call.numbers(0)];
  const literal = call.literal('value');
  const value = literal === null ? null : call.constant(literal);
  const dtype = literal?.type.dtype ?? 'float32';
  const fill = value instanceof HostArray ? value.data[0]! : 0;
  if (shape.some((size) => size < 0)) call.fail(`its shape is [${shape.join(', ')}]`);
  const make = (device: DeviceType) => full(shape, fill, { dtype, device });
  if (shape.length > 1 || product(shape) > HOST_LIMIT) return make(call.device);
  return new HostArray(dtype, shape, Array<number>(product(shape)).fill(fill), false, make);
}

/** Operators of the standard domain that give numbers of the host. */
export const shapeSources: OperatorTable = {
  Shape: shapeOf,
  Size: (call) => new HostArray('int64', [], [product(call.shape(0))]),
  ConstantOfShape: constantOfShape,
};
