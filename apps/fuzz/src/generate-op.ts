/**
 * @file Random operators on tensors that exist: candidates, which the generator tries and keeps if they run.
 */
import { type DType, type Tensor, isFloatingPoint } from '@tessera/tensor';
import type { Dice } from './dice.js';
import type { Arg } from './program.js';

/** An operator to call on a tensor. */
export interface Call {
  readonly name: string;
  readonly args: readonly Arg[];
  readonly pick?: number | string;
  /** A function of the package; the tensor is among the arguments. */
  readonly free?: boolean;
}

/** What candidates are drawn from. */
export interface Pool {
  readonly dice: Dice;
  readonly tensors: readonly (readonly [string, Tensor])[];
  readonly numbers: readonly string[];
}

const UNARY = 'sin cos tanh sigmoid relu neg abs square exp erf silu gelu sign floor round isnan'
  .concat(' zerosLike onesLike clone detach contiguous logicalNot softplus ceil')
  .split(' ');
const BINARY = 'add sub mul div maximum minimum remainder pow'.split(' ');
const COMPARE = 'gt lt eq ne ge le'.split(' ');
const LOGIC = 'logicalAnd logicalOr bitwiseAnd bitwiseXor'.split(' ');
const CASTS: readonly DType[] = [
  'float32',
  'float32',
  'float64',
  'int64',
  'int32',
  'bool',
  'float16',
  'bfloat16',
  'uint8',
];

const dimOf = (dice: Dice, t: Tensor): number => dice.below(Math.max(1, t.ndim));

/** A number: mostly a constant, now and then one that changes between calls. */
function scalar({ dice, numbers }: Pool, t: Tensor): Arg {
  if (dice.chance(0.3) && numbers.length > 0) return { n: dice.pick(numbers) };
  if (t.ndim > 0 && dice.chance(0.1)) return { size: '', dim: dimOf(dice, t) };
  return isFloatingPoint(t.dtype) || dice.chance(0.15)
    ? dice.pick([0.5, 2, -1.5, 0.25, 1, 3])
    : dice.pick([1, 2, 3, -1]);
}

function other(pool: Pool, t: Tensor, allowsNumber = true): Arg {
  if (allowsNumber && pool.dice.chance(0.35)) return scalar(pool, t);
  const near = pool.tensors.filter(([, u]) => u.device === t.device || u.ndim === 0);
  const fitting = near.filter(([, u]) =>
    u.shape.every((size, d) => {
      const at = d + t.ndim - u.ndim;
      return at < 0 || size === 1 || t.shape[at] === 1 || size === t.shape[at];
    }),
  );
  return { t: pool.dice.pick(fitting)[0] };
}

function view({ dice }: Pool, t: Tensor): Call {
  const dim = dimOf(dice, t);
  const size = t.shape[dim] ?? 1;
  switch (dice.below(19)) {
    case 0:
      return { name: 'view', args: [[-1]] };
    case 1:
      return { name: 'reshape', args: [[t.numel]] };
    case 2:
      return { name: 'reshape', args: [[{ size: '', dim }, -1]] };
    case 3:
      return { name: 'transpose', args: [0, -1] };
    case 4:
      return { name: 'permute', args: [dice.shuffle(t.shape.map((_, i) => i))] };
    case 5:
      return { name: 'select', args: [dim, dice.below(size)] };
    case 6:
    case 7:
      return { name: 'slice', args: [dim, dice.below(2), dice.chance(0.5) ? null : size, 1] };
    case 8:
      return { name: 'slice', args: [dim, 0, null, 2] };
    case 9:
      return { name: 'narrow', args: [dim, dice.below(2), Math.max(1, size - 1)] };
    case 10:
      return { name: 'unsqueeze', args: [dice.below(t.ndim + 1)] };
    case 11:
      return { name: 'squeeze', args: [] };
    case 12:
      return { name: 'expand', args: [[2, ...t.shape]] };
    case 13:
      return { name: 'chunk', args: [2, dim], pick: 0 };
    case 14:
      return { name: 'split', args: [1, dim], pick: dice.below(size) };
    case 15:
      return { name: 'unbind', args: [dim], pick: dice.below(size) };
    case 16:
      return { name: 'diagonal', args: [] };
    case 17:
      return { name: 'unfold', args: [dim, Math.min(2, size), 1] };
    default:
      return { name: 't', args: [] };
  }
}

function reduction(pool: Pool, t: Tensor): Call {
  const { dice } = pool;
  const dim = dimOf(dice, t);
  const keepdim = dice.chance(0.5);
  switch (dice.below(16)) {
    case 0:
      return { name: 'sum', args: [] };
    case 1:
    case 2:
      return { name: 'sum', args: [[dim], { options: { keepdim } }] };
    case 3:
      return { name: 'mean', args: [dim, { options: { keepdim } }] };
    case 4:
      return { name: 'amax', args: [dim, keepdim] };
    case 5:
      return { name: 'max', args: [dim, keepdim], pick: dice.below(2) };
    case 6:
      return { name: 'cumsum', args: [dim] };
    case 7:
      return { name: 'softmax', args: [dim] };
    case 8:
      return { name: 'logsumexp', args: [dim, keepdim] };
    case 9:
      return { name: 'argmax', args: [dim] };
    case 10:
      return { name: 'any', args: [] };
    case 11:
      return { name: 'prod', args: [dim] };
    case 12:
      return { name: 'variance', args: [dim, { options: { keepdim } }] };
    case 13:
      return { name: 'sort', args: [dim], pick: dice.below(2) };
    case 14:
      return { name: 'topk', args: [1, dim], pick: dice.below(2) };
    default:
      return { name: 'norm', args: [] };
  }
}

