/**
 * @file Random numbers after a tensor: in its shape, new or in place, and indices drawn by its weights; see
 * kernels/random-kernel.ts.
 */
import { type ScalarLike, type OptionNames, TesseraError, checkOptionNames } from '@tessera/shared';
import { callOp } from '../../dispatch/dispatcher.js';
import { isFloatingPoint } from '../../dtype.js';
import { readNumbers, writeNumbers } from '../../kernels/elements.js';
import { firstAbove } from '../../kernels/first-above.js';
import { RowOrder } from '../../kernels/order-kernel.js';
import { scalarValue } from '../../kernels/pointwise-kernel.js';
import {
  drawUniform,
  drawnBy,
  fillWith,
  normalKernel,
  uniformKernel,
} from '../../kernels/random-kernel.js';
import { defineInplace } from '../../op/inplace.js';
import { type OpOverload, defineOp } from '../../op/op-overload.js';
import { metaOfSelf } from '../../memory-format.js';
import type { Tensor } from '../../tensor.js';
import {
  OPTIONS,
  type TensorOptions,
  finish,
  likeMeta,
  NO_OPTIONS,
  checkedDtype,
} from '../factory/factory.js';
import { floatingMeta, zeroGradient } from './meta.js';

const LIKE = { tags: ['random', 'non-differentiable'] as const, meta: likeMeta };

const randLikeOp = defineOp(
  `aten::rand_like(Tensor self, *, ${OPTIONS}, MemoryFormat? memory_format=None) -> Tensor`,
  { ...LIKE, kernel: uniformKernel },
);
const randnLikeOp = defineOp(
  `aten::randn_like(Tensor self, *, ${OPTIONS}, MemoryFormat? memory_format=None) -> Tensor`,
  { ...LIKE, kernel: normalKernel },
);

/** A uniform float32 number for each element. */
function drawLike(tensor: Tensor): Float64Array {
  return drawnBy(randLikeOp, [tensor, 'float32', null, null, null, null]);
}

/** @throws invalid-argument */
function checkProbability(p: number): number {
  if (p >= 0 && p <= 1) return Math.fround(p);
  throw new TesseraError('invalid-argument', `bernoulli expects 0 <= p <= 1, but got p=${p}`, {
    hints: ['Probabilities lie between 0 and 1.'],
  });
}

const bernoulliOp = defineOp(
  'aten::bernoulli(Tensor self, *, Generator? generator=None) -> Tensor',
  {
    tags: ['random'],
    meta: floatingMeta('bernoulli'),
    kernel: ({ self }, [out]) => {
      const draws = drawLike(self);
      writeNumbers(
        out!,
        readNumbers(self).map((p, i) => (draws[i]! < checkProbability(p) ? 1 : 0)),
      );
    },
    vjp: zeroGradient,
  },
);
const bernoulliPOp = defineOp(
  'aten::bernoulli.p(Tensor self, float p, *, Generator? generator=None) -> Tensor',
  {
    tags: ['random'],
    meta: (args) => {
      checkProbability(scalarValue(args.p));
      return metaOfSelf(args);
    },
    kernel: ({ self, p }, [out]) => {
      const limit = Math.fround(scalarValue(p));
      writeNumbers(
        out!,
        drawLike(self).map((u) => (u < limit ? 1 : 0)),
      );
    },
    vjp: zeroGradient,
  },
);
const bernoulliInplace: OpOverload<Tensor> = defineOp(
  'aten::bernoulli_.float(Tensor(a!) self, float p=0.5, *, Generator? generator=None) -> Tensor(a!)',
  {
    inplaceOf: bernoulliPOp.qualifiedName,
    tags: ['random'],
  },
);

const uniformOp = defineOp(
  'aten::uniform(Tensor self, float from=0, float to=1, *, Generator? generator=None) -> Tensor',
  {
    tags: ['random'],
    meta: (args) => {
      const [low, high] = [scalarValue(args.from), scalarValue(args.to)];
      if (!(high >= low))
        throw new TesseraError(
          'invalid-argument',
          `uniform_ expects to return a [from, to) range, but found from=${low} > to=${high}`,
          { hints: ['Swap the bounds.'] },
        );
      return floatingMeta('uniform_')(args);
    },
    kernel: ({ from: low, to: high }, [out]) => {
      const draw = drawUniform(out!.dtype);
      fillWith(out!, (i) => low + draw(i) * (high - low));
    },
    vjp: zeroGradient,
  },
);
const uniformInplace = defineInplace(uniformOp);

function refuseMultinomial(why: string, hint: string): never {
  throw new TesseraError('invalid-argument', `multinomial: ${why}`, { hints: [hint] });
}

