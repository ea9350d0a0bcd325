/**
 * @file Which elements of a tensor pruning zeroes: PyTorch's methods, and the contract of others.
 */
import { TesseraError } from '@tessera/shared';
import { type Tensor, abs, ones, rand, randLike, topk, zeros } from '@tessera/tensor';
import { formatSizes, checkTensors } from '@tessera/tensor/internal';

/** Decides what is kept. */
export interface PruningMethod {
  /** Whether it sees the elements that are kept so far in a row, the kept channels of `dim`, or all. */
  readonly type: 'unstructured' | 'structured' | 'global';
  /** The dimension whose channels it takes, of structured ones. */
  readonly dim?: number;
  /** Ones and zeros, the latter at least where `mask` has them, by scores of its shape. */
  computeMask(scores: Tensor, mask: Tensor): Tensor;
}

/** How much is pruned: a share between 0 and 1, or a whole number of elements or channels (1 is one of them). */
export type Amount = number;

function invalid(message: string, hint: string): TesseraError {
  return new TesseraError('invalid-argument', message, { hints: [hint] });
}

/** @throws invalid-argument */
function checkAmount(amount: unknown): void {
  if (typeof amount !== 'number')
    throw invalid(
      `Invalid type for amount: ${String(amount)}. Must be int or float.`,
      'Give a share such as 0.3, or how many elements.',
    );
  if (!(amount >= 0) || (amount > 1 && !Number.isInteger(amount)))
    throw invalid(
      `amount=${amount} should either be a float in the range [0, 1] or a non-negative integer`,
      'Shares are below 1; 1 is one element.',
    );
}

/** Python's rounding: halves to even. */
function roundHalfEven(x: number): number {
  const below = Math.floor(x);
  if (x - below !== 0.5) return Math.round(x);
  return below % 2 === 0 ? below : below + 1;
}

/** How many of `size` are pruned. @throws invalid-argument */
function countOf(amount: Amount, size: number): number {
  if (!Number.isInteger(amount)) return roundHalfEven(amount * size);
  if (amount > size)
    throw invalid(
      `amount=${amount} should be smaller than the number of parameters to prune=${size}`,
      'Elements that are pruned already do not count.',
    );
  return amount;
}

/** `mask` with zeros at the `count` smallest scores. */
function withoutSmallest(scores: Tensor, mask: Tensor, count: number): Tensor {
  const flat = mask.clone().view([-1]);
  if (count > 0) flat.indexFill_(0, topk(scores.reshape([-1]), count, { largest: false })[1], 0);
  return flat.view(mask.sizes);
}

/** Of methods that zero single elements. */
abstract class Unstructured implements PruningMethod {
  readonly type = 'unstructured';
  readonly amount: Amount;

  /** @throws invalid-argument */
  constructor(options: { readonly amount: Amount }) {
    const amount = options?.amount;
    checkAmount(amount);
    this.amount = amount;
  }

  computeMask(scores: Tensor, mask: Tensor): Tensor {
    return withoutSmallest(this.rank(scores), mask, countOf(this.amount, scores.numel));
  }

  /** Numbers of which the smallest are pruned. */
  protected abstract rank(scores: Tensor): Tensor;
}

/** Prunes the smallest elements. @see torch.nn.utils.prune.L1Unstructured */
export class L1Unstructured extends Unstructured {
  protected rank(scores: Tensor): Tensor {
    return abs(scores);
  }
}

/** Prunes any elements. @see torch.nn.utils.prune.RandomUnstructured */
export class RandomUnstructured extends Unstructured {
  protected rank(scores: Tensor): Tensor {
    return randLike(scores);
  }
}

/** Options of methods that take whole channels. */
export interface StructuredOptions {
  readonly amount: Amount;
  /** Whose channels (default -1). */
  readonly dim?: number;
}

/** A dimension of channels, counted from the first. @throws invalid-argument, invalid-dim */
function channelDim({ sizes, ndim }: Tensor, dim: number): number {
  if (ndim <= 1)
    throw invalid(
      `Structured pruning can only be applied to multidimensional tensors. Found tensor of shape ${formatSizes(sizes)} with ${ndim} dims`,
      'Prune single elements of it: l1Unstructured.',
    );
  if (dim >= ndim || dim < -ndim)
    throw new TesseraError(
      'invalid-dim',
      `Invalid index ${dim} for tensor of size ${formatSizes(sizes)}`,
      { hints: ['Name a dimension of the tensor.'] },
    );
  return dim < 0 ? dim + ndim : dim;
}

