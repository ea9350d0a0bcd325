/**
 * @file Recurrence kernels in the reference interpreter: all elements of a step, then the next step.
 */
import { compileStores, forEachPoint } from './interpret-body.js';
import { type Cell, type Frame, Program } from './interpret-program.js';
import type { RecurrenceKernel } from './kernel.js';
import { toComputeType } from './scalar-eval.js';

/** Expressions that are evaluated together. */
function compiled(
  frame: Frame,
  exprs: readonly Parameters<Program['compile']>[0][],
): () => number[] {
  const program = new Program(frame);
  const cells: Cell[] = exprs.map((expr) => program.compile(expr));
  return () => {
    program.run();
    return cells.map((cell) => cell());
  };
}

/** Runs a recurrence kernel. */
export function runRecurrence(kernel: RecurrenceKernel, frame: Frame): void {
  const { states, products, accDtype, n, k } = kernel;
  const initial = compiled(
    frame,
    states.map((state) => state.initial),
  );
  const next = compiled(
    frame,
    states.map((state) => state.next),
  );
  const vectors = compiled(frame, kernel.vectors);
  const weights = compiled(
    frame,
    products.flat().map(({ weight }) => weight),
  );
  const stores = compileStores(frame, kernel.stores);
  const lastStores = compileStores(frame, kernel.lastStores);
  /** Values of accumulators from `first` on. */
  const know = (first: number, values: readonly number[]): void =>
    values.forEach((value, i) => (frame.acc(first + i).value = toComputeType(value, accDtype)));
  /** Sums of a unit's products over all k, given the vectors. */
  const multiply = (given: readonly (readonly number[])[]): number[] => {
    const sums = products.map(() => 0);
    let at = 0;
    forEachPoint(frame, k, () => {
      const found = weights();
      let term = 0;
      for (const [p, terms] of products.entries())
        for (const { vector } of terms) sums[p]! += found[term++]! * given[at]![vector]!;
      at++;
    });
    return sums;
  };
  forEachPoint(frame, kernel.batch, () => {
    let present: number[][] = [];
    forEachPoint(frame, n, () => present.push(initial()));
    forEachPoint(frame, kernel.step, () => {
      const given: number[][] = [];
      forEachPoint(frame, n, () => {
        know(0, present[given.length]!);
        given.push(vectors());
      });
      const following: number[][] = [];
      forEachPoint(frame, n, () => {
        know(0, present[following.length]!);
        know(states.length, multiply(given));
        stores();
        following.push(next());
      });
      present = following;
    });
    let at = 0;
    forEachPoint(frame, n, () => {
      know(0, present[at++]!);
      lastStores();
    });
  });
}
