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
import type { IndexExpr } from '../../ir/index-expr.js';
import { operandArg, operandExpr, tensorArg } from './elementwise.js';
import { ExprMath } from '../expr-math.js';
import { lowerExtern } from '../extern.js';
import type { LoweredTensor } from '../lowered-tensor.js';
import type { Lowering } from '../lowering.js';
import { type LoweredArg, type LoweringCall, type LoweringFn, RuntimeScalar } from '../registry.js';
import { linearize, sizeArg } from './view-maps.js';
import { type Shape, fixed } from '../shape-math.js';
import { type LoweringOf, type LoweringTable, lowerings } from '../typed-lowering.js';

/** Names of the two scalars that carry the generator's state, unsigned 32-bit values. */
export const RNG_SEED = 'rng_seed';
export const RNG_OFFSET = 'rng_offset';

type Numbers = (distribution: 'uniform' | 'normal', index: IndexExpr) => Expr;

/** What the next random operator draws, in float32, by index. */
function numbers(l: Lowering): Numbers {
  const made =
    (seed: Expr, offset: Expr): Numbers =>
    (distribution, index) =>
      l.ir.random('float32', distribution, seed, offset, index);
  if (l.replay !== null) return made(l.replay.seed, l.replay.offset);
  const seed = l.scalar(RNG_SEED, 'int64');
  const base = l.scalar(RNG_OFFSET, 'int64');
  const offset =
    l.randomCount === 0 ? base : l.ir.op('add', [base, l.ir.const('int64', l.randomCount)]);
  l.randomCount++;
  return made(seed, offset);
}

/** Numbers of the next random operator, one per element in row-major order. */
export function draw(l: Lowering, distribution: 'uniform' | 'normal', sizes: Shape): Expr {
  return numbers(l)(distribution, linearize(l, l.vars(sizes), sizes));
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
    );
    const scaled = m.add(from, m.mul(number, distribution === 'uniform' ? m.sub(to, from) : to));
    return l.pointwise(call.shape, m.cast(scaled, call.dtype));
  };
}

/** Integers in [low, high), from 24 bits or 48, as the reference kernel has them. */
function integers(l: Lowering, low: number, high: number, call: LoweringCall): LoweredTensor {
  const m = new ExprMath(l.ir);
  const isLong = l.capabilities.dtypes.has('float64');
  const range = isLong ? high - low : Math.min(high - low, 2 ** 31 - 1);
  const drawn = numbers(l);
  // Numbers that a device does not store have no value there.
  if (range < high - low && call.dtype === 'int64')
    return l.pointwise(call.shape, l.ir.const('int64', -(2 ** 31)));
  const bits = (at: IndexExpr): Expr => m.mul(drawn('uniform', at), 2 ** 24);
  const index = linearize(l, l.vars(call.shape), call.shape);
  const isWide = range > 2 ** 16;
  const other = (): Expr => bits(l.ir.add(l.ir.scale(index, -1), l.ir.int(-1)));
  let number: Expr;
  if (isLong) {
    // Whole numbers below the float's last digit: the quotient rounded down is that of integers.
    const below = isWide
      ? m.add(m.mul(m.cast(other(), 'float64'), 2 ** 24), m.cast(bits(index), 'float64'))
      : bits(index);
    const quotient = l.ir.op('floor', [m.div(below, range)]);
    number = m.sub(below, m.mul(quotient, range));
    if (range < 2 ** 31) number = m.cast(number, 'int32');
  } else {
    const rest = (value: Expr): Expr =>
      l.ir.op('remainder', [m.cast(value, 'int32'), l.ir.const('int32', range)]);
    number = rest(bits(index));
    if (isWide) {
      // Sums of two remainders that need no more bits than they have.
      const sum = (a: Expr, b: Expr): Expr => {
        const left = m.sub(range, b);
        return m.where(m.ge(a, left), m.sub(a, left), m.add(a, b));
      };
      let shifted = rest(other());
      for (let bit = 0; bit < 24; bit++) shifted = sum(shifted, shifted);
      number = sum(shifted, number);
    }
  }
  return l.pointwise(call.shape, m.cast(m.add(m.cast(number, 'int64'), low), call.dtype));
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
  );
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
  );
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

/** See `takesSizes`. */
export const SIZED_DRAWS: readonly string[] = ['rand', 'randn', 'randint', 'randint.low'].map(
  (name) => `aten::${name}`,
);

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
  'aten::randint': (l, [high], call) => integers(l, 0, fixed(sizeArg(high)), call),
  'aten::randint.low': (l, [low, high], call) =>
    integers(l, fixed(sizeArg(low)), fixed(sizeArg(high)), call),
  'aten::bernoulli': bernoulli((l, [self], call) =>
    l.ir.cast(tensorArg(self!, call.op).expr, 'float32'),
  ),
  'aten::bernoulli.p': bernoulli((l, [, p], call) =>
    operandExpr(l, operandArg(p!, call.op), call.shape, 'float32'),
  ),
  'aten::native_dropout': nativeDropout,
  'aten::native_dropout_backward': nativeDropoutBackward,
});
