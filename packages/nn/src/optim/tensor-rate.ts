/**
 * @file Options that are tensors: a learning rate, and the betas of Adam and its relatives.
 *
 * `group.lr` stays a number for rules and schedulers: reading it reads the tensor, writing it fills it. So a program that
 * changes the tensor in place changes the rate of the next step. In a compiled step the reading is a graph break, which a
 * number is not: options that are numbers may change without compiling again, too.
 */
import { TesseraError } from '@tessera/shared';
import { type Tensor, isTensor, noGrad } from '@tessera/tensor';

/** The number that an option is. @throws invalid-argument unless a tensor is one number on the CPU */
export function rateOf(rate: number | Tensor, name = 'lr'): number {
  if (!isTensor(rate)) return rate;
  if (rate.numel !== 1 || rate.device !== 'cpu')
    throw new TesseraError(
      'invalid-argument',
      `Tensor ${name} must be ${rate.numel === 1 ? 'on cpu' : '1-element'}`,
      { hints: ['Give a number, or tensor(0.01).'] },
    );
  return Number(rate.detach().item());
}

/** Makes `group[name]` what `given` holds, where that is a tensor or a list with tensors. */
export function bindTensors(group: object, name: string, given: unknown): void {
  const values = [given].flat() as (number | Tensor)[];
  if (!values.some(isTensor)) return;
  Object.defineProperty(group, name, {
    configurable: true,
    enumerable: true,
    get: () => {
      const numbers = values.map((value) => rateOf(value, name));
      return Array.isArray(given) ? numbers : numbers[0];
    },
    set(next: number | readonly number[]) {
      [next].flat().forEach((number, i) => {
        const value = values[i];
        if (isTensor(value)) noGrad(() => value.fill_(number));
        else values[i] = number;
      });
    },
  });
}