/** Sum of the weights of a row. @throws invalid-argument */
function totalWeight(weights: Float64Array): number {
  let total = 0;
  let isValid = true;
  for (const weight of weights) {
    total += weight;
    isValid &&= weight >= 0 && weight < Infinity;
  }
  if (!isValid)
    refuseMultinomial(
      'probability tensor contains either `inf`, `nan` or element < 0',
      'Weights are finite and not negative.',
    );
  if (!(total > 0))
    refuseMultinomial(
      'invalid multinomial distribution (sum of probabilities <= 0)',
      'Give at least one category a weight.',
    );
  return total;
}

const multinomialOp = defineOp(
  'aten::multinomial(Tensor self, SymInt num_samples, bool replacement=False, *, Generator? generator=None) -> Tensor',
  {
    tags: ['random', 'non-differentiable'],
    meta: ({ self, num_samples: count, replacement }) => {
      const sizes = self.sizes;
      if (sizes.length !== 1 && sizes.length !== 2)
        refuseMultinomial('prob_dist must be 1 or 2 dim', 'Reshape the weights to rows.');
      if (!isFloatingPoint(self.dtype))
        refuseMultinomial(
          `only supports floating-point dtypes for input, got: ${self.dtype}`,
          "Convert first: weights.to('float32').",
        );
      if (!(count > 0))
        refuseMultinomial('cannot sample n_sample <= 0 samples', 'Draw at least one.');
      if (replacement !== true && count > sizes.at(-1)!)
        refuseMultinomial(
          'cannot sample n_sample > prob_dist.size(-1) samples without replacement',
          'Draw fewer, or pass { replacement: true }.',
        );
      const drawn = [...sizes.slice(0, -1), count];
      return {
        sizes: drawn,
        strides: drawn.length === 1 ? [1] : [count, 1],
        dtype: 'int64',
        device: self.device,
      };
    },
    kernel: ({ self, num_samples: count, replacement }, [out]) => {
      const weights = readNumbers(self);
      const categories = self.sizes.at(-1)!;
      const drawn = new Int32Array(out!.numel);
      const repeats = replacement === true && count > 1;
      const draws = drawLike(repeats ? out! : self);
      for (let row = 0; row * count < drawn.length; row++) {
        const start = row * categories;
        const own = weights.subarray(start, start + categories);
        const total = totalWeight(own);
        if (repeats) {
          for (let j = 1; j < categories; j++) own[j]! += own[j - 1]!;
          for (let i = row * count; i < (row + 1) * count; i++)
            drawn[i] = firstAbove(own, draws[i]! * total);
        }
        // A race of exponential clocks: the first to ring is a draw, the next one without it, and so on. Those without
        // weight never ring and come last.
        else
          for (let j = 0; j < categories; j++)
            own[j] = own[j]! > 0 ? -Math.log1p(-draws[start + j]!) / own[j]! : NaN;
      }
      if (!repeats) {
        const clocks = new RowOrder(weights, categories);
        for (let row = 0; row * count < drawn.length; row++)
          drawn.set(
            clocks.sortBest(row * categories, count, false).subarray(0, count),
            row * count,
          );
      }
      writeNumbers(out!, drawn);
    },
  },
);

/** Options of `multinomial`. */
export interface MultinomialOptions {
  /** Whether a category can be drawn again (default false). */
  readonly replacement?: boolean;
}
const MULTINOMIAL: OptionNames<MultinomialOptions> = { replacement: true };

/**
 * Indices drawn by the weights of each row: [C] → [numSamples] or [N, C] → [N, numSamples], int64.
 *
 * @throws invalid-argument
 * @see torch.multinomial
 */
export function multinomial(
  self: Tensor,
  numSamples: number,
  options?: MultinomialOptions,
): Tensor {
  checkOptionNames('multinomial', options, MULTINOMIAL);
  return callOp(multinomialOp, [self, numSamples, options?.replacement ?? false, null]);
}

/** Uniform numbers in [0, 1), with the shape, layout, dtype and device of a tensor. */
export function randLike(self: Tensor, options: TensorOptions = NO_OPTIONS): Tensor {
  return finish(
    callOp(randLikeOp, [self, checkedDtype(options), null, options.device ?? null, null, null]),
    options,
  );
}

/** Standard normal numbers, with the shape, layout, dtype and device of a tensor. */
export function randnLike(self: Tensor, options: TensorOptions = NO_OPTIONS): Tensor {
  return finish(
    callOp(randnLikeOp, [self, checkedDtype(options), null, options.device ?? null, null, null]),
    options,
  );
}

/** 1 with the probability that each element of self gives, else 0. @throws invalid-argument */
export function bernoulli(self: Tensor): Tensor {
  return callOp(bernoulliOp, [self, null]);
}

/** Fills self with ones of probability p, else zeros. @throws invalid-argument */
export function bernoulli_(self: Tensor, p: ScalarLike = 0.5): Tensor {
  return callOp(bernoulliInplace, [self, p, null]);
}

/** Fills self with uniform numbers in [from, to). @throws dtype-unsupported, invalid-argument */
export function uniform_(self: Tensor, from = 0, to = 1): Tensor {
  return callOp(uniformInplace, [self, from, to, null]);
}
