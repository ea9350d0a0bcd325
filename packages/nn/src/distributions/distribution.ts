/**
 * @file `Distribution`: the base of probability distributions.
 *
 * A distribution has parameters that broadcast to its batch shape, one distribution per element; one sample of
 * each has the event shape. Whether parameters and values are valid is checked by reading them: on `cpu`, outside
 * of compiled functions and `vmap`. Modelled on `torch.distributions`.
 */
import { TesseraError } from '@tessera/shared';
import {
  type Tensor,
  broadcastTensors,
  isFloatingPoint,
  expand,
  isTensor,
  noGrad,
  sqrt,
} from '@tessera/tensor';
import { activeMode, formatSizes, sameNumbers, scalarTensor } from '@tessera/tensor/internal';
import { checkOptions } from '../module/check-options.js';
import type { Constraint } from './constraints.js';

/** A parameter: numbers stand for tensors without dimensions. */
export type ParameterLike = Tensor | number;

/** Options of all distributions. */
export interface DistributionOptions {
  /** Whether parameters, and values given to `logProb` and its kin, are checked (default true). */
  readonly validateArgs?: boolean;
}

/** Options of `enumerateSupport`. */
export interface EnumerateOptions {
  /** Whether values are repeated for every distribution of the batch; [values, 1, …, event] if not (default true). */
  readonly expand?: boolean;
}

/** @throws invalid-argument unless a parameter is a tensor; a number may stand for one with `numbers` */
export function checkTensor(name: string, value: unknown, numbers = false): void {
  if (isTensor(value) || (numbers && ['number', 'bigint', 'boolean'].includes(typeof value)))
    return;
  throw new TesseraError(
    'invalid-argument',
    `${name} must be a tensor${numbers ? ' or a number' : ''}, not ${typeof value === 'object' ? 'an object' : String(value)}.`,
    { hints: ['Parameters of distributions are given as tensor([0.5, 0.5]).'] },
  );
}

/** Parameters as tensors of one shape; numbers take the dtype and device of the tensors. */
export function broadcastAll<Values extends readonly ParameterLike[]>(
  ...values: Values
): { readonly [K in keyof Values]: Tensor } {
  for (const value of values) checkTensor('A parameter of a distribution', value, true);
  const like = values.find(
    (value): value is Tensor => isTensor(value) && isFloatingPoint(value.dtype),
  );
  const options = like === undefined ? {} : { dtype: like.dtype, device: like.device };
  return broadcastTensors(
    values.map((value) => (isTensor(value) ? value : scalarTensor(value, options))),
  ) as { readonly [K in keyof Values]: Tensor };
}

/** See the file header. */
export abstract class Distribution {
  /** Names of the constructor's options. */
  static readonly optionNames: Readonly<Record<string, true>> = { validateArgs: true };

  readonly validateArgs: boolean;

  constructor(
    /** Shape of the distributions. */
    readonly batchShape: readonly number[],
    /** Shape of a sample of one of them. */
    readonly eventShape: readonly number[],
    options: DistributionOptions = {},
  ) {
    checkOptions(new.target, options);
    this.validateArgs = options.validateArgs ?? true;
  }

  /**
   * The same distributions with a batch shape that theirs broadcasts to. Classes whose fields are tensors [batch, …] and
   * distributions over [batch, …] need no method of their own.
   *
   * @throws shape-mismatch
   */
  expand(batchShape: readonly number[]): this {
    const made: this = Object.create(Object.getPrototypeOf(this));
    const batch = [...batchShape];
    const behind = (sizes: readonly number[]): number[] => sizes.slice(this.batchShape.length);
    const fields = Object.entries(this).map(([name, value]: [string, unknown]) => {
      if (isTensor(value)) return [name, expand(value, [...batch, ...behind(value.sizes)])];
      if (value instanceof Distribution)
        return [name, value.expand([...batch, ...behind(value.batchShape)])];
      return [name, value];
    });
    return Object.assign(made, Object.fromEntries(fields), { batchShape: batch });
  }

  /** Where samples lie. */
  abstract get support(): Constraint;
  /** [batch, event] */
  abstract get mean(): Tensor;
  /** [batch, event] */
  abstract get variance(): Tensor;
  /** The most probable value, [batch, event]. @throws invalid-argument where there is no formula */
  get mode(): Tensor {
    throw this.missing('mode');
  }
  /** Log probability (density) of values [sample, batch, event] → [sample, batch]. @throws invalid-argument */
  abstract logProb(value: Tensor): Tensor;

  /** [batch, event] */
  get stddev(): Tensor {
    return sqrt(this.variance);
  }

  /** Whether gradients flow from `rsample` into the parameters. */
  get hasRsample(): boolean {
    return this.rsample !== Distribution.prototype.rsample;
  }

  /** Samples [sample, batch, event] without history. */
  sample(sampleShape: readonly number[] = []): Tensor {
    return noGrad(() => this.rsample(sampleShape).detach());
  }

  /** Samples that gradients flow through, into the parameters. @throws invalid-argument where there are none */
  rsample(_sampleShape: readonly number[] = []): Tensor {
    throw this.missing(
      'rsample()',
      'Use sample(), and logProb() of it for a score-function gradient.',
    );
  }

