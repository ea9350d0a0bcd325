/**
 * @file `Reading`: a computation that reads numbers now and then, run at once or with awaited reads.
 *
 * It is a generator that yields the tensors whose numbers it needs, so that one text serves devices that can be read at
 * once and those that cannot.
 */
import { itemAtOnce } from '@tessera/tensor/internal';
import { type Tensor, noGrad } from '@tessera/tensor';

/** See the file header. */
export type Reading<T> = Generator<Tensor, T, number>;

/** The number of a tensor with one element. */
export function* read(tensor: Tensor): Reading<number> {
  return yield tensor;
}

/** The largest magnitude in a tensor. */
export function* largest(tensor: Tensor): Reading<number> {
  return yield tensor.abs().max();
}

/** Runs without gradients. @throws data-async-only for tensors of a device that cannot be read at once */
export function runAtOnce<T>(reading: Reading<T>): T {
  return noGrad(() => {
    let step = reading.next();
    while (step.done !== true) step = reading.next(itemAtOnce(step.value));
    return step.value;
  });
}

/** Runs without gradients; other code, in its own mode, runs while numbers are awaited. */
export async function runAwaiting<T>(reading: Reading<T>): Promise<T> {
  let step = noGrad(() => reading.next());
  while (step.done !== true) {
    const value = Number(await step.value.item());
    step = noGrad(() => reading.next(value));
  }
  return step.value;
}
