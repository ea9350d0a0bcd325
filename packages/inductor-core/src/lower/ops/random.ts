/**
 * @file Random operators: Philox numbers computed where they are used, so they need no memory and the
 * same seed gives the same numbers in eager and compiled code.
 *
 * A graph takes the generator's seed and offset as runtime scalars; its n-th random operator, in program
 * order, uses offset + n.
 */
import { type Node, getItem } from '@tessera/graph';
import type { DeviceType, DType, OpOverload } from '@tessera/tensor';
import { getOp, replayOf } from '@tessera/tensor/internal';
import type { Expr } from '../../ir/expr.js';
import { operandArg, operandExpr, tensorArg } from './elementwise.js';
import { ExprMath } from '../expr-math.js';
import { lowerExtern } from '../extern.js';
import type { LoweredTensor } from '../lowered-tensor.js';
import type { Lowering } from '../lowering.js';
import { type LoweredArg, type LoweringCall, type LoweringFn, RuntimeScalar } from '../registry.js';
import { linearize } from './view-maps.js';
import type { Shape } from '../shape-math.js';
import { type LoweringOf, type LoweringTable, lowerings } from '../typed-lowering.js';

/** Names of the two scalars that carry the generator's state, unsigned 32-bit values. */
export const RNG_SEED = 'rng_seed';
export const RNG_OFFSET = 'rng_offset';

/** Numbers of the next random operator in float32, one per element in row-major order. */
export function draw(l: Lowering, distribution: 'uniform' | 'normal', sizes: Shape): Expr {
  if (l.replay !== null) {
    const { seed, offset } = l.replay;
    return l.ir.random('float32', distribution, seed, offset, linearize(l, l.vars(sizes), sizes));
  }
  const seed = l.scalar(RNG_SEED, 'int64');
  const base = l.scalar(RNG_OFFSET, 'int64');
  const offset =
    l.randomCount === 0 ? base : l.ir.op('add', [base, l.ir.const('int64', l.randomCount)]);
  l.randomCount++;
  return l.ir.random('float32', distribution, seed, offset, linearize(l, l.vars(sizes), sizes));
}

/** Uniform numbers in [0, 1) of a dtype: 16-bit floats take only the bits they hold, to stay below 1. */
function uniform(l: Lowering, sizes: Shape, dtype: DType): Expr {
  const number = draw(l, 'uniform', sizes);
  const levels = dtype === 'float16' ? 2 ** 11 : dtype === 'bfloat16' ? 2 ** 8 : 0;
  if (levels === 0) return l.ir.cast(number, dtype);
  const m = new ExprMath(l.ir);
  return m.cast(m.mul(l.ir.op('floor', [m.mul(number, levels)]), 1 / levels), dtype);
}

/** A tensor of draws. It gets memory when read more than once, like any expensive value. */
function drawn(distribution: 'uniform' | 'normal'): LoweringFn {
  return (l, _args, call) =>
    l.pointwise(
      call.shape,
      distribution === 'uniform'
        ? uniform(l, call.shape, call.dtype)
        : l.ir.cast(draw(l, 'normal', call.shape), call.dtype),
    );
}

/** self, a, b: uniform in [a, b), or normal with mean a and deviation b. */
function scaled(
  distribution: 'uniform' | 'normal',
): LoweringOf<'aten::uniform' | 'aten::normal_functional'> {
  return (l, [, a, b], call) => {
    const m = new ExprMath(l.ir);
    // Rounded once, as the reference kernel does: uniform numbers are the same to the last bit.
    const wide = l.capabilities.dtypes.has('float64') ? 'float64' : call.dtype;
    const dtype =
      distribution === 'uniform' || call.dtype === 'float64' ? wide : ('float32' as const);
    const number = l.ir.cast(
      distribution === 'uniform'
        ? uniform(l, call.shape, call.dtype)
        : draw(l, 'normal', call.shape),
      dtype,
    );
    const [from, to] = [a, b].map((arg) =>
      operandExpr(l, operandArg(arg!, call.op), call.shape, dtype),
    ) as [Expr, Expr];
    const scaled = m.add(from, m.mul(number, distribution === 'uniform' ? m.sub(to, from) : to));
    return l.pointwise(call.shape, m.cast(scaled, call.dtype));
  };
}

/** Integers in [low, high), from the 24 bits of a uniform number. */
function integers(l: Lowering, low: number, high: number, call: LoweringCall): LoweredTensor {
  const m = new ExprMath(l.ir);
  const bits = m.cast(m.mul(draw(l, 'uniform', call.shape), 2 ** 24), 'int64');
  // More numbers than there are bits for may be more than a device stores.
  const range = Math.min(high - low, 2 ** 24);
  const below = l.ir.op('remainder', [bits, l.ir.const('int64', range)]);
  return l.pointwise(call.shape, m.cast(m.add(below, low), call.dtype));
}

