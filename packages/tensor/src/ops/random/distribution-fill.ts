/**
 * @file Filling a tensor with numbers of a distribution that one uniform or normal number gives: normal,
 * exponential, Cauchy, log-normal, geometric.
 */
import { type ScalarLike, TesseraError } from '@tessera/shared';
import { callOp } from '../../dispatch/dispatcher.js';
import { scalarValue } from '../../kernels/pointwise-kernel.js';
import { type Draw, drawNormal, drawUniform, fillWith } from '../../kernels/random-kernel.js';
import { defineInplace } from '../../op/inplace.js';
import { type OpOverload, defineOp } from '../../op/op-overload.js';
import type { TensorMeta } from '../../op/op-record.js';
import type { SchemaArgs } from '../../op/schema-types.js';
import { metaOfSelf } from '../../memory-format.js';
import type { Tensor } from '../../tensor.js';
import { floatingMeta, zeroGradient } from './meta.js';

/** A rule for parameters: the one whose name is given must satisfy `holds`. */
interface Rule {
  readonly name: string;
  readonly holds: (value: number) => boolean;
  readonly message: string;
  readonly hint: string;
}

/** Parameters are checked by the meta rule: code that is compiled draws without the kernel. */
function define<const P extends string>(
  name: string,
  parameters: P,
  metaOf: (args: { self: Tensor }) => TensorMeta,
  { name: checked, holds, message, hint }: Rule,
  drawOf: (args: SchemaArgs<`(${P}) -> Tensor`>) => Draw,
): OpOverload<Tensor> {
  const schema: `${string}(${string}) -> Tensor` = `aten::${name}(Tensor self, ${parameters}, *, Generator? generator=None) -> Tensor`;
  return defineOp(schema, {
    tags: ['random'],
    meta: (args: Readonly<Record<string, ScalarLike>> & { readonly self: Tensor }) => {
      const value = scalarValue(args[checked]!);
      if (!holds(value))
        throw new TesseraError('invalid-argument', message + value, { hints: [hint] });
      return metaOf(args);
    },
    kernel: (args, [out]) => fillWith(out!, drawOf(args)),
    vjp: zeroGradient,
  });
}

const normalOp = define(
  'normal_functional',
  'float mean=0, float std=1',
  floatingMeta('normal_'),
  {
    name: 'std',
    holds: (std) => std >= 0,
    message: 'normal expects std >= 0.0, but found std ',
    hint: 'A standard deviation is not negative.',
  },
  ({ mean, std }) => {
    const draw = drawNormal();
    return (i) => mean + std * draw(i);
  },
);

const isPositive = (value: number): boolean => value > 0;

const exponentialOp = define(
  'exponential',
  'float lambd=1',
  floatingMeta('exponential_'),
  {
    name: 'lambd',
    holds: isPositive,
    message: 'exponential_ expects lambda > 0.0, but found lambda=',
    hint: 'lambda is a rate.',
  },
  ({ lambd }) => {
    const draw = drawUniform('float32');
    return (i) => -Math.log1p(-draw(i)) / lambd;
  },
);

const cauchyOp = define(
  'cauchy',
  'float median=0, float sigma=1',
  floatingMeta('cauchy_'),
  {
    name: 'sigma',
    holds: isPositive,
    message: 'cauchy_ expects sigma > 0.0, but found sigma=',
    hint: 'sigma is a width.',
  },
  ({ median, sigma }) => {
    const draw = drawUniform('float32');
    // The middle of a step of the uniform numbers, since the tangent is infinite at its end.
    return (i) => median + sigma * Math.tan(Math.PI * (draw(i) + 2 ** -25 - 0.5));
  },
);

const logNormalOp = define(
  'log_normal',
  'float mean=1, float std=2',
  floatingMeta('log_normal_'),
  {
    name: 'std',
    holds: isPositive,
    message: 'log_normal_ expects std > 0.0, but found std=',
    hint: 'std is the standard deviation of the logarithms.',
  },
  ({ mean, std }) => {
    const draw = drawNormal();
    return (i) => Math.exp(mean + std * draw(i));
  },
);

const geometricOp = define(
  'geometric',
  'float p',
  metaOfSelf,
  {
    name: 'p',
    holds: (p) => p > 0 && p < 1,
    message: 'geometric_ expects p to be in (0, 1), but got p=',
    hint: 'p is the probability of a success.',
  },
  ({ p }) => {
    const draw = drawUniform('float32');
    const scale = Math.log1p(-p);
    return (i) => Math.max(1, Math.ceil(Math.log1p(-draw(i)) / scale));
  },
);

const normalInplace: OpOverload<Tensor> = defineOp(
  'aten::normal_(Tensor(a!) self, float mean=0, float std=1, *, Generator? generator=None) -> Tensor(a!)',
  { inplaceOf: normalOp.qualifiedName, tags: ['random'] },
);
const exponentialInplace = defineInplace(exponentialOp);
const cauchyInplace = defineInplace(cauchyOp);
const logNormalInplace = defineInplace(logNormalOp);
const geometricInplace = defineInplace(geometricOp);

/** Fills self with normal numbers. @throws dtype-unsupported, invalid-argument */
export function normal_(self: Tensor, mean = 0, std = 1): Tensor {
  return callOp(normalInplace, [self, mean, std, null]);
}

/** Fills self with exponential numbers of rate `lambd`. @throws invalid-argument, dtype-unsupported */
export function exponential_(self: Tensor, lambd = 1): Tensor {
  return callOp(exponentialInplace, [self, lambd, null]);
}

/** Fills self with Cauchy numbers. @throws invalid-argument, dtype-unsupported */
export function cauchy_(self: Tensor, median = 0, sigma = 1): Tensor {
  return callOp(cauchyInplace, [self, median, sigma, null]);
}

/** Fills self with exponentials of normal numbers that have this mean and deviation. @throws invalid-argument, dtype-unsupported */
export function logNormal_(self: Tensor, mean = 1, std = 2): Tensor {
  return callOp(logNormalInplace, [self, mean, std, null]);
}

/** Fills self with numbers of trials up to the first success, from 1. @throws invalid-argument */
export function geometric_(self: Tensor, p: number): Tensor {
  return callOp(geometricInplace, [self, p, null]);
}
