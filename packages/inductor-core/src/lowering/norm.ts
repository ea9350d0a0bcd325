/**
 * @file Normalisations and their gradients: moments by Welford's method, the rest pointwise.
 *
 * Layer norm, batch norm and group norm differ only in which dimensions are averaged and over which
 * the weight varies, so they share `normalize` and `normalizeBackward`.
 */
import type { DType } from '@tessera/tensor';
import type { Expr } from '../ir/expr.js';
import type { IndexExpr } from '../ir/index-expr.js';
import { castTensor, intList, tensorArg } from './elementwise.js';
import { ExprMath } from './expr-math.js';
import { LoweredTensor } from './lowered-tensor.js';
import type { Lowering } from './lowering.js';
import { accumulateDtype, reduce } from './reduce.js';
import { countOf, momentsOf } from './reduction.js';
import type { LoweredArg, LoweringCall, LoweringFn } from './registry.js';

/** Coordinates of a per-channel parameter or a statistic at the canonical coordinates of the input. */
type Project = (vars: readonly IndexExpr[]) => readonly IndexExpr[];

/** A parameter that may be missing, in the accumulating type. */
function optional(l: Lowering, arg: LoweredArg, project: Project, sizes: readonly number[], dtype: DType): Expr | null {
  return arg instanceof LoweredTensor ? l.ir.cast(arg.load(project(l.vars(sizes))), dtype) : null;
}

/** (x - mean) · rstd · weight + bias. */
function affine(l: Lowering, x: Expr, mean: Expr, rstd: Expr, weight: Expr | null, bias: Expr | null): Expr {
  const m = new ExprMath(l.ir);
  let value = m.mul(m.sub(x, mean), rstd);
  if (weight !== null) value = m.mul(value, weight);
  return bias === null ? value : m.add(value, bias);
}

interface NormCall {
  readonly input: LoweredTensor;
  readonly dims: readonly number[];
  readonly eps: number;
  readonly weight: LoweredArg;
  readonly bias: LoweredArg;
  readonly parameterCoords: Project;
  readonly dtype: DType;
}

interface NormResult {
  readonly out: LoweredTensor;
  /** Reduced dimensions kept as 1. */
  readonly mean: LoweredTensor;
  readonly rstd: LoweredTensor;
  readonly m2: LoweredTensor;
  readonly count: number;
}

function keptCoords(l: Lowering, dims: readonly number[]): Project {
  return (vars) => vars.map((v, d) => (dims.includes(d) ? l.ir.int(0) : v));
}

function normalize(l: Lowering, call: NormCall): NormResult {
  const acc = accumulateDtype(call.dtype);
  const x = castTensor(l, call.input, acc);
  const m = new ExprMath(l.ir);
  const { mean, m2, count } = momentsOf(l, x, call.dims, true);
  const rstd = l.pointwise(m2.sizes, m.rsqrt(m.add(m.div(m2.expr, Math.max(count, 1)), call.eps)));
  const at = keptCoords(l, call.dims)(l.vars(x.sizes));
  const weight = optional(l, call.weight, call.parameterCoords, x.sizes, acc);
  const bias = optional(l, call.bias, call.parameterCoords, x.sizes, acc);
  const out = l.pointwise(x.sizes, m.cast(affine(l, x.expr, mean.load(at), rstd.load(at), weight, bias), call.dtype));
  return { out, mean, rstd, m2, count };
}

interface NormBackward {
  readonly grad: LoweredTensor;
  readonly input: LoweredTensor;
  readonly dims: readonly number[];
  readonly mean: Expr;
  readonly rstd: Expr;
  readonly weight: Expr | null;
  /** Dimensions over which the parameters' gradients are summed. */
  readonly parameterDims: readonly number[];
  readonly parameterSizes: readonly number[];
  readonly mask: readonly boolean[];
  readonly dtypes: readonly DType[];
  /** False: statistics were given, so the input's gradient is only scaled. */
  readonly throughStatistics: boolean;
}

