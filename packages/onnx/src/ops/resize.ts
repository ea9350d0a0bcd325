/**
 * @file Resizing: every mode is one linear map per axis, from where the elements of the result lie in the input.
 */
import { functional as F } from '@tessera/nn';
import { type Tensor, isFloatingPoint, matmul, tensor } from '@tessera/tensor';
import type { NodeCall } from '../run/node-call.js';
import type { OperatorTable } from '../registry.js';
import { checkCount, range } from './like.js';

/** One axis that changes. */
interface Axis {
  readonly dim: number;
  readonly from: number;
  readonly to: number;
  readonly scale: number;
  /** Size of the result before it is rounded. */
  readonly length: number;
  /** Whether a factor is given. */
  readonly isScaled: boolean;
  /** Whether the result has exactly so many times the elements, whatever the size. */
  readonly isExact: boolean;
  readonly roi: readonly [start: number, end: number];
}

const PLACES = [
  'asymmetric',
  'align_corners',
  'half_pixel',
  'half_pixel_symmetric',
  'pytorch_half_pixel',
  'tf_crop_and_resize',
  'tf_half_pixel_for_nn',
] as const;

/** How the elements of the result are laid over those of the input. */
function place(call: NodeCall): (typeof PLACES)[number] {
  return call.choice(
    'coordinate_transformation_mode',
    PLACES,
    call.opset < 11 ? 'asymmetric' : 'half_pixel',
  );
}

/** Files say where an element lies in arithmetic of float32: 3.5 / 0.7 is 5, which decides the nearest one. */
const { fround } = Math;

/** Where element `y` of the result lies in the input. */
function position(call: NodeCall, { from, to, scale, length, roi }: Axis, y: number): number {
  const center = fround(fround(y + 0.5) / scale);
  switch (place(call)) {
    case 'asymmetric':
      return fround(y / scale);
    case 'align_corners':
      return length === 1 ? 0 : fround((y * (from - 1)) / (length - 1));
    case 'tf_crop_and_resize': {
      const [start, end] = roi;
      if (length === 1) return fround(fround(0.5 * fround(start + end)) * (from - 1));
      const own = fround(fround(y * fround(end - start)) * (from - 1));
      return fround(fround(start * (from - 1)) + fround(own / fround(length - 1)));
    }
    case 'tf_half_pixel_for_nn':
      return center;
    case 'pytorch_half_pixel':
      return to === 1 ? 0 : fround(center - 0.5);
    case 'half_pixel_symmetric': {
      const offset = fround((from / 2) * fround(1 - fround(to / fround(length))));
      return fround(fround(offset + center) - 0.5);
    }
    case 'half_pixel':
      return fround(center - 0.5);
  }
}

/** The input element that is taken for a position, unclamped. */
function nearest(call: NodeCall, { scale }: Axis, at: number): number {
  // Before they said so, files meant the next element wherever the result is smaller.
  const mode = call.text(
    'nearest_mode',
    call.opset < 11 ? (scale < 1 ? 'ceil' : 'floor') : 'round_prefer_floor',
  );
  if (mode === 'floor') return Math.floor(at);
  if (mode === 'ceil') return Math.ceil(at);
  return mode === 'round_prefer_ceil' ? Math.floor(at + 0.5) : Math.ceil(at - 0.5);
}

/** Weight of an element at a distance, for linear and cubic maps. */
function kernel(call: NodeCall, isCubic: boolean): (distance: number) => number {
  if (!isCubic) return (distance) => Math.max(0, 1 - Math.abs(distance));
  const a = call.float('cubic_coeff_a', -0.75);
  return (distance) => {
    const x = Math.abs(distance);
    if (x <= 1) return ((a + 2) * x - (a + 3)) * x * x + 1;
    return x < 2 ? ((a * x - 5 * a) * x + 8 * a) * x - 4 * a : 0;
  };
}

/** The map of one axis, [to, from] by rows. */
function weights(call: NodeCall, axis: Axis, isCubic: boolean): number[][] {
  const weigh = kernel(call, isCubic);
  const shrink = call.flag('antialias') ? Math.min(axis.scale, 1) : 1;
  const reach = Math.ceil((isCubic ? 2 : 1) / shrink);
  checkCount(axis.to * axis.from);
  const excludes = call.flag('exclude_outside');
  return range(axis.to).map((y) => {
    const at = position(call, axis, y);
    const row = Array<number>(axis.from).fill(0);
    let total = 0;
    for (let i = Math.floor(at) - reach; i <= Math.floor(at) + reach + 1; i++) {
      const isOutside = i < 0 || i >= axis.from;
      if (isOutside && excludes) continue;
      const weight = weigh((i - at) * shrink);
      row[Math.min(Math.max(i, 0), axis.from - 1)]! += weight;
      total += weight;
    }
    return total === 0 ? row : row.map((weight) => weight / total);
  });
}

/** Elements of the result that lie outside of the cropped input get a value of their own. */
function extrapolated(call: NodeCall, x: Tensor, axis: Axis): Tensor {
  if (place(call) !== 'tf_crop_and_resize') return x;
  const outside = range(axis.to).map((y) => {
    const at = position(call, axis, y);
    return at < 0 || at > axis.from - 1;
  });
  if (!outside.includes(true)) return x;
  const shape = x.shape.map((_, dim) => (dim === axis.dim ? axis.to : 1));
  const mask = tensor(outside, { dtype: 'bool', device: call.device }).reshape(shape);
  return x.maskedFill(mask.expand(x.shape), call.float('extrapolation_value', 0));
}

