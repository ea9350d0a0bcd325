/**
 * @file Connectionist temporal classification: the likelihood of a label sequence over all alignments.
 *
 * The forward variables of all samples advance together, in one op that is a kernel for all steps. As PyTorch's, the gradient is
 * that for logits: it holds a term exp(logProbs) that log-softmax's backward takes away.
 */
import { type OptionNames, TesseraError, checkOptionNames } from '@tessera/shared';
import {
  type DeviceType,
  type Tensor,
  add,
  arange,
  cat,
  clamp,
  clampMax,
  clampMin,
  cumsum,
  eq,
  expand,
  full,
  fullLike,
  gather,
  gt,
  indexSelect,
  isTensor,
  logicalAnd,
  logsumexp,
  lt,
  mean,
  minimum,
  ne,
  reshape,
  select,
  slice,
  stack,
  sum,
  tensor,
  unsqueeze,
  where,
} from '@tessera/tensor';
import {
  NEVER,
  type Reduction,
  constantPad,
  ctcAlphas,
  reductionNumber,
  toDtype,
  checkTensors,
} from '@tessera/tensor/internal';

/** Options of `ctcLoss`. */
export interface CtcLossOptions {
  /** Class that stands for no label (default 0). */
  readonly blank?: number;
  /** Whether losses of impossible labels count as zero (default false). */
  readonly zeroInfinity?: boolean;
  readonly reduction?: Reduction;
}
const CTC_LOSS: OptionNames<CtcLossOptions> = { blank: true, zeroInfinity: true, reduction: true };

/** Lengths of the samples of a batch, each at most `most` where that can be seen. @throws shape-mismatch, invalid-argument */
function lengthsOf(
  name: string,
  lengths: Tensor | readonly number[],
  { batch, most, device }: { batch: number; most: number; device: DeviceType },
): Tensor {
  if (!isTensor(lengths) && !Array.isArray(lengths))
    throw new TesseraError('invalid-argument', `ctcLoss: ${name} must be a tensor or an array`, {
      hints: ['Give one length for each sample.'],
    });
  const given = isTensor(lengths) ? lengths : tensor([...lengths], { dtype: 'int64' });
  if (given.numel !== batch)
    throw new TesseraError(
      'shape-mismatch',
      `ctcLoss: ${name} must be of size batch_size: ${given.numel} for a batch of ${batch}`,
      { hints: ['Give one length for each sample.'] },
    );
  const wrong = isTensor(lengths) ? undefined : lengths.find((n) => !(n >= 0 && n <= most));
  if (wrong !== undefined)
    throw new TesseraError(
      'invalid-argument',
      `ctcLoss: Expected ${name} to have value at most ${most}, but got value ${wrong}`,
      { hints: ['Lengths count the steps and labels that a sample has of those that there are.'] },
    );
  return toDtype(given, 'int64').to(device);
}

/** The same where lengths cannot be read at once: each row has all that there may be. */
function asWideRows(targets: Tensor, lengths: Tensor): Tensor {
  const { device } = lengths;
  const width = Math.max(1, targets.numel);
  if (targets.numel === 0) return full([lengths.numel, width], 0, { dtype: 'int64', device });
  const counts = toDtype(reshape(lengths, [-1, 1]), 'int64');
  const starts = cumsum(counts, 0).sub(counts);
  const places = clampMax(starts.add(arange(width, { device })), width - 1);
  const labels = toDtype(targets.to(device), 'int64');
  return reshape(indexSelect(labels, 0, places.flatten()), [-1, width]);
}

/** Labels one after the other as rows; lengths that are a tensor on the CPU are read. @throws shape-mismatch */
function asRows(targets: Tensor, lengths: Tensor | readonly number[]): Tensor {
  if (isTensor(lengths) && lengths.device !== 'cpu') return asWideRows(targets, lengths);
  const counts = isTensor(lengths)
    ? Array.from(lengths.contiguous().toTypedArray(), Number)
    : lengths;
  const total = counts.reduce((sum, count) => sum + count, 0);
  if (total !== targets.numel)
    throw new TesseraError(
      'shape-mismatch',
      `ctcLoss: Expected tensor to have size ${total} at dimension 0, but got size ${targets.numel} for the targets`,
      {
        hints: [
          'The labels of all samples follow each other: their number is the sum of targetLengths.',
        ],
      },
    );
  const width = Math.max(1, ...counts);
  const { device } = targets;
  if (total === 0) return full([counts.length, width], 0, { dtype: 'int64', device });
  let start = 0;
  const places = counts.flatMap((count) => {
    const row = Array.from({ length: width }, (_, i) => Math.min(start + i, total - 1));
    start += count;
    return row;
  });
  const index = tensor(places, { dtype: 'int64', device });
  return reshape(indexSelect(toDtype(targets, 'int64'), 0, index), [counts.length, width]);
}

