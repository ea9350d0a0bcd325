/**
 * @file Attention kernels in the reference interpreter: all weights of a row, then what they weigh.
 */
import { compileStores, forEachPoint } from './interpret-body.js';
import { type Frame, Program } from './interpret-program.js';
import type { AttentionKernel } from './kernel.js';
import { toComputeType } from './scalar-eval.js';

/** Replaces logits by their softmax; returns log Σ exp. */
function softmaxOf(weights: number[]): number {
  const peak = weights.reduce((a, b) => Math.max(a, b), -Infinity);
  if (peak === -Infinity) {
    weights.fill(0);
    return peak;
  }
  let total = 0;
  for (const [i, logit] of weights.entries()) total += weights[i] = Math.exp(logit - peak);
  for (const i of weights.keys()) weights[i]! /= total;
  return peak + Math.log(total);
}

/** Whether the weight at the present j of the present row counts. */
function reach(kernel: AttentionKernel, frame: Frame): () => boolean {
  const { triangle } = kernel;
  const [row, column] = [kernel.m.at(-1), kernel.j.at(-1)];
  if (triangle === 'none' || row === undefined || column === undefined) return () => true;
  const [m, j] = [frame.variable(row.name), frame.variable(column.name)];
  return triangle === 'lower' ? () => j.value <= m.value : () => j.value >= m.value;
}

/** Runs an attention kernel. */
export function runAttention(kernel: AttentionKernel, frame: Frame): void {
  const { accDtype } = kernel;
  const scores = kernel.scores.map(({ a, b }) => {
    const program = new Program(frame);
    return { program, a: program.compile(a), b: program.compile(b) };
  });
  const weighing = new Program(frame);
  const weightCells = kernel.weights.map((weight) => weighing.compile(weight));
  const valuing = new Program(frame);
  const valueCells = kernel.values.map((value) => valuing.compile(value));
  const epilogue = compileStores(frame, kernel.epilogue);
  const summing = new Program(frame);
  const sumCells = kernel.columnSums.map(({ value }) => summing.compile(value));
  const rowStores = compileStores(frame, kernel.rowStores);
  const columnStores = compileStores(frame, kernel.columnStores);
  const weightStores = compileStores(frame, kernel.weightStores);
  const counts = reach(kernel, frame);
  const logits = kernel.softmax;
  const rowOf = (totals: readonly number[][]): void => {
    const weights = kernel.weights.map((): number[] => []);
    forEachPoint(frame, kernel.j, () => {
      if (!counts()) {
        for (const list of weights) list.push(logits ? -Infinity : 0);
        return;
      }
      for (const [p, { program, a, b }] of scores.entries()) {
        let sum = 0;
        forEachPoint(frame, kernel.k, () => {
          program.run();
          sum += a() * b();
        });
        frame.acc(p).value = toComputeType(sum, accDtype);
      }
      weighing.run();
      for (const [q, cell] of weightCells.entries()) weights[q]!.push(cell());
      if (kernel.weightStores.length === 0) return;
      for (const [q, list] of weights.entries())
        frame.acc(q).value = toComputeType(list.at(-1)!, accDtype);
      weightStores();
    });
    const logSum = logits ? softmaxOf(weights[0]!) : 0;
    forEachPoint(frame, kernel.n, () => {
      const sums = weights.map(() => 0);
      let at = 0;
      forEachPoint(frame, kernel.j, () => {
        if (counts()) {
          valuing.run();
          for (const [q, cell] of valueCells.entries()) sums[q]! += weights[q]![at]! * cell();
        }
        at++;
      });
      for (const [q, sum] of sums.entries()) frame.acc(q).value = toComputeType(sum, accDtype);
      epilogue();
    });
    let place = 0;
    let column = 0;
    if (totals.length > 0)
      forEachPoint(frame, kernel.j, () => {
        forEachPoint(frame, kernel.n, () => {
          summing.run();
          for (const [c, cell] of sumCells.entries()) {
            const product = weights[kernel.columnSums[c]!.weight]![column]! * cell();
            totals[c]![place] = (totals[c]![place] ?? 0) + product;
          }
          place++;
        });
        column++;
      });
    frame.acc(0).value = toComputeType(logSum, accDtype);
    rowStores();
  };
  forEachPoint(frame, kernel.batch, () => {
    const totals = kernel.columnSums.map((): number[] => []);
    forEachPoint(frame, kernel.m, () => rowOf(totals));
    let place = 0;
    if (totals.length > 0)
      forEachPoint(frame, [...kernel.j, ...kernel.n], () => {
        for (const [c, list] of totals.entries())
          frame.acc(c).value = toComputeType(list[place] ?? 0, accDtype);
        columnStores();
        place++;
      });
  });
}
