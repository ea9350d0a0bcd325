/**
 * @file Batch normalisation in its many overloads, and its gradient.
 */
import { sizeMax, sizeSub } from '@tessera/shared';
import type { DType } from '@tessera/tensor';
import type { Expr } from '../../ir/expr.js';
import { castTensor, tensorArg } from './elementwise.js';
import { ExprMath } from '../expr-math.js';
import { LoweredTensor } from '../lowered-tensor.js';
import type { Lowering } from '../lowering.js';
import type { LoweredArg, LoweringCall } from '../registry.js';
import {
  type NormResult,
  type Project,
  affine,
  normalize,
  normalizeBackward,
  optional,
  reshaped,
} from './normalize.js';
import { accumulateDtype } from '../reduce.js';
import { type LoweringOf, type LoweringTable, lowerings } from '../typed-lowering.js';

function channelDims(rank: number): number[] {
  return Array.from({ length: rank }, (_, d) => d).filter((d) => d !== 1);
}

const perChannel: Project = (vars) => [vars[1]!];

/** A statistic kept as [1, C, 1, …] as [C]. */
function flatChannels(l: Lowering, x: LoweredTensor): LoweredTensor {
  const channels = x.shape[1]!;
  return x.view([channels], reshaped(l, x.shape, [channels]));
}

/** Running statistics moved towards the batch's, as new values. */
function updatedStatistics(
  l: Lowering,
  result: NormResult,
  runningMean: LoweredArg,
  runningVar: LoweredArg,
  momentum: number,
): (LoweredTensor | null)[] {
  const m = new ExprMath(l.ir);
  const blend = (old: LoweredArg, fresh: Expr, scale: number): LoweredTensor | null => {
    if (!(old instanceof LoweredTensor)) return null;
    const value = l.ir.cast(m.mul(fresh, scale * momentum), old.dtype);
    return l.pointwise(old.shape, m.add(value, m.mul(old.expr, 1 - momentum)));
  };
  const mean = flatChannels(l, result.mean).expr;
  const m2 = flatChannels(l, result.m2).expr;
  const others = sizeMax(sizeSub(result.count, 1), 1);
  return [
    blend(runningMean, mean, 1),
    typeof others === 'number'
      ? blend(runningVar, m2, 1 / others)
      : blend(runningVar, m.div(m2, l.ir.sizeValue(m2.dtype, others)), 1),
  ];
}

interface BatchNormArgs {
  readonly training: boolean;
  readonly momentum: number;
  readonly eps: number;
  readonly running: readonly [LoweredArg, LoweredArg];
}

function batchNorm(
  l: Lowering,
  input: LoweredTensor,
  weight: LoweredArg,
  bias: LoweredArg,
  args: BatchNormArgs,
  dtype: DType,
): { readonly results: LoweredTensor[]; readonly updated: (LoweredTensor | null)[] } {
  const dims = channelDims(input.shape.length);
  const acc = accumulateDtype(dtype);
  const [runningMean, runningVar] = args.running;
  const m = new ExprMath(l.ir);
  if (
    args.training ||
    !(runningMean instanceof LoweredTensor) ||
    !(runningVar instanceof LoweredTensor)
  ) {
    const result = normalize(l, {
      input,
      dims,
      eps: args.eps,
      weight,
      bias,
      parameterCoords: perChannel,
      dtype,
    });
    return {
      results: [result.out, flatChannels(l, result.mean), flatChannels(l, result.rstd)],
      updated: updatedStatistics(l, result, runningMean, runningVar, args.momentum),
    };
  }
  const at = perChannel(l.vars(input.shape));
  const rstd = m.rsqrt(m.add(l.ir.cast(runningVar.load(at), acc), args.eps));
  const value = affine(
    l,
    l.ir.cast(input.expr, acc),
    l.ir.cast(runningMean.load(at), acc),
    rstd,
    optional(l, weight, perChannel, input.shape, acc),
    optional(l, bias, perChannel, input.shape, acc),
  );
  const empty = (): LoweredTensor => l.pointwise([0], l.ir.const(acc, 0));
  return {
    results: [l.pointwise(input.shape, m.cast(value, dtype)), empty(), empty()],
    updated: [runningMean, runningVar],
  };
}

