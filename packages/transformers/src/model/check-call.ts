/**
 * @file What a call of a model is given, checked before anything is computed with it: names of options, and shapes that
 * would broadcast to something else or fail deep in a layer.
 */
import { type OptionNames, TesseraError, checkOptionNames } from '@tessera/shared';
import { type Tensor, cat, isTensor, ones } from '@tessera/tensor';
import type { ForwardOptions } from './causal-lm.js';

const NAMES: OptionNames<ForwardOptions> = {
  attentionMask: true,
  positions: true,
  cache: true,
  only: true,
};

function refuse(what: string, hint: string): never {
  throw new TesseraError('invalid-argument', `CausalLM: ${what}.`, { hints: [hint] });
}

const shapeOf = ({ sizes }: Tensor): string => `[${sizes.join(', ')}]`;

/** @throws invalid-argument */
export function checkCall(ids: unknown, options: ForwardOptions): asserts ids is Tensor {
  checkOptionNames('CausalLM.call', options, NAMES);
  if (!isTensor(ids) || ids.ndim !== 2 || ids.numel === 0)
    refuse(
      `ids are ${isTensor(ids) ? `of shape ${shapeOf(ids)}` : `a ${typeof ids}`}, not [batch, tokens]`,
      "Give token numbers: tensor([[1, 5, 7]], { dtype: 'int64' }).",
    );
  const [batch, count] = ids.sizes;
  const { positions, only } = options;
  if (positions && !fits(positions, batch, count))
    refuse(
      `positions are of shape ${shapeOf(positions)}`,
      `Give one for each token: [${batch}, ${count}] or [1, ${count}].`,
    );
  if (only && only.ndim !== 1)
    refuse(`only is of shape ${shapeOf(only)}`, 'Give places among the tokens of the call, [n].');
}

function fits({ ndim, sizes }: Tensor, batch: number, count: number): boolean {
  return ndim === 2 && (sizes[0] === batch || sizes[0] === 1) && sizes[1] === count;
}

/**
 * Which keys are tokens, [B or 1, length] of bool, from a mask over what the cache holds and the call (`known` tokens, or
 * all `length` places of a static cache). Places behind are taken for tokens: no query sees them.
 *
 * @throws invalid-argument
 */
export function realKeys(mask: Tensor, batch: number, known: number, length: number): Tensor {
  const { sizes, device } = mask;
  const given = sizes[1] ?? 0;
  const isRow = mask.ndim === 2 && (sizes[0] === batch || sizes[0] === 1);
  if (!isRow || (given !== known && given !== length)) {
    const wanted = known === length ? `${known}` : `${known} (or ${length})`;
    refuse(
      `attentionMask is of shape ${shapeOf(mask)}`,
      `Say 1 or 0 of each token, of what the cache holds too: [${batch}, ${wanted}].`,
    );
  }
  const real = mask.to('bool');
  if (given === length) return real;
  return cat([real, ones([sizes[0]!, length - given], { dtype: 'bool', device })], 1);
}