/** Gradients of input, weight and bias as far as the mask asks for them. */
function normalizeBackward(l: Lowering, call: NormBackward): (LoweredTensor | null)[] {
  const acc = accumulateDtype(call.input.dtype);
  const sizes = call.input.sizes;
  const m = new ExprMath(l.ir);
  const g = l.ir.cast(call.grad.expr, acc);
  const normal = m.mul(m.sub(l.ir.cast(call.input.expr, acc), call.mean), call.rstd);
  const weighted = call.weight === null ? g : m.mul(g, call.weight);
  const sumOver = (value: Expr, dims: readonly number[], keepdim: boolean): LoweredTensor => reduce(l, 'sum', l.pointwise(sizes, value), dims, keepdim, acc)[0]!;
  const parameter = (value: Expr, dtype: DType): LoweredTensor => {
    const sum = sumOver(value, call.parameterDims, false);
    return castTensor(l, sum.view(call.parameterSizes, reshaped(l, sum.sizes, call.parameterSizes)), dtype);
  };
  let gradInput: LoweredTensor | null = null;
  if (call.mask[0]) {
    const count = countOf(sizes, call.dims);
    const at = keptCoords(l, call.dims)(l.vars(sizes));
    let value = m.mul(call.rstd, weighted);
    if (call.throughStatistics) {
      const average = m.div(sumOver(weighted, call.dims, true).load(at), count);
      const slope = m.div(sumOver(m.mul(weighted, normal), call.dims, true).load(at), count);
      value = m.mul(call.rstd, m.sub(m.sub(weighted, average), m.mul(normal, slope)));
    }
    gradInput = l.pointwise(sizes, m.cast(value, call.dtypes[0]!));
  }
  return [gradInput, call.mask[1] ? parameter(m.mul(g, normal), call.dtypes[1]!) : null, call.mask[2] ? parameter(g, call.dtypes[2]!) : null];
}

/** Coordinates of equal-sized shapes whose dimensions agree but for those of size 1. */
function reshaped(l: Lowering, from: readonly number[], to: readonly number[]): IndexExpr[] {
  const vars = l.vars(to).filter((_, d) => to[d] !== 1);
  return from.map((size) => (size === 1 ? l.ir.int(0) : vars.shift()!));
}

function lastDims(rank: number, count: number): number[] {
  return Array.from({ length: count }, (_, i) => rank - count + i);
}

const layerNorm: LoweringFn = (l, [input, shape, weight, bias, eps], call) => {
  const x = tensorArg(input!, call.op);
  const normalized = intList(shape!).length;
  const { out, mean, rstd } = normalize(l, {
    input: x, dims: lastDims(x.sizes.length, normalized), eps: Number(eps), weight, bias,
    parameterCoords: (vars) => vars.slice(vars.length - normalized), dtype: call.dtype,
  });
  return [out, castTensor(l, mean, call.results[1]!.dtype), castTensor(l, rstd, call.results[2]!.dtype)];
};

const layerNormBackward: LoweringFn = (l, [grad, input, shape, mean, rstd, weight, , mask], call) => {
  const x = tensorArg(input!, call.op);
  const acc = accumulateDtype(x.dtype);
  const normalized = intList(shape!).length;
  const dims = lastDims(x.sizes.length, normalized);
  const at = keptCoords(l, dims)(l.vars(x.sizes));
  const dtype = x.dtype;
  return normalizeBackward(l, {
    grad: tensorArg(grad!, call.op), input: x, dims,
    mean: l.ir.cast(tensorArg(mean!, call.op).load(at), acc),
    rstd: l.ir.cast(tensorArg(rstd!, call.op).load(at), acc),
    weight: optional(l, weight, (vars) => vars.slice(vars.length - normalized), x.sizes, acc),
    parameterDims: x.sizes.map((_, d) => d).filter((d) => !dims.includes(d)),
    parameterSizes: x.sizes.slice(x.sizes.length - normalized),
    mask: mask as readonly boolean[],
    dtypes: [dtype, call.results[1]?.dtype ?? dtype, call.results[2]?.dtype ?? dtype],
    throughStatistics: true,
  });
};

function channelDims(rank: number): number[] {
  return Array.from({ length: rank }, (_, d) => d).filter((d) => d !== 1);
}

const perChannel: Project = (vars) => [vars[1]!];

/** A statistic kept as [1, C, 1, …] as [C]. */
function flatChannels(l: Lowering, x: LoweredTensor): LoweredTensor {
  const channels = x.sizes[1]!;
  return x.view([channels], reshaped(l, x.sizes, [channels]));
}

/** Running statistics moved towards the batch's, as new values. */
function updatedStatistics(l: Lowering, result: NormResult, runningMean: LoweredArg, runningVar: LoweredArg, momentum: number): (LoweredTensor | null)[] {
  const m = new ExprMath(l.ir);
  const blend = (old: LoweredArg, fresh: LoweredTensor, scale: number): LoweredTensor | null => {
    if (!(old instanceof LoweredTensor)) return null;
    const value = l.ir.cast(m.mul(flatChannels(l, fresh).expr, scale * momentum), old.dtype);
    return l.pointwise(old.sizes, m.add(value, m.mul(old.expr, 1 - momentum)));
  };
  return [blend(runningMean, result.mean, 1), blend(runningVar, result.m2, 1 / Math.max(result.count - 1, 1))];
}

interface BatchNormArgs {
  readonly training: boolean;
  readonly momentum: number;
  readonly eps: number;
  readonly running: readonly [LoweredArg, LoweredArg];
}