function resizeAxis(call: NodeCall, x: Tensor, axis: Axis, mode: string): Tensor {
  if (mode === 'nearest') {
    const from = range(axis.to).map((y) =>
      Math.min(Math.max(nearest(call, axis, position(call, axis, y)), 0), axis.from - 1),
    );
    // A table at every size: at some it would follow a rule, and be another program there.
    const index = tensor(from, { dtype: 'int64', device: call.device });
    return extrapolated(call, x.indexSelect(axis.dim, index), axis);
  }
  const map = tensor(weights(call, axis, mode === 'cubic'), {
    dtype: x.dtype,
    device: call.device,
  });
  const moved = matmul(x.transpose(axis.dim, -1), map.t());
  return extrapolated(call, moved.transpose(axis.dim, -1), axis);
}

/** Sizes and scales of the axes that a node changes. */
function axesOf(call: NodeCall, shape: readonly number[]): Axis[] {
  const dims = call.dims(call.ints('axes') ?? range(shape.length), shape.length);
  const [scaleInput, sizeInput] = call.opset < 11 ? [1, 3] : [2, 3];
  const given = call.optionalNumbers(scaleInput) ?? [];
  let scales =
    call.node.type === 'Upsample' && call.opset < 9 ? (call.floats('scales') ?? []) : given;
  let sizes = call.optionalNumbers(sizeInput) ?? [];
  if (scales.length === 0 && sizes.length === 0) call.fail('it has neither scales nor sizes');
  const numbers = sizes.length > 0 ? sizes : scales;
  if (numbers.length !== dims.length || !numbers.every((each) => each >= 0 && each < Infinity))
    call.fail(`sizes or scales of ${numbers.join(', ')} for ${dims.length} dimensions`);
  const policy = call.text('keep_aspect_ratio_policy', 'stretch');
  const isScaled = sizes.length === 0;
  const isStretched = !isScaled && policy === 'stretch';
  if (!isScaled) {
    const ratios = dims.map((dim, i) => sizes[i]! / shape[dim]!);
    const shared = policy === 'not_larger' ? Math.min(...ratios) : Math.max(...ratios);
    scales = policy === 'stretch' ? ratios : ratios.map(() => shared);
    if (policy !== 'stretch') sizes = dims.map((dim) => Math.floor(shared * shape[dim]! + 0.5));
  } else sizes = dims.map((dim, i) => Math.floor(fround(shape[dim]! * fround(scales[i]!))));
  const roi = call.opset < 11 ? null : call.optionalNumbers(1);
  return dims
    .map((dim, i) => ({
      dim,
      from: shape[dim]!,
      to: sizes[i]!,
      scale: fround(scales[i]!),
      length: isStretched ? sizes[i]! : scales[i]! * shape[dim]!,
      isScaled,
      isExact: isScaled ? Number.isInteger(scales[i]!) : isStretched,
      roi: [roi?.[i] ?? 0, roi?.[i + dims.length] ?? 1] as const,
    }))
    .filter(
      ({ from, to, scale }) => from !== to || scale !== 1 || (roi !== null && roi.length > 0),
    );
}

/**
 * PyTorch's own resizing, where it is the same: it is one kernel. Null if it is another. The answer is the same for all
 * sizes that are larger than one, so that they share code: factors that are no whole numbers are left to `resizeAxis`.
 */
function fused(call: NodeCall, x: Tensor, axes: readonly Axis[], mode: string): Tensor | null {
  const isSpatial = axes.every(({ dim, isExact }) => dim >= 2 && isExact);
  if (!isSpatial || axes.length === 0 || !isFloatingPoint(x.dtype) || x.ndim < 3) return null;
  if (x.ndim > 5 || call.flag('exclude_outside') || call.flag('antialias')) return null;
  const where = place(call);
  const spatial = x.shape.slice(2).map((own, i) => {
    const axis = axes.find(({ dim }) => dim === i + 2);
    return axis ?? { to: own, scale: 1, isScaled: true };
  });
  const size = spatial.map(({ to }) => to);
  // Factors say what the size is at other sizes.
  const by = spatial.every(({ isScaled }) => isScaled)
    ? { scaleFactor: spatial.map(({ scale }) => scale) }
    : { size };
  if (mode === 'nearest') {
    const rounding = call.text('nearest_mode', call.opset < 11 ? 'floor' : 'round_prefer_floor');
    const isSame = where === 'asymmetric' && rounding === 'floor';
    return isSame ? F.interpolate(x, { ...by, mode: 'nearest' }) : null;
  }
  if (!['half_pixel', 'pytorch_half_pixel', 'align_corners'].includes(where)) return null;
  if (where !== 'half_pixel' && size.includes(1)) return null;
  if (mode === 'cubic' && (x.ndim !== 4 || call.float('cubic_coeff_a', -0.75) !== -0.75))
    return null;
  const name =
    mode === 'cubic' ? 'bicubic' : (['linear', 'bilinear', 'trilinear'] as const)[x.ndim - 3]!;
  return F.interpolate(x, { ...by, mode: name, alignCorners: where === 'align_corners' });
}

function resize(call: NodeCall): Tensor {
  const given = call.tensor(0);
  const text = call.text('mode', 'nearest');
  const mode = text === 'bilinear' || text === 'trilinear' ? 'linear' : text;
  if (!['nearest', 'linear', 'cubic'].includes(mode)) call.fail(`its mode is '${text}'`);
  const axes = axesOf(call, given.shape);
  const direct = fused(call, given, axes, mode);
  if (direct !== null) return direct;
  const isDirect = mode === 'nearest' || isFloatingPoint(given.dtype);
  let x = isDirect ? given : given.to('float32');
  for (const axis of axes) x = resizeAxis(call, x, axis, mode);
  return isDirect ? x : x.round().to(given.dtype);
}

/** Operators of the standard domain. */
export const resizing: OperatorTable = { Resize: resize, Upsample: resize };
