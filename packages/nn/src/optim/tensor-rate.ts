/**
 * @file Learning rates that are tensors.
 *
 * `group.lr` stays a number for rules and schedulers: reading it reads the tensor, writing it fills it. So a program that
 * changes the tensor in place changes the rate of the next step. In a compiled step the reading is a graph break, which a
 * number is not: rates that are numbers may change without compiling again, too.
 */
import { TesseraError } from '@tessera/shared';
import { type Tensor, isTensor, noGrad } from '@tessera/tensor';
import type { CommonOptions } from './param-group.js';

/** The number that a rate is. @throws invalid-argument unless a tensor is one number on the CPU */
export function rateOf(rate: number | Tensor): number {
  if (!isTensor(rate)) return rate;
  if (rate.numel !== 1 || rate.device !== 'cpu')
    throw new TesseraError(
      'invalid-argument',
      `Tensor lr must be ${rate.numel === 1 ? 'on cpu' : '1-element'}`,
      { hints: ['Give a number, or tensor(0.01).'] },
    );
  return Number(rate.detach().item());
}

/** Makes `group.lr` what `rate` holds, where it is a tensor. */
export function bindRate(group: CommonOptions, rate: number | Tensor): void {
  if (!isTensor(rate)) return;
  Object.defineProperty(group, 'lr', {
    configurable: true,
    enumerable: true,
    get: () => rateOf(rate),
    set: (value: number) => {
      noGrad(() => rate.fill_(value));
    },
  });
}
