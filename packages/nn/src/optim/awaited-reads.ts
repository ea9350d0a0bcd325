/**
 * @file `Reading`: a computation that reads numbers now and then, run at once or with awaited reads.
 *
 * It is a generator that yields the tensors whose numbers it needs, so that one text serves devices that can be read at
 * once and those that cannot. No graph holds it, since what it computes follows from those numbers.
 */
import { itemAtOnce, untraced } from '@tessera/tensor/internal';
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

const WHY = 'a step that reads losses as it goes';

/** Runs without gradients. @throws data-async-only for tensors of a device that cannot be read at once */
export function runAtOnce<T>(reading: Reading<T>): T {
  return quietly(() => {
    let step = reading.next();
    while (step.done !== true) step = reading.next(itemAtOnce(step.value));
    return step.value;
  });
}

/** Runs without gradients; other code, in its own mode, runs while numbers are awaited. */
export async function runAwaiting<T>(reading: Reading<T>): Promise<T> {
  let step = quietly(() => reading.next());
  while (step.done !== true) {
    const { value: tensor } = step;
    const value = Number(await untraced(WHY, () => tensor.item()));
    step = quietly(() => reading.next(value));
  }
  return step.value;
}

const quietly = <T>(fn: () => T): T => untraced(WHY, () => noGrad(fn));
