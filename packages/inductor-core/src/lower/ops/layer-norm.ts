/**
 * @file Layer normalisation and its gradient.
 */
import { castTensor } from './elementwise.js';
import { keptCoords, normalize, normalizeBackward, optional } from './normalize.js';
import { accumulateDtype } from '../reduce.js';
import { type LoweringTable, type SizedLoweringOf, lowerings } from '../typed-lowering.js';

function lastDims(rank: number, count: number): number[] {
  return Array.from({ length: count }, (_, i) => rank - count + i);
}

const layerNorm: SizedLoweringOf<'aten::native_layer_norm'> = (
  l,
  [x, shape, weight, bias, eps],
  call,
) => {
  const normalized = shape.length;
  const { out, mean, rstd } = normalize(l, {
    input: x,
    dims: lastDims(x.shape.length, normalized),
    eps: Number(eps),
    weight,
    bias,
    parameterCoords: (vars) => vars.slice(vars.length - normalized),
    dtype: call.dtype,
  });
  return [
    out,
    castTensor(l, mean, call.results[1]!.dtype),
    castTensor(l, rstd, call.results[2]!.dtype),
  ];
};

const layerNormBackward: SizedLoweringOf<'aten::native_layer_norm_backward'> = (
  l,
  [grad, x, shape, mean, rstd, weight, , mask],
  call,
) => {
  const acc = accumulateDtype(x.dtype);
  const normalized = shape.length;
  const dims = lastDims(x.shape.length, normalized);
  const at = keptCoords(l, dims)(l.vars(x.shape));
  const dtype = x.dtype;
  return normalizeBackward(l, {
    grad: grad,
    input: x,
    dims,
    mean: l.ir.cast(mean.load(at), acc),
    rstd: l.ir.cast(rstd.load(at), acc),
    weight: optional(l, weight, (vars) => vars.slice(vars.length - normalized), x.shape, acc),
    parameterDims: x.shape.map((_, d) => d).filter((d) => !dims.includes(d)),
    parameterSizes: x.shape.slice(x.shape.length - normalized),
    mask,
    dtypes: [dtype, call.results[1]?.dtype ?? dtype, call.results[2]?.dtype ?? dtype],
    throughStatistics: true,
  });
};

/** Operators whose sizes only say how many dimensions are normalised. */
export const SIZED_NORMS: readonly string[] = [
  'aten::native_layer_norm',
  'aten::native_layer_norm_backward',
  'aten::native_group_norm',
  'aten::native_group_norm_backward',
];

/** Decompositions by overload name. */
export const layerNormDecompositions: LoweringTable = lowerings({
  'aten::native_layer_norm': layerNorm,
  'aten::native_layer_norm_backward': layerNormBackward,
});
