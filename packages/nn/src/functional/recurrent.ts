/**
 * @file One step, and one direction, of a recurrent network.
 *
 * Composed of plain operators, so gradients and compilation follow: the products of the inputs are one
 * matrix product for all steps, only those of the hidden state run step by step.
 */
import {
  type Tensor,
  cat,
  chunk,
  linear,
  matmul,
  narrow,
  relu,
  stack,
  unbind,
} from '@tessera/tensor';
import { mT } from '@tessera/tensor/internal';

/** Which equations a cell follows. */
export type CellKind = 'tanh' | 'relu' | 'lstm' | 'gru';

/** Parameters of one cell; `weightHr` projects the hidden state of an LSTM. */
export interface CellWeights {
  /** [gates · hidden, input] */
  readonly weightIh: Tensor;
  /** [gates · hidden, output] */
  readonly weightHh: Tensor;
  readonly biasIh: Tensor | null;
  readonly biasHh: Tensor | null;
  /** [projection, hidden], or null. */
  readonly weightHr: Tensor | null;
}

/** Hidden state [N, output], and the cell state [N, hidden] of an LSTM. */
export interface CellState {
  readonly hidden: Tensor;
  readonly cell: Tensor | null;
}

/** Gates per kind of cell: rows of its weights per hidden unit. */
export const GATES: Readonly<Record<CellKind, number>> = { tanh: 1, relu: 1, lstm: 4, gru: 3 };

/** h′ = n + z (h - n), where r decides what of h enters n. */
function gruStep(fromInput: Tensor, state: Tensor, weights: CellWeights): Tensor {
  const [inputR, inputZ, inputN] = chunk(fromInput, 3, -1) as [Tensor, Tensor, Tensor];
  const fromState = linear(state, weights.weightHh, weights.biasHh);
  const [stateR, stateZ, stateN] = chunk(fromState, 3, -1) as [Tensor, Tensor, Tensor];
  const reset = stateR.add(inputR).sigmoid();
  const update = stateZ.add(inputZ).sigmoid();
  const candidate = inputN.add(stateN.mul(reset)).tanh();
  return state.sub(candidate).mul(update).add(candidate);
}

/** c′ = f c + i g, h′ = o tanh(c′), projected if there is a projection. */
function lstmStep(fromInput: Tensor, state: CellState, weights: CellWeights): CellState {
  const gates = linear(state.hidden, weights.weightHh, weights.biasHh).add(fromInput);
  const [input, forget, candidate, output] = chunk(gates, 4, -1) as Tensor[];
  const cell = forget!.sigmoid().mul(state.cell!).add(input!.sigmoid().mul(candidate!.tanh()));
  const hidden = output!.sigmoid().mul(cell.tanh());
  return {
    hidden: weights.weightHr === null ? hidden : matmul(hidden, mT(weights.weightHr)),
    cell,
  };
}

/** The next state from x Wᵀ + b, [N, gates · hidden]. */
function step(
  kind: CellKind,
  fromInput: Tensor,
  state: CellState,
  weights: CellWeights,
): CellState {
  if (kind === 'lstm') return lstmStep(fromInput, state, weights);
  if (kind === 'gru') return { hidden: gruStep(fromInput, state.hidden, weights), cell: null };
  const sum = linear(state.hidden, weights.weightHh, weights.biasHh).add(fromInput);
  return { hidden: kind === 'tanh' ? sum.tanh() : relu(sum), cell: null };
}

/** The next state of a cell for one input [N, input]. @throws shape-mismatch */
export function recurrentCell(
  kind: CellKind,
  input: Tensor,
  state: CellState,
  weights: CellWeights,
): CellState {
  return step(kind, linear(input, weights.weightIh, weights.biasIh), state, weights);
}

/** Runs a cell along a sequence [T, N, input] → outputs [T, N, output] and the last state. @throws shape-mismatch */
export function recurrentLayer(
  kind: CellKind,
  input: Tensor,
  initial: CellState,
  weights: CellWeights,
  reverse: boolean,
): { readonly output: Tensor; readonly last: CellState } {
  const inputs = unbind(linear(input, weights.weightIh, weights.biasIh), 0);
  const outputs: Tensor[] = [];
  let state = initial;
  for (let i = 0; i < inputs.length; i++) {
    const t = reverse ? inputs.length - 1 - i : i;
    state = step(kind, inputs[t]!, state, weights);
    outputs[t] = state.hidden;
  }
  return { output: stack(outputs, 0), last: state };
}

/** One of two states, or both joined, in each of their tensors. */
function eachPart(kind: CellKind, part: (of: 'hidden' | 'cell') => Tensor): CellState {
  return { hidden: part('hidden'), cell: kind === 'lstm' ? part('cell') : null };
}

/**
 * Runs a cell along packed sequences, [sum of lengths, input] → the outputs, packed, and the last state of each.
 *
 * @param sizes sequences that have a step t, falling: those are the first ones of the state
 * @throws shape-mismatch
 */
export function packedRecurrentLayer(
  kind: CellKind,
  data: Tensor,
  sizes: readonly number[],
  initial: CellState,
  weights: CellWeights,
  reverse: boolean,
): { readonly output: Tensor; readonly last: CellState } {
  const fromInputs = linear(data, weights.weightIh, weights.biasIh);
  let end = 0;
  const inputs = sizes.map((size) => narrow(fromInputs, 0, (end += size) - size, size));
  const rows = (state: CellState, start: number, count: number): CellState =>
    eachPart(kind, (of) => narrow(state[of]!, 0, start, count));
  const joined = (states: readonly CellState[]): CellState =>
    eachPart(kind, (of) =>
      states.length === 1 ? states[0]![of]! : cat(states.map((s) => s[of]!)),
    );
  const outputs: Tensor[] = [];
  /** States of sequences that have ended, shortest first. */
  const ended: CellState[] = [];
  let active = reverse ? sizes.at(-1)! : sizes[0]!;
  let state = rows(initial, 0, active);
  for (let i = 0; i < sizes.length; i++) {
    const t = reverse ? sizes.length - 1 - i : i;
    const size = sizes[t]!;
    if (size < active) {
      ended.push(rows(state, size, active - size));
      state = rows(state, 0, size);
    } else if (size > active) state = joined([state, rows(initial, active, size - active)]);
    active = size;
    state = step(kind, inputs[t]!, state, weights);
    outputs[t] = state.hidden;
  }
  return { output: cat(outputs), last: joined([state, ...ended.reverse()]) };
}