function batchNorm(l: Lowering, input: LoweredTensor, weight: LoweredArg, bias: LoweredArg, args: BatchNormArgs, dtype: DType): { readonly results: LoweredTensor[]; readonly updated: (LoweredTensor | null)[] } {
  const dims = channelDims(input.sizes.length);
  const acc = accumulateDtype(dtype);
  const [runningMean, runningVar] = args.running;
  const m = new ExprMath(l.ir);
  if (args.training || !(runningMean instanceof LoweredTensor) || !(runningVar instanceof LoweredTensor)) {
    const result = normalize(l, { input, dims, eps: args.eps, weight, bias, parameterCoords: perChannel, dtype });
    return {
      results: [result.out, flatChannels(l, result.mean), flatChannels(l, result.rstd)],
      updated: updatedStatistics(l, result, runningMean, runningVar, args.momentum),
    };
  }
  const at = perChannel(l.vars(input.sizes));
  const rstd = m.rsqrt(m.add(l.ir.cast(runningVar.load(at), acc), args.eps));
  const value = affine(l, l.ir.cast(input.expr, acc), l.ir.cast(runningMean.load(at), acc), rstd, optional(l, weight, perChannel, input.sizes, acc), optional(l, bias, perChannel, input.sizes, acc));
  const empty = (): LoweredTensor => l.pointwise([0], l.ir.const(acc, 0));
  return { results: [l.pointwise(input.sizes, m.cast(value, dtype)), empty(), empty()], updated: [runningMean, runningVar] };
}

/** Arguments: input, weight, bias, running_mean, running_var, training, momentum, eps. */
function batchNormForm(results: number): LoweringFn {
  return (l, [input, weight, bias, runningMean, runningVar, training, momentum, eps], call) => {
    const args = { training: training === true, momentum: Number(momentum), eps: Number(eps), running: [runningMean, runningVar] as const };
    const made = batchNorm(l, tensorArg(input!, call.op), weight, bias, args, call.dtype);
    return asRecorded(l, [...made.results, ...made.updated].slice(0, results), call);
  };
}

/** Results in their recorded types: saved statistics differ between devices and modes. */
function asRecorded(l: Lowering, results: readonly (LoweredTensor | null)[], call: LoweringCall): (LoweredTensor | null)[] {
  return results.map((tensor, i) => (tensor === null || call.results[i] == null ? tensor : castTensor(l, tensor, call.results[i].dtype)));
}

const batchNormNoTraining: LoweringFn = (l, [input, weight, bias, runningMean, runningVar, momentum, eps], call) =>
  asRecorded(l, batchNorm(l, tensorArg(input!, call.op), weight, bias, { training: false, momentum: Number(momentum), eps: Number(eps), running: [runningMean, runningVar] }, call.dtype).results, call);

const batchNormNoStats: LoweringFn = (l, [input, weight, bias, , momentum, eps], call) =>
  asRecorded(l, batchNorm(l, tensorArg(input!, call.op), weight, bias, { training: true, momentum: Number(momentum), eps: Number(eps), running: [null, null] }, call.dtype).results, call);

const batchNormBackward: LoweringFn = (l, [grad, input, weight, runningMean, runningVar, saveMean, saveInvstd, train, eps, mask], call) => {
  const x = tensorArg(input!, call.op);
  const acc = accumulateDtype(x.dtype);
  const at = perChannel(l.vars(x.sizes));
  const m = new ExprMath(l.ir);
  const training = train === true;
  const mean = tensorArg((training ? saveMean : runningMean)!, call.op).load(at);
  const rstd = training ? l.ir.cast(tensorArg(saveInvstd!, call.op).load(at), acc) : m.rsqrt(m.add(l.ir.cast(tensorArg(runningVar!, call.op).load(at), acc), Number(eps)));
  const dims = channelDims(x.sizes.length);
  return normalizeBackward(l, {
    grad: tensorArg(grad!, call.op), input: x, dims, mean: l.ir.cast(mean, acc), rstd,
    weight: optional(l, weight, perChannel, x.sizes, acc),
    parameterDims: dims, parameterSizes: [x.sizes[1]!], mask: mask as readonly boolean[],
    dtypes: [x.dtype, call.results[1]?.dtype ?? x.dtype, call.results[2]?.dtype ?? x.dtype],
    throughStatistics: training,
  });
};