  /** In nats, [batch]. @throws invalid-argument where there is no formula */
  entropy(): Tensor {
    throw this.missing('entropy()');
  }

  /**
   * ∫ p log(p / other) of this p, [batch], where the class brings a formula; null where it has none. `klDivergence` asks
   * for it where no pair of classes is known.
   */
  divergenceTo(_other: Distribution): Tensor | null {
    return null;
  }

  /** Probability of at most `value`. @throws invalid-argument where there is no formula */
  cdf(_value: Tensor): Tensor {
    throw this.missing('cdf()');
  }

  /** The value with this probability of at most it. @throws invalid-argument where there is no formula */
  icdf(_value: Tensor): Tensor {
    throw this.missing('icdf()');
  }

  /** Whether all values can be listed. */
  get hasEnumerateSupport(): boolean {
    return this.enumerateSupport !== Distribution.prototype.enumerateSupport;
  }

  /** All values, [values, batch, event]. @throws invalid-argument where they cannot be counted */
  enumerateSupport(_options: EnumerateOptions = {}): Tensor {
    throw this.missing('enumerateSupport()');
  }

  /** Values [values, …event] as `enumerateSupport` gives them. */
  protected enumerated(values: Tensor, { expand: all = true }: EnumerateOptions): Tensor {
    const [count, ...event] = values.sizes;
    const ones = this.batchShape.map(() => 1);
    const listed = values.view([count!, ...ones, ...event]);
    return all ? expand(listed, [count!, ...this.batchShape, ...event]) : listed;
  }

  /** exp of the entropy, [batch]. */
  perplexity(): Tensor {
    return this.entropy().exp();
  }

  protected missing(
    name: string,
    hint = 'PyTorch has none either, or it needs a function that is missing here.',
  ): TesseraError {
    return new TesseraError('invalid-argument', `${this.constructor.name} has no ${name}.`, {
      hints: [hint],
    });
  }

  /** Shape of samples. @throws invalid-argument for what is no list */
  protected extended(sampleShape: readonly number[]): number[] {
    if (!Array.isArray(sampleShape))
      throw new TesseraError('invalid-argument', 'The shape of samples is a list of sizes.', {
        hints: [`Put it in brackets: [${String(sampleShape)}].`],
      });
    return [...sampleShape, ...this.batchShape, ...this.eventShape];
  }

  /** @throws invalid-argument */
  protected checkParameter(name: string, value: Tensor, constraint: Constraint): void {
    if (!this.validateArgs || !canRead(value) || holds(value, constraint)) return;
    throw new TesseraError(
      'invalid-argument',
      `Expected parameter ${name} (Tensor of shape ${formatSizes(value.sizes)}) of distribution ${this.constructor.name} to satisfy the constraint ${constraint.text}, but found invalid values.`,
      {
        context: { parameter: name },
        hints: ['Pass validateArgs: false to go without this check.'],
      },
    );
  }

  /** @throws invalid-argument */
  protected checkValue(value: Tensor): void {
    if (!isTensor(value))
      throw new TesseraError('invalid-argument', `${this.constructor.name}: values are tensors.`, {
        hints: [`Write tensor(${String(value)}).`],
      });
    if (!this.validateArgs || !canRead(value)) return;
    this.checkShape(value.sizes);
    const { support } = this;
    if (holds(value, support)) return;
    throw new TesseraError(
      'invalid-argument',
      `Expected value argument (Tensor of shape ${formatSizes(value.sizes)}) to be within the support (${support.text}) of the distribution ${this.constructor.name}, but found invalid values.`,
      { hints: ['Pass validateArgs: false to go without this check.'] },
    );
  }

  /** @throws shape-mismatch */
  private checkShape(sizes: readonly number[]): void {
    const { batchShape, eventShape } = this;
    const hint = 'Values are [sample, batch, event].';
    const event = eventShape.length === 0 ? [] : sizes.slice(-eventShape.length);
    if (!sameNumbers(event, eventShape))
      throw new TesseraError(
        'shape-mismatch',
        `The right-most size of value must match event_shape: ${formatSizes(sizes)} vs ${formatSizes(eventShape)}.`,
        { hints: [hint] },
      );
    const expected = [...batchShape, ...eventShape];
    const fits = expected.every((size, i) => {
      const given = sizes[i + sizes.length - expected.length] ?? 1;
      return given === size || given === 1 || size === 1;
    });
    if (!fits)
      throw new TesseraError(
        'shape-mismatch',
        `Value is not broadcastable with batch_shape+event_shape: ${formatSizes(sizes)} vs ${formatSizes(expected)}.`,
        { hints: [hint] },
      );
  }

  toString(): string {
    return `${this.constructor.name}(batchShape: ${formatSizes(this.batchShape)}, eventShape: ${formatSizes(this.eventShape)})`;
  }
}

/** Whether values are there to be read: not while a program is captured, nor on another device. */
function canRead(value: Tensor): boolean {
  return activeMode([value]) === null && value.device === 'cpu' && !value.isFake;
}

function holds(value: Tensor, { check }: Constraint): boolean {
  return noGrad(() => check(value.detach()).all().item()) === 1;
}
