/**
 * @file Layer normalisation and its gradient.
 */
import { castTensor, intList, tensorArg } from './elementwise.js';
import type { LoweringFn } from '../registry.js';
import { keptCoords, normalize, normalizeBackward, optional } from './normalize.js';
import { accumulateDtype } from '../reduce.js';

function lastDims(rank: number, count: number): number[] {
  return Array.from({ length: count }, (_, i) => rank - count + i);
}

const layerNorm: LoweringFn = (l, [input, shape, weight, bias, eps], call) => {
  const x = tensorArg(input!, call.op);
  const normalized = intList(shape!).length;
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

const layerNormBackward: LoweringFn = (
  l,
  [grad, input, shape, mean, rstd, weight, , mask],
  call,
) => {
  const x = tensorArg(input!, call.op);
  const acc = accumulateDtype(x.dtype);
  const normalized = intList(shape!).length;
  const dims = lastDims(x.shape.length, normalized);
  const at = keptCoords(l, dims)(l.vars(x.shape));
  const dtype = x.dtype;
  return normalizeBackward(l, {
    grad: tensorArg(grad!, call.op),
    input: x,
    dims,
    mean: l.ir.cast(tensorArg(mean!, call.op).load(at), acc),
    rstd: l.ir.cast(tensorArg(rstd!, call.op).load(at), acc),
    weight: optional(l, weight, (vars) => vars.slice(vars.length - normalized), x.shape, acc),
    parameterDims: x.shape.map((_, d) => d).filter((d) => !dims.includes(d)),
    parameterSizes: x.shape.slice(x.shape.length - normalized),
    mask: mask as readonly boolean[],
    dtypes: [dtype, call.results[1]?.dtype ?? dtype, call.results[2]?.dtype ?? dtype],
    throughStatistics: true,
  });
};

/** Decompositions by overload name. */
export const layerNormDecompositions: Readonly<Record<string, LoweringFn>> = {
  'aten::native_layer_norm': layerNorm,
  'aten::native_layer_norm_backward': layerNormBackward,
};