/** input as [N, group, C / group, HxW]. */
function grouped(l: Lowering, x: LoweredTensor, sizes: readonly number[]): LoweredTensor {
  const [, group, perGroup] = sizes as [number, number, number, number];
  const [n, g, c, p] = l.vars(sizes) as [IndexExpr, IndexExpr, IndexExpr, IndexExpr];
  void group;
  const spatial = x.sizes.slice(2);
  let below = spatial.reduce((a, b) => a * b, 1);
  const rest = spatial.map((size) => {
    below /= size;
    return size === 1 ? l.ir.int(0) : l.ir.mod(l.ir.div(p, below), size);
  });
  return x.view(sizes, [n, l.ir.add(l.ir.scale(g, perGroup), c), ...rest]);
}

/** The inverse of `grouped`. */
function ungrouped(l: Lowering, x: LoweredTensor, sizes: readonly number[], perGroup: number): LoweredTensor {
  const [n, c, ...spatial] = l.vars(sizes) as [IndexExpr, IndexExpr, ...IndexExpr[]];
  let below = 1;
  let flat: IndexExpr = l.ir.int(0);
  for (let d = spatial.length - 1; d >= 0; d--) {
    flat = l.ir.add(flat, l.ir.scale(spatial[d]!, below));
    below *= sizes[d + 2]!;
  }
  return x.view(sizes, [n, l.ir.div(c, perGroup), l.ir.mod(c, perGroup), flat]);
}

const groupNorm: LoweringFn = (l, [input, weight, bias, batch, channels, pixels, group, eps], call) => {
  const x = tensorArg(input!, call.op);
  const perGroup = Number(channels) / Number(group);
  const sizes = [Number(batch), Number(group), perGroup, Number(pixels)];
  const channel: Project = ([, g, c]) => [l.ir.add(l.ir.scale(g!, perGroup), c!)];
  const { out, mean, rstd } = normalize(l, { input: grouped(l, x, sizes), dims: [2, 3], eps: Number(eps), weight, bias, parameterCoords: channel, dtype: call.dtype });
  const statistic = (s: LoweredTensor, at: number): LoweredTensor => {
    const [n, g] = l.vars([sizes[0]!, sizes[1]!]);
    return castTensor(l, s.view([sizes[0]!, sizes[1]!], [n!, g!, l.ir.int(0), l.ir.int(0)]), call.results[at]!.dtype);
  };
  return [ungrouped(l, out, x.sizes, perGroup), statistic(mean, 1), statistic(rstd, 2)];
};

const groupNormBackward: LoweringFn = (l, [grad, input, mean, rstd, weight, batch, channels, pixels, group, mask], call) => {
  const x = tensorArg(input!, call.op);
  const acc = accumulateDtype(x.dtype);
  const perGroup = Number(channels) / Number(group);
  const sizes = [Number(batch), Number(group), perGroup, Number(pixels)];
  const [n, g] = l.vars(sizes);
  const channel: Project = ([, gg, c]) => [l.ir.add(l.ir.scale(gg!, perGroup), c!)];
  const statistic = (arg: LoweredArg): Expr => l.ir.cast(tensorArg(arg, call.op).load([n!, g!]), acc);
  const wanted = mask as readonly boolean[];
  const shared = {
    grad: grouped(l, tensorArg(grad!, call.op), sizes), input: grouped(l, x, sizes), dims: [2, 3],
    mean: statistic(mean!), rstd: statistic(rstd!), weight: optional(l, weight, channel, sizes, acc),
    parameterDims: [0, 3], parameterSizes: [sizes[1]!, perGroup],
    dtypes: [x.dtype, call.results[1]?.dtype ?? x.dtype, call.results[2]?.dtype ?? x.dtype], throughStatistics: true,
  };
  const [gradInput, gradWeight, gradBias] = normalizeBackward(l, { ...shared, mask: wanted });
  const flat = (t: LoweredTensor | null | undefined): LoweredTensor | null => {
    if (t == null) return null;
    const [c] = l.vars([Number(channels)]);
    return t.view([Number(channels)], [l.ir.div(c!, perGroup), l.ir.mod(c!, perGroup)]);
  };
  return [gradInput == null ? null : ungrouped(l, gradInput, x.sizes, perGroup), flat(gradWeight), flat(gradBias)];
};

/** Decompositions by overload name. */
export const normDecompositions: Readonly<Record<string, LoweringFn>> = {
  'aten::native_layer_norm': layerNorm,
  'aten::native_layer_norm_backward': layerNormBackward,
  'aten::_native_batch_norm_legit_functional': batchNormForm(5),
  'aten::native_batch_norm': batchNormForm(3),
  'aten::_native_batch_norm_legit': batchNormForm(3),
  'aten::_native_batch_norm_legit.no_stats': batchNormNoStats,
  'aten::_native_batch_norm_legit_no_training': batchNormNoTraining,
  'aten::native_batch_norm_backward': batchNormBackward,
  'aten::native_group_norm': groupNorm,
  'aten::native_group_norm_backward': groupNormBackward,
};
