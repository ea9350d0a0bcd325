/**
 * @file Filling a tensor with numbers of a distribution that one uniform or normal number gives: exponential,
 * Cauchy, log-normal, geometric.
 */
import { TesseraError } from '@tessera/shared';
import { callOp } from '../../dispatch/dispatcher.js';
import { type Draw, drawNormal, drawUniform, fillWith } from '../../kernels/random-kernel.js';
import { defineInplace } from '../../op/inplace.js';
import { type OpOverload, defineOp } from '../../op/op-overload.js';
import type { NamedArgs, OpRecord } from '../../op/op-record.js';
import type { Tensor } from '../../tensor.js';
import { floatingMeta, selfMeta, zeroGradient } from './meta.js';

/** @throws invalid-argument */
function check(holds: boolean, message: string, hint: string): void {
  if (!holds) throw new TesseraError('invalid-argument', message, { hints: [hint] });
}

function define(
  name: string,
  parameters: string,
  meta: NonNullable<OpRecord['meta']>,
  drawOf: (args: NamedArgs) => Draw,
): OpOverload {
  return defineOp(
    `aten::${name}(Tensor self, ${parameters}, *, Generator? generator=None) -> Tensor`,
    {
      tags: ['random'],
      meta,
      kernel: (args, [out]) => fillWith(out!, drawOf(args)),
      vjp: zeroGradient,
    },
  );
}

const exponentialOp = define(
  'exponential',
  'float lambd=1',
  floatingMeta('exponential_'),
  ({ lambd }) => {
    check(
      lambd > 0,
      `exponential_ expects lambda > 0.0, but found lambda=${lambd as number}`,
      'lambda is a rate.',
    );
    const draw = drawUniform('float32');
    return (i) => -Math.log1p(-draw(i)) / (lambd as number);
  },
);

const cauchyOp = define(
  'cauchy',
  'float median=0, float sigma=1',
  floatingMeta('cauchy_'),
  ({ median, sigma }) => {
    check(
      sigma > 0,
      `cauchy_ expects sigma > 0.0, but found sigma=${sigma as number}`,
      'sigma is a width.',
    );
    const draw = drawUniform('float32');
    // The middle of a step of the uniform numbers, since the tangent is infinite at its end.
    return (i) =>
      (median as number) + (sigma as number) * Math.tan(Math.PI * (draw(i) + 2 ** -25 - 0.5));
  },
);

const logNormalOp = define(
  'log_normal',
  'float mean=1, float std=2',
  floatingMeta('log_normal_'),
  ({ mean, std }) => {
    check(
      std > 0,
      `log_normal_ expects std > 0.0, but found std=${std as number}`,
      'std is the standard deviation of the logarithms.',
    );
    const draw = drawNormal();
    return (i) => Math.exp((mean as number) + (std as number) * draw(i));
  },
);

const geometricOp = define('geometric', 'float p', selfMeta, ({ p }) => {
  check(
    p > 0 && p < 1,
    `geometric_ expects p to be in (0, 1), but got p=${p as number}`,
    'p is the probability of a success.',
  );
  const draw = drawUniform('float32');
  const scale = Math.log1p(-p);
  return (i) => Math.max(1, Math.ceil(Math.log1p(-draw(i)) / scale));
});

const exponentialInplace = defineInplace(exponentialOp);
const cauchyInplace = defineInplace(cauchyOp);
const logNormalInplace = defineInplace(logNormalOp);
const geometricInplace = defineInplace(geometricOp);

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
