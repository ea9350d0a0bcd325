/**
 * @file Dropout.
 */
import { type OptionNames, checkOptionNames, TesseraError } from '@tessera/shared';
import { callOp } from '../../dispatch/dispatcher.js';
import { readNumbers, writeNumbers } from '../../kernels/elements.js';
import { checkFloating } from '../../kernels/restrict-dtypes.js';
import { formatStrides } from '../../memory-format.js';
import { type OpOverload, defineOp } from '../../op/op-overload.js';
import { reserveOffsets } from '../../rng/generator.js';
import { philoxUniform } from '../../rng/philox.js';
import type { Tensor } from '../../tensor.js';
import { mul } from '../pointwise/arithmetic.js';

/** @throws invalid-argument */
function checkProbability(p: number): void {
  if (p >= 0 && p <= 1) return;
  throw new TesseraError(
    'invalid-argument',
    `dropout probability has to be between 0 and 1, but got ${p}`,
    { hints: ['p is the share of elements set to zero.'] },
  );
}

/** What a kept element is multiplied by. */
function scaleOf(p: number): number {
  return p === 1 ? 0 : 1 / (1 - p);
}

export const nativeDropoutOp: OpOverload<[Tensor, Tensor]> = defineOp(
  'aten::native_dropout(Tensor input, float p, bool? train) -> (Tensor, Tensor)',
  {
    tags: ['random'],
    meta: ({ input, p }) => {
      checkProbability(p);
      checkFloating('dropout', input);
      const meta = {
        sizes: input.sizes,
        strides: formatStrides(input, null),
        dtype: input.dtype,
        device: input.device,
      };
      return [meta, { ...meta, dtype: 'bool' as const }];
    },
    kernel: ({ input, p, train }, [out, mask]) => {
      const values = readNumbers(input);
      const kept = new Float64Array(values.length).fill(1);
      if (train !== false) {
        const { seed, offset } = reserveOffsets(1);
        const limit = Math.fround(1 - p);
        // As in a product with a number: that of 16-bit floats is one of float32.
        const round = input.dtype === 'float64' ? Number : Math.fround;
        const scale = round(scaleOf(p));
        for (let i = 0; i < values.length; i++) {
          kept[i] = philoxUniform(seed, offset, i) < limit ? 1 : 0;
          values[i] = kept[i] === 1 ? round(values[i]! * scale) : 0;
        }
      }
      writeNumbers(out!, values);
      writeNumbers(mask!, kept);
    },
    saved: ['out.1'],
    vjp: ({ p, train }, { grad, outs }) => ({
      input: () => callOp(dropoutBackwardOp, [grad, outs[1], train === false ? 1 : scaleOf(p)]),
    }),
  },
);

const dropoutBackwardOp = defineOp(
  'aten::native_dropout_backward(Tensor grad_output, Tensor mask, float scale) -> Tensor',
  {
    decompose: ({ grad_output, mask, scale }) => mul(mul(grad_output, mask), scale),
  },
);

const dropoutOp = defineOp('aten::dropout(Tensor input, float p, bool train) -> Tensor', {
  tags: ['random'],
  decompose: ({ input, p, train }) => {
    checkProbability(p);
    if (train !== true || p === 0 || input.numel === 0) return input;
    return callOp(nativeDropoutOp, [input, p, true])[0];
  },
});
const dropoutInplaceOp = defineOp(
  'aten::dropout_(Tensor(a!) self, float p, bool train) -> Tensor(a!)',
  {
    tags: ['random'],
    decompose: ({ self, p, train }) => {
      checkProbability(p);
      if (train !== true || p === 0) return self;
      const ones = self.newOnes(self.sizes);
      return self.mul_(callOp(nativeDropoutOp, [ones, p, true])[0]!);
    },
  },
);

/** Options of `dropout`. */
export interface DropoutRate {
  /** Probability of an element to become zero (default 0.5). */
  readonly p?: number;
  /** Nothing is dropped where it is false (default true). */
  readonly training?: boolean;
}
const DROPOUT: OptionNames<DropoutRate> = { p: true, training: true };

/** Zeroes elements with probability p and scales the rest by 1 / (1 - p) when training. @throws invalid-argument */
export function dropout(input: Tensor, options?: DropoutRate): Tensor {
  checkOptionNames('dropout', options, DROPOUT);
  return callOp(dropoutOp, [input, options?.p ?? 0.5, options?.training ?? true]);
}

/** Dropout in place. @throws invalid-argument */
export function dropout_(self: Tensor, options?: DropoutRate): Tensor {
  checkOptionNames('dropout_', options, DROPOUT);
  return callOp(dropoutInplaceOp, [self, options?.p ?? 0.5, options?.training ?? true]);
}