/** States for as many labels, the last of them a blank: of few different numbers, so that code serves many. */
function statesFor(labels: number): number {
  const needed = 2 * labels + 1;
  return [32, 128].find((states) => states >= needed) ?? 2 ** Math.ceil(Math.log2(needed));
}

/**
 * Log-probabilities [T, N, C] against labels [N, S], or one row of all labels; without a batch [T, C].
 *
 * @throws shape-mismatch, invalid-argument
 * @see torch.nn.functional.ctc_loss
 * @see Graves et al., Connectionist Temporal Classification, ICML 2006
 */
export function ctcLoss(
  logProbs: Tensor,
  targets: Tensor,
  inputLengths: Tensor | readonly number[],
  targetLengths: Tensor | readonly number[],
  options: CtcLossOptions = {},
): Tensor {
  checkOptionNames('ctcLoss', options, CTC_LOSS);
  checkTensors('ctcLoss', { logProbs, targets });
  const { blank = 0, zeroInfinity = false, reduction = 'mean' } = options;
  if (logProbs.ndim === 2) {
    const one = (lengths: Tensor | readonly number[]): Tensor | readonly number[] =>
      isTensor(lengths) ? reshape(lengths, [1]) : lengths;
    const losses = ctcLoss(
      unsqueeze(logProbs, 1),
      unsqueeze(targets, 0),
      one(inputLengths),
      one(targetLengths),
      options,
    );
    return losses.ndim === 0 ? losses : losses.squeeze(0);
  }
  if (logProbs.ndim !== 3)
    throw new TesseraError(
      'shape-mismatch',
      `ctcLoss: Expected log-probabilities to be 2D or 3D, got ${logProbs.ndim}D instead`,
      { hints: ['They are [T, N, C] or [T, C].'] },
    );
  const [steps, n, classes] = logProbs.sizes;
  const { device } = logProbs;
  const inputs = lengthsOf('inputLengths', inputLengths, { batch: n, most: steps, device });
  const lengths = lengthsOf('targetLengths', targetLengths, {
    batch: n,
    most: targets.sizes.at(-1)!,
    device,
  });
  const rows = targets.ndim === 1 ? asRows(targets, targetLengths) : toDtype(targets, 'int64');
  // What lies behind a sample's labels may be anything; it is never reached.
  const labels = clamp(rows.to(logProbs.device), 0, classes - 1);
  const most = labels.sizes[1]!;
  const width = statesFor(most);
  // The last label goes on to the end; no way leads back from there.
  const each = clampMax(arange(width / 2, { device }), Math.max(most - 1, 0));
  const padded =
    most === 0
      ? full([n, width / 2], blank, { device, dtype: 'int64' })
      : indexSelect(labels, 1, each);
  const states = reshape(stack([fullLike(padded, blank), padded], 2), [n, -1]);
  // A blank between two labels may be left out, unless they are equal.
  const before = constantPad(slice(states, 1, 0, width - 2), [2, 0], blank);
  const skips = logicalAnd(ne(states, blank), ne(states, before));
  const reach = minimum(arange(width, { device }), add(toDtype(skips, 'int64'), 1));
  const places = expand(unsqueeze(states, 0), [steps, n, width]);
  const alphas = ctcAlphas(gather(logProbs, 2, places), toDtype(reach, logProbs.dtype));
  // A tensor: as a plain number it would count as an integer, which it is too large for.
  const never = full([], NEVER, { dtype: logProbs.dtype, device });
  const ends = expand(reshape(clampMin(inputs.sub(1), 0), [1, n, 1]), [1, n, width]);
  const alpha = select(gather(alphas, 0, ends), 0, 0);
  const end = unsqueeze(lengths.mul(2), 1);
  const last = gather(alpha, 1, end);
  const previous = where(gt(end, 0), gather(alpha, 1, clampMin(end.sub(1), 0)), never);
  const likelihood = logsumexp(cat([last, previous], 1), 1);
  const impossible = lt(likelihood, never.div(2));
  const known = logProbs.detach();
  const counted = lt(
    reshape(arange(steps, { device: logProbs.device }), [-1, 1, 1]),
    reshape(inputs, [1, -1, 1]),
  );
  // Zero in value; its gradient is exp(logProbs).
  const forLogits = sum(where(counted, logProbs.sub(known).mul(known.exp()), 0), [0, 2]);
  const losses = where(
    impossible,
    zeroInfinity ? 0 : Infinity,
    where(eq(inputs, 0), 0, likelihood.neg().add(forLogits)),
  );
  const number = reductionNumber(reduction);
  if (number === 0) return losses;
  return number === 2 ? sum(losses) : mean(losses.div(clampMin(lengths, 1)));
}