function structural(pool: Pool, name: string, t: Tensor): Call {
  const { dice, tensors } = pool;
  const dim = dimOf(dice, t);
  const same = (dtype?: DType, shape = t.shape): Arg => {
    const fitting = tensors.filter(
      ([, u]) => (dtype === undefined || u.dtype === dtype) && u.shape.join() === shape.join(),
    );
    return fitting.length === 0 ? null : { t: dice.pick(fitting)[0] };
  };
  /** Some tensor as long as this one along all dimensions but `dim`. */
  const beside = (): Arg => {
    const others = ({ shape }: { shape: readonly number[] }): string =>
      `${shape.length};${shape.filter((_, d) => d !== dim).join()}`;
    const fitting = tensors.filter(([, u]) => others(u) === others(t));
    return { t: dice.pick(fitting)[0] };
  };
  const self = { t: name };
  switch (dice.below(15)) {
    case 0:
      return { name: 'cat', args: [[self, beside()], dim], free: true };
    case 1:
      return { name: 'stack', args: [[self, same()], dim], free: true };
    case 2:
      return {
        name: 'where',
        args: [same('bool'), self, dice.chance(0.5) ? 0.5 : same()],
        free: true,
      };
    case 3:
      return { name: 'flip', args: [[dim]] };
    case 4:
      return { name: 'roll', args: [1, dim] };
    case 5:
      return { name: 'tril', args: [] };
    case 6:
      return { name: 'repeat', args: [[2, ...t.shape.map(() => 1)]] };
    case 7:
      return { name: 'pad', args: [[1, 0]] };
    case 8:
      return { name: 'matmul', args: [other(pool, t, false)] };
    case 9:
      return { name: 'indexSelect', args: [dim, same('int64', [t.shape[dim] ?? 1])] };
    case 10:
      return { name: 'gather', args: [dim, same('int64')] };
    case 11:
      return { name: 'maskedFill', args: [same('bool'), 0.5] };
    case 12:
      return { name: 'nonzero', args: [] };
    case 13:
      return { name: 'maskedSelect', args: [same('bool')] };
    default:
      return { name: 'clamp', args: [-0.5, 1] };
  }
}

/** A call that makes a new tensor or a view. */
export function randomCall(pool: Pool, name: string, t: Tensor): Call {
  const { dice } = pool;
  const roll = dice.next();
  if (roll < 0.2) return { name: dice.pick(UNARY), args: [] };
  if (roll < 0.42) {
    const binary = dice.pick(BINARY);
    // The derivative of a power subtracts 1 from the exponent, which booleans refuse.
    const tensors =
      binary === 'pow'
        ? pool.tensors.filter(([, u]) => u === t || u.dtype !== 'bool')
        : pool.tensors;
    return { name: binary, args: [other({ ...pool, tensors }, t, !/^m..imum/.test(binary))] };
  }
  if (roll < 0.68) return view(pool, t);
  if (roll < 0.8) return reduction(pool, t);
  if (roll < 0.9) return structural(pool, name, t);
  if (roll < 0.93) return { name: dice.pick(COMPARE), args: [other(pool, t)] };
  if (roll < 0.95) return { name: dice.pick(LOGIC), args: [other(pool, t, false)] };
  if (roll < 0.96)
    return { name: 'full', args: [[2, { size: name, dim: 0 }], scalar(pool, t)], free: true };
  if (roll < 0.97) return { name: 'arange', args: [{ size: name, dim: 0 }], free: true };
  if (roll < 0.98)
    return dice.chance(0.7)
      ? { name: 'dropout', args: [0.5, true] }
      : { name: 'randLike', args: [{ t: name }], free: true };
  return { name: 'to', args: [dice.pick(CASTS)] };
}

/** A call that changes a tensor in place: its values, now and then its layout. */
export function randomInplace(pool: Pool, t: Tensor): Call {
  const { dice } = pool;
  switch (dice.below(16)) {
    case 0:
      return { name: 'zero_', args: [] };
    case 1:
      return { name: 'fill_', args: [scalar(pool, t)] };
    case 2:
      return { name: dice.pick(['sigmoid_', 'relu_', 'neg_', 'tanh_', 'abs_', 'sin_']), args: [] };
    case 3:
    case 4:
      return { name: 'copy_', args: [other(pool, t)] };
    case 5:
      return { name: 'clamp_', args: [-1, 1] };
    case 6:
      return {
        name: dice.pick(['t_', 'squeeze_', 'detach_']),
        args: [],
      };
    case 7:
      return { name: 'unsqueeze_', args: [0] };
    case 8:
      return { name: 'transpose_', args: [0, -1] };
    case 9: {
      const masks = pool.tensors.filter(
        ([, u]) => u.dtype === 'bool' && u.shape.join() === t.shape.join(),
      );
      if (masks.length === 0) return { name: 'mul_', args: [0.5] };
      return { name: 'maskedFill_', args: [{ t: dice.pick(masks)[0] }, scalar(pool, t)] };
    }
    case 10:
      return dice.chance(0.6)
        ? { name: 'requiresGrad_', args: [dice.chance(0.7)] }
        : { name: 'uniform_', args: [] };
    default:
      return { name: dice.pick(['add_', 'mul_', 'sub_', 'add_', 'mul_']), args: [other(pool, t)] };
  }
}
