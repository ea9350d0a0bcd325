/**
 * @file Activations that set small values to zero: hardshrink, softshrink.
 */
import { type OptionNames, type ScalarLike, checkOptionNames, TesseraError } from '@tessera/shared';
import { callOp } from '../../dispatch/dispatcher.js';
import { pointwiseWith, scalarValue } from '../../kernels/pointwise-kernel.js';
import { restrictedTo } from '../../kernels/restrict-dtypes.js';
import { type OpOverload, defineOp } from '../../op/op-overload.js';
import type { Tensor } from '../../tensor.js';
import { definePiecewise } from './backward.js';

const width = ({ lambd }: { lambd: ScalarLike }): number => scalarValue(lambd);

function backwardOf(name: string, gradName: string): OpOverload<Tensor> {
  return definePiecewise(
    name,
    ['Scalar lambd'],
    ({ lambd }) => {
      const limit = scalarValue(lambd);
      return (grad, x) => (x >= -limit && x <= limit ? 0 : grad);
    },
    { gradName },
  );
}

function define(
  name: string,
  fnOf: (limit: number) => (x: number) => number,
  backward: OpOverload<Tensor>,
): OpOverload<Tensor> {
  return defineOp(
    `aten::${name}(Tensor self, Scalar lambd=0.5) -> Tensor`,
    restrictedTo(
      'floating',
      name,
      pointwiseWith((args) => fnOf(width(args)), {
        operands: ['self'],
        saved: ['self'],
        vjp: ({ self, lambd }, { grad }) => ({
          self: () => callOp(backward, [grad, self, lambd]),
        }),
      }),
    ),
  );
}

const hardshrinkOp = define(
  'hardshrink',
  (limit) => (x) => (x >= -limit && x <= limit ? 0 : x),
  backwardOf('hardshrink', 'grad_out'),
);
const softshrinkOp = define(
  'softshrink',
  (limit) => (x) => (x > limit ? x - limit : x < -limit ? x + limit : Number.isNaN(x) ? x : 0),
  backwardOf('softshrink', 'grad_output'),
);

/** Options of `hardshrink` and `softshrink`. */
export interface ShrinkOptions {
  /** Half the width of the interval that becomes 0 (default 0.5). */
  readonly lambd?: ScalarLike;
}
const SHRINK: OptionNames<ShrinkOptions> = { lambd: true };

/** x outside [-lambd, lambd], else 0. */
export function hardshrink(self: Tensor, options?: ShrinkOptions): Tensor {
  checkOptionNames('hardshrink', options, SHRINK);
  return callOp(hardshrinkOp, [self, options?.lambd ?? 0.5]);
}

/** x moved towards 0 by lambd, 0 within. @throws invalid-argument for negative lambd */
export function softshrink(self: Tensor, options?: ShrinkOptions): Tensor {
  checkOptionNames('softshrink', options, SHRINK);
  const lambd = options?.lambd ?? 0.5;
  if (scalarValue(lambd) < 0) {
    throw new TesseraError(
      'invalid-argument',
      `lambda must be greater or equal to 0, but found to be ${scalarValue(lambd)}.`,
      { hints: ['lambd is 0 or more.'] },
    );
  }
  return callOp(softshrinkOp, [self, lambd]);
}