/** Arguments: input, weight, bias, running_mean, running_var, training, momentum, eps. */
function batchNormForm(
  results: number,
): LoweringOf<
  | 'aten::_native_batch_norm_legit_functional'
  | 'aten::native_batch_norm'
  | 'aten::_native_batch_norm_legit'
> {
  return (l, [input, weight, bias, runningMean, runningVar, training, momentum, eps], call) => {
    const args = {
      training: training === true,
      momentum: Number(momentum),
      eps: Number(eps),
      running: [runningMean, runningVar] as const,
    };
    const made = batchNorm(l, input, weight, bias, args, call.dtype);
    return asRecorded(l, [...made.results, ...made.updated].slice(0, results), call);
  };
}

/** Results in their recorded types: saved statistics differ between devices and modes. */
function asRecorded(
  l: Lowering,
  results: readonly (LoweredTensor | null)[],
  call: LoweringCall,
): (LoweredTensor | null)[] {
  return results.map((tensor, i) =>
    tensor === null || call.results[i] == null
      ? tensor
      : castTensor(l, tensor, call.results[i].dtype),
  );
}

const batchNormNoTraining: LoweringOf<'aten::_native_batch_norm_legit_no_training'> = (
  l,
  [input, weight, bias, runningMean, runningVar, momentum, eps],
  call,
) =>
  asRecorded(
    l,
    batchNorm(
      l,
      tensorArg(input, call.op),
      weight,
      bias,
      {
        training: false,
        momentum: Number(momentum),
        eps: Number(eps),
        running: [runningMean, runningVar],
      },
      call.dtype,
    ).results,
    call,
  );

const batchNormNoStats: LoweringOf<'aten::_native_batch_norm_legit.no_stats'> = (
  l,
  [input, weight, bias, , momentum, eps],
  call,
) =>
  asRecorded(
    l,
    batchNorm(
      l,
      input,
      weight,
      bias,
      { training: true, momentum: Number(momentum), eps: Number(eps), running: [null, null] },
      call.dtype,
    ).results,
    call,
  );

const batchNormBackward: LoweringOf<'aten::native_batch_norm_backward'> = (
  l,
  [grad, x, weight, runningMean, runningVar, saveMean, saveInvstd, train, eps, mask],
  call,
) => {
  const acc = accumulateDtype(x.dtype);
  const at = perChannel(l.vars(x.shape));
  const m = new ExprMath(l.ir);
  const training = train === true;
  const statistic = (kept: LoweredTensor | null): Expr =>
    l.ir.cast(tensorArg(kept, call.op).load(at), acc);
  const mean = statistic(training ? saveMean : runningMean);
  const rstd = training
    ? statistic(saveInvstd)
    : m.rsqrt(m.add(statistic(runningVar), Number(eps)));
  const dims = channelDims(x.shape.length);
  return normalizeBackward(l, {
    grad: grad,
    input: x,
    dims,
    mean,
    rstd,
    weight: optional(l, weight, perChannel, x.shape, acc),
    parameterDims: dims,
    parameterSizes: [x.shape[1]!],
    mask,
    dtypes: [x.dtype, call.results[1]?.dtype ?? x.dtype, call.results[2]?.dtype ?? x.dtype],
    throughStatistics: training,
  });
};

/** Decompositions by overload name. */
export const batchNormDecompositions: LoweringTable = lowerings({
  'aten::_native_batch_norm_legit': batchNormForm(3),
  'aten::_native_batch_norm_legit_functional': batchNormForm(5),
  'aten::native_batch_norm': batchNormForm(3),
  'aten::_native_batch_norm_legit.no_stats': batchNormNoStats,
  'aten::_native_batch_norm_legit_no_training': batchNormNoTraining,
  'aten::native_batch_norm_backward': batchNormBackward,
});
