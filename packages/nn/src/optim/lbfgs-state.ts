/**
 * @file What `LBFGS` remembers, and its state dict: by PyTorch's names, under the number of the first parameter.
 */
import { TesseraError } from '@tessera/shared';
import { type Tensor, isTensor, keep } from '@tessera/tensor';
import { itemAtOnce } from '@tessera/tensor/internal';
import { isTree } from './state-names.js';

/** What is remembered between steps; vectors are of all parameters, one after another. */
export interface Memory {
  direction: Tensor;
  t: number;
  gradDifferences: Tensor[];
  steps: Tensor[];
  /** 1 / (y · s) */
  inverses: number[];
  scale: number;
  previousGrad: Tensor;
  previousLoss: number;
}

/** Counts of a run, and what it remembers after its first step. */
export interface LBFGSState {
  readonly evaluations: number;
  readonly iterations: number;
  readonly memory: Memory | null;
}

/** State by PyTorch's names; shares memory. */
export type LBFGSRecord = Readonly<Record<string, Tensor | number | (Tensor | number)[]>>;

/** The record of a state. */
export function recordOf({ evaluations, iterations, memory }: LBFGSState): LBFGSRecord {
  const counts = { func_evals: evaluations, n_iter: iterations };
  if (memory === null) return counts;
  return {
    ...counts,
    d: memory.direction,
    t: memory.t,
    old_dirs: [...memory.gradDifferences],
    old_stps: [...memory.steps],
    ro: [...memory.inverses],
    H_diag: memory.scale,
    prev_flat_grad: memory.previousGrad,
    prev_loss: memory.previousLoss,
  };
}

/**
 * The state of a record, of which vectors are copied.
 *
 * @param like what its vectors are like
 * @throws state-dict-mismatch
 */
export function stateOfRecord(given: unknown, like: Tensor): LBFGSState {
  const record = isTree(given) ? given : {};
  const refuse = (name: string): never => {
    throw new TesseraError('state-dict-mismatch', `This is no state of LBFGS: ${name}.`, {
      hints: [`Its vectors have the ${like.numel} numbers of all parameters.`],
    });
  };
  const number = (value: unknown, name: string): number => {
    const read = isTensor(value) && value.numel === 1 ? itemAtOnce(value) : value;
    return typeof read === 'number' ? read : refuse(name);
  };
  const vector = (value: unknown, name: string): Tensor => {
    if (!isTensor(value) || value.numel !== like.numel) return refuse(name);
    return keep(value.detach().to(like.dtype).to(like.device).clone());
  };
  const list = (name: string): unknown[] =>
    isTree(record[name]) ? Object.values(record[name]) : [];
  const counts = {
    evaluations: number(record['func_evals'] ?? 0, 'func_evals'),
    iterations: number(record['n_iter'] ?? 0, 'n_iter'),
  };
  if (record['d'] === undefined) return { ...counts, memory: null };
  const memory: Memory = {
    direction: vector(record['d'], 'd'),
    t: number(record['t'], 't'),
    gradDifferences: list('old_dirs').map((each) => vector(each, 'old_dirs')),
    steps: list('old_stps').map((each) => vector(each, 'old_stps')),
    inverses: list('ro').map((each) => number(each, 'ro')),
    scale: number(record['H_diag'], 'H_diag'),
    previousGrad: vector(record['prev_flat_grad'], 'prev_flat_grad'),
    previousLoss: number(record['prev_loss'], 'prev_loss'),
  };
  const { length } = memory.steps;
  if (memory.gradDifferences.length !== length || memory.inverses.length !== length)
    refuse('old_dirs, old_stps and ro have different lengths');
  return { ...counts, memory };
}