/** native_dropout: input, p, train → output, mask. Training always takes one offset, as eager does. */
const nativeDropout: LoweringOf<'aten::native_dropout'> = (l, [x, p, train], call) => {
  const rate = Number(p);
  if (train === false) return [x, l.pointwise(x.shape, l.ir.const('bool', 1))];
  const m = new ExprMath(l.ir);
  const mask = l.pointwise(x.shape, m.lt(draw(l, 'uniform', x.shape), 1 - rate));
  // Where both are wanted the product reads the mask: one kernel, which draws once.
  if (isRead(call.node, 1)) mask.realize();
  return [
    l.pointwise(x.shape, m.where(mask.expr, m.mul(x.expr, rate === 1 ? 0 : 1 / (1 - rate)), 0)),
    mask,
  ];
};

function isRead(node: Node, item: number): boolean {
  return [...node.users.keys()].some(
    (user) => user.target === getItem && user.args[1] === item && user.users.size > 0,
  );
}

const nativeDropoutBackward: LoweringOf<'aten::native_dropout_backward'> = (
  l,
  [g, mask, scale],
) => {
  const m = new ExprMath(l.ir);
  const keep = operandExpr(l, mask, g.shape, g.dtype);
  return l.pointwise(g.shape, m.mul(m.mul(g.expr, keep), operandExpr(l, scale, g.shape, g.dtype)));
};

/** 1 with a probability that is compared in single precision. */
function bernoulli(
  probability: (l: Lowering, args: Parameters<LoweringFn>[1], call: LoweringCall) => Expr,
): LoweringFn {
  return (l, args, call) => {
    const limit = probability(l, args, call);
    return l.pointwise(
      call.shape,
      l.ir.cast(l.ir.op('lt', [draw(l, 'uniform', call.shape), limit]), call.dtype),
    );
  };
}

/** self, lambd: -log(1 - u) / lambd. */
const exponential: LoweringOf<'aten::exponential'> = (l, [, lambd], call) => {
  const m = new ExprMath(l.ir);
  const rate = operandExpr(l, lambd, call.shape, 'float32');
  const u = draw(l, 'uniform', call.shape);
  const waited = l.ir.op('div', [m.neg(l.ir.op('log1p', [m.neg(u)])), rate]);
  return l.pointwise(call.shape, m.cast(waited, call.dtype));
};

/** self, mean, std: the exponential of a normal number. */
const logNormal: LoweringOf<'aten::log_normal'> = (l, [, mean, std], call) => {
  const m = new ExprMath(l.ir);
  const [center, width] = [mean, std].map((arg) =>
    operandExpr(l, operandArg(arg!, call.op), call.shape, 'float32'),
  ) as [Expr, Expr];
  const number = m.add(center, m.mul(draw(l, 'normal', call.shape), width));
  return l.pointwise(call.shape, m.cast(l.ir.op('exp', [number]), call.dtype));
};

/**
 * A random operator without a lowering of its own: its reference kernel is given its turn among the graph's draws,
 * as `replayOf` has it, rather than what the generator is at when it runs.
 */
export function lowerRandomExtern(
  l: Lowering,
  args: readonly LoweredArg[],
  call: LoweringCall,
  device: DeviceType,
): (LoweredTensor | null)[] {
  const replay = replayOf(getOp(call.op));
  if (replay === null || !l.capabilities.extern) return lowerExtern(l, args, call, device);
  const [seed, offset] = [RNG_SEED, RNG_OFFSET].map(
    (name) => new RuntimeScalar(l.scalar(name, 'int64'), 'int'),
  ) as [RuntimeScalar, RuntimeScalar];
  const all = [seed, offset, l.randomCount++, ...args];
  return lowerExtern(l, all, { ...call, op: replay.qualifiedName }, device);
}

/**
 * Random operators whose numbers code repeats wherever it runs. Probabilities in a tensor are checked by the reference
 * kernel alone.
 */
const REPEATED =
  /^aten::(rand|rand_like|randn|randn_like|randint|randint\.low|uniform|normal_functional|exponential|log_normal|bernoulli\.p|native_dropout)$/;
/** Those of them that take a logarithm, which code has in float32. */
const LOGARITHMS = /norm|randn|exponential/;

/** Whether eager operators may run a random operator as code. A number of float64 has more digits from its reference kernel. */
export function isRepeatedByCode(op: OpOverload, dtype: DType): boolean {
  const name = op.qualifiedName;
  return REPEATED.test(name) && !(dtype === 'float64' && LOGARITHMS.test(name));
}

/** Lowerings by overload name. */
export const randomLowerings: LoweringTable = lowerings({
  'aten::rand': drawn('uniform'),
  'aten::rand_like': drawn('uniform'),
  'aten::randn': drawn('normal'),
  'aten::randn_like': drawn('normal'),
  'aten::exponential': exponential,
  'aten::log_normal': logNormal,
  'aten::uniform': scaled('uniform'),
  'aten::normal_functional': scaled('normal'),
  'aten::randint': (l, [high], call) => integers(l, 0, Number(high), call),
  'aten::randint.low': (l, [low, high], call) => integers(l, Number(low), Number(high), call),
  'aten::bernoulli': bernoulli((l, [self], call) =>
    l.ir.cast(tensorArg(self!, call.op).expr, 'float32'),
  ),
  'aten::bernoulli.p': bernoulli((l, [, p], call) =>
    operandExpr(l, operandArg(p!, call.op), call.shape, 'float32'),
  ),
  'aten::native_dropout': nativeDropout,
  'aten::native_dropout_backward': nativeDropoutBackward,
});
