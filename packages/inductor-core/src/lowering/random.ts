/**
 * @file Random operators: Philox numbers computed where they are used, so they need no memory and the
 * same seed gives the same numbers in eager and compiled code.
 *
 * A graph takes the generator's seed and offset as runtime scalars; its n-th random operator, in program
 * order, uses offset + n.
 */
import type { DType } from '@tessera/tensor';
import type { Expr } from '../ir/expr.js';
import { operandArg, operandExpr, tensorArg } from './elementwise.js';
import type { LoweredTensor } from './lowered-tensor.js';
import type { Lowering } from './lowering.js';
import type { LoweringCall, LoweringFn } from './registry.js';
import { linearize } from './view.js';

/** Names of the two scalars that carry the generator's state, unsigned 32-bit values. */
export const RNG_SEED = 'rng_seed';
export const RNG_OFFSET = 'rng_offset';

/** Numbers of the next random operator, one per element in row-major order. */
export function draw(l: Lowering, distribution: 'uniform' | 'normal', sizes: readonly number[], dtype: DType = 'float32'): Expr {
  const seed = l.scalar(RNG_SEED, 'int64');
  const base = l.scalar(RNG_OFFSET, 'int64');
  const offset = l.randomCount === 0 ? base : l.ir.op('add', [base, l.ir.const('int64', l.randomCount)]);
  l.randomCount++;
  const number = l.ir.random('float32', distribution, seed, offset, linearize(l, l.vars(sizes), sizes));
  return l.ir.cast(number, dtype);
}

/** A tensor of draws. It gets memory when read more than once, like any expensive value. */
function drawn(distribution: 'uniform' | 'normal'): LoweringFn {
  return (l, _args, call) => l.pointwise(call.sizes, draw(l, distribution, call.sizes, call.dtype));
}

/** Whether each element is kept, with probability 1 - p. */
function keepMask(l: Lowering, sizes: readonly number[], keep: number): LoweredTensor {
  return l.pointwise(sizes, l.ir.op('lt', [draw(l, 'uniform', sizes), l.ir.const('float32', keep)]));
}

/** native_dropout: input, p, train → output, mask. */
const nativeDropout: LoweringFn = (l, [input, p, train], call) => {
  const x = tensorArg(input!, call.op);
  const rate = Number(p);
  if (train === false || rate === 0) return [x, l.pointwise(x.sizes, l.ir.const('bool', 1))];
  if (rate === 1) return [l.pointwise(x.sizes, l.ir.const(x.dtype, 0)), l.pointwise(x.sizes, l.ir.const('bool', 0))];
  const mask = keepMask(l, x.sizes, 1 - rate);
  const scaled = l.ir.op('mul', [l.ir.op('mul', [x.expr, l.ir.cast(mask.expr, x.dtype)]), l.ir.const(x.dtype, 1 / (1 - rate))]);
  return [l.pointwise(x.sizes, scaled), mask];
};

const nativeDropoutBackward: LoweringFn = (l, [grad, mask, scale], call) => {
  const g = tensorArg(grad!, call.op);
  const keep = operandExpr(l, tensorArg(mask!, call.op), g.sizes, g.dtype);
  const factor = operandExpr(l, operandArg(scale!, call.op), g.sizes, g.dtype);
  return l.pointwise(g.sizes, l.ir.op('mul', [l.ir.op('mul', [g.expr, keep]), factor]));
};

function bernoulli(probability: (l: Lowering, args: Parameters<LoweringFn>[1], call: LoweringCall) => Expr): LoweringFn {
  return (l, args, call) => l.pointwise(call.sizes, l.ir.cast(l.ir.op('lt', [draw(l, 'uniform', call.sizes), probability(l, args, call)]), call.dtype));
}

/** Lowerings by overload name. */
export const randomLowerings: Readonly<Record<string, LoweringFn>> = {
  'aten::rand': drawn('uniform'),
  'aten::rand_like': drawn('uniform'),
  'aten::randn': drawn('normal'),
  'aten::randn_like': drawn('normal'),
  'aten::bernoulli': bernoulli((l, [self], call) => l.ir.cast(tensorArg(self!, call.op).expr, 'float32')),
  'aten::bernoulli.p': bernoulli((l, [, p], call) => operandExpr(l, operandArg(p!, call.op), call.sizes, 'float32')),
  'aten::native_dropout': nativeDropout,
  'aten::native_dropout_backward': nativeDropoutBackward,
};
