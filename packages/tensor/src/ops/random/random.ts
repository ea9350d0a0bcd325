/**
 * @file Factories of random tensors; see kernels/random-kernel.ts for how numbers are made.
 */
import { TesseraError } from '@tessera/shared';
import { defaultDType } from '../../default-dtype.js';
import { callOp } from '../../dispatch/dispatcher.js';
import { writeNumbers } from '../../kernels/elements.js';
import {
  type Draw,
  drawnBy,
  fillWith,
  normalKernel,
  uniformKernel,
} from '../../kernels/random-kernel.js';
import { type OpOverload, defineOp } from '../../op/op-overload.js';
import { withOverloads } from '../../op/with-overloads.js';
import type { NamedArgs, TensorMeta } from '../../op/op-record.js';
import { reserveOffsets } from '../../rng/generator.js';
import { philoxUniform } from '../../rng/philox.js';
import type { Tensor } from '../../tensor.js';
import { toDevice } from '../arrange/copy.js';
import {
  OPTIONS,
  PLACEMENT,
  type TensorOptions,
  factoryMeta,
  finish,
  NO_OPTIONS,
  checkedDtype,
  checkTensorOptions,
} from '../factory/factory.js';

const FACTORY = { tags: ['factory', 'random'] as const, meta: factoryMeta(defaultDType) };
const randOp = defineOp(`aten::rand(SymInt[] size, *, ${OPTIONS}) -> Tensor`, {
  ...FACTORY,
  kernel: uniformKernel,
});
const randnOp = defineOp(`aten::randn(SymInt[] size, *, ${OPTIONS}) -> Tensor`, {
  ...FACTORY,
  kernel: normalKernel,
});

/** Remainders of 24 bits are not even where the range is a good part of them: then of 48, half of them made from the other end of all indices. */
function integerDraw(low: number, high: number): Draw {
  const { seed, offset } = reserveOffsets(1);
  const range = high - low;
  const bits = (index: number): number => philoxUniform(seed, offset, index) * 2 ** 24;
  return range > 2 ** 16
    ? (index) => low + ((bits(~index) * 2 ** 24 + bits(index)) % range)
    : (index) => low + (bits(index) % range);
}

/** PyTorch's default is written `dtype=long`. */
function integerMeta<Args extends NamedArgs>(
  rule: (args: Args) => TensorMeta,
): (args: Args) => TensorMeta {
  return (args) =>
    rule({ ...args, dtype: args.dtype === null || args.dtype === 'long' ? 'int64' : args.dtype });
}

const LONG_OPTIONS = `ScalarType? dtype=long, ${PLACEMENT}` as const;

const wholes = factoryMeta(() => 'int64');

interface Range {
  readonly low?: number;
  readonly high: number;
}

const RANDINT = {
  tags: ['factory', 'random'] as const,
  meta: integerMeta((args: Parameters<typeof wholes>[0] & Range) => {
    const { low = 0, high } = args;
    if (high > low) return wholes(args);
    throw new TesseraError(
      'invalid-argument',
      `randint: from(${low}) must be less than to(${high})`,
      { hints: ['The upper bound is exclusive.'] },
    );
  }),
  kernel: ({ low = 0, high }: Range, [out]: readonly Tensor[]) =>
    fillWith(out!, integerDraw(low, high)),
};

const randintOp: OpOverload<Tensor> = withOverloads(
  defineOp(
    `aten::randint.low(SymInt low, SymInt high, SymInt[] size, *, ${LONG_OPTIONS}) -> Tensor`,
    RANDINT,
  ),
  defineOp(`aten::randint(SymInt high, SymInt[] size, *, ${LONG_OPTIONS}) -> Tensor`, RANDINT),
);

const randpermOp = defineOp(`aten::randperm(SymInt n, *, ${LONG_OPTIONS}) -> Tensor`, {
  tags: ['factory', 'random'],
  meta: integerMeta((args) => ({
    sizes: [args.n],
    strides: [1],
    dtype: args.dtype ?? 'int64',
    device: args.device ?? 'cpu',
  })),
  kernel: (_args, [out]) => {
    const draws = drawnBy(randOp, [out!.sizes, 'float32', null, null, null]);
    const count = draws.length;
    const order = new Int32Array(count);
    for (let i = 0; i < count; i++) order[i] = i;
    for (let i = 0; i < count - 1; i++) {
      const j = i + Math.floor(draws[i]! * (count - i));
      const drawn = order[j]!;
      order[j] = order[i]!;
      order[i] = drawn;
    }
    writeNumbers(out!, order);
  },
});

/** Uniform numbers in [0, 1). */
export function rand(size: readonly number[], options: TensorOptions = NO_OPTIONS): Tensor {
  return finish(
    callOp(randOp, [size, checkedDtype(options), null, options.device ?? null, null]),
    options,
  );
}

/** Standard normal numbers. */
export function randn(size: readonly number[], options: TensorOptions = NO_OPTIONS): Tensor {
  return finish(
    callOp(randnOp, [size, checkedDtype(options), null, options.device ?? null, null]),
    options,
  );
}

type RandintArguments = [
  low: number,
  high: number,
  size: readonly number[],
  options?: TensorOptions,
];
type RandintBelow = [high: number, size: readonly number[], options?: TensorOptions];

function isBelow(args: RandintBelow | RandintArguments): args is RandintBelow {
  return Array.isArray(args[1]);
}

/** Uniform integers from 0 to `high`, exclusive; int64 unless a dtype is given. @throws invalid-argument */
export function randint(...args: RandintBelow): Tensor;
/** Uniform integers from `low` to `high`, exclusive; int64 unless a dtype is given. @throws invalid-argument */
export function randint(...args: RandintArguments): Tensor;
export function randint(...args: RandintBelow | RandintArguments): Tensor {
  const [low, high, size, options = NO_OPTIONS]: RandintArguments = isBelow(args)
    ? [0, ...args]
    : args;
  return finish(
    callOp(randintOp, [low, high, size, checkedDtype(options), null, options.device ?? null, null]),
    options,
  );
}

/** The numbers 0 to n-1 in random order; int64 unless a dtype is given. */
export function randperm(n: number, options: TensorOptions = NO_OPTIONS): Tensor {
  checkTensorOptions(options);
  const { device = 'cpu', dtype } = options;
  // A shuffle is one step after another: other devices get a copy.
  if (device !== 'cpu') return finish(toDevice(randperm(n, { dtype }), device), options);
  return finish(
    callOp(randpermOp, [n, checkedDtype(options), null, options.device ?? null, null]),
    options,
  );
}