/** Of methods that zero whole channels of a dimension. */
abstract class Structured implements PruningMethod {
  readonly type = 'structured';
  readonly amount: Amount;
  readonly dim: number;

  /** @throws invalid-argument */
  constructor(options: StructuredOptions) {
    const { amount, dim = -1 }: Partial<StructuredOptions> = options ?? {};
    checkAmount(amount);
    this.amount = amount;
    this.dim = dim;
  }

  computeMask(scores: Tensor, mask: Tensor): Tensor {
    const { sizes } = scores;
    const dim = channelDim(scores, this.dim);
    const channels = sizes[dim]!;
    const count = countOf(this.amount, channels);
    const { dtype, device } = mask;
    const kept = withoutSmallest(
      this.rank(scores, dim),
      ones([channels], { dtype, device }),
      count,
    );
    return mask.mul(kept.view(sizes.map((size, i) => (i === dim ? size : 1))));
  }

  /** A number per channel, of which the smallest are pruned. */
  protected abstract rank(scores: Tensor, dim: number): Tensor;
}

/** Prunes any channels. @see torch.nn.utils.prune.RandomStructured */
export class RandomStructured extends Structured {
  protected rank(scores: Tensor, dim: number): Tensor {
    return rand([scores.sizes[dim]!], { device: scores.device });
  }
}

/** Options of `LnStructured`. */
export interface LnStructuredOptions extends StructuredOptions {
  /** Which norm of a channel: 1, 2, Infinity, 'fro', … */
  readonly n: number | 'fro';
}

/** Prunes the channels with the smallest n-norm. @see torch.nn.utils.prune.LnStructured */
export class LnStructured extends Structured {
  readonly n: number | 'fro';

  /** @throws invalid-argument */
  constructor(options: LnStructuredOptions) {
    super(options);
    this.n = options.n;
  }

  protected rank(scores: Tensor, dim: number): Tensor {
    const rest = scores.sizes.map((_, i) => i).filter((i) => i !== dim);
    return scores.norm(this.n === 'fro' ? 2 : this.n, rest);
  }
}

/** Prunes what a mask says. @see torch.nn.utils.prune.CustomFromMask */
export class CustomFromMask implements PruningMethod {
  readonly type = 'global';
  readonly mask: Tensor;

  constructor(options: { readonly mask: Tensor }) {
    const mask = options?.mask;
    checkTensors('CustomFromMask', { mask });
    this.mask = mask;
  }

  computeMask(_scores: Tensor, mask: Tensor): Tensor {
    if (formatSizes(mask.sizes) !== formatSizes(this.mask.sizes))
      throw new TesseraError(
        'shape-mismatch',
        `default_mask shape ${formatSizes(mask.sizes)} must match self.mask shape ${formatSizes(this.mask.sizes)}`,
        { hints: ['A mask has the shape of the tensor.'] },
      );
    return mask.mul(this.mask.to(mask.dtype));
  }
}

/** Prunes nothing. @see torch.nn.utils.prune.Identity */
export class Identity implements PruningMethod {
  readonly type = 'unstructured';
  computeMask(_scores: Tensor, mask: Tensor): Tensor {
    return mask;
  }
}

/** `mask` after a method saw what it keeps so far. */
export function combinedMask(method: PruningMethod, scores: Tensor, mask: Tensor): Tensor {
  if (method.type === 'global') return method.computeMask(scores, mask);
  const isKept = mask.ne(0);
  if (method.type === 'unstructured') {
    const kept = method.computeMask(scores.maskedSelect(isKept), mask.maskedSelect(isKept));
    return mask.maskedScatter(isKept, kept.to(mask.dtype));
  }
  const at = channelDim(mask, method.dim ?? -1);
  const others = mask.sizes.map((_, i) => i).filter((i) => i !== at);
  const channels = mask.sum(others).ne(0).nonzero().view([-1]);
  const part = method.computeMask(scores.indexSelect(at, channels), mask.indexSelect(at, channels));
  return zeros(mask.sizes, { dtype: mask.dtype, device: mask.device }).indexCopy(
    at,
    channels,
    part.to(mask.dtype),
  );
}
