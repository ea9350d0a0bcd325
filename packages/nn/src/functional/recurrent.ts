/**
 * @file One step, and one direction, of a recurrent network.
 *
 * The products of the inputs are one matrix product for all steps, only those of the hidden state run step by step:
 * as plain operators, or as one op where a device runs them in one kernel.
 */
import { type Tensor, cat, linear, matmul, narrow, select, stack, unbind } from '@tessera/tensor';
import {
  type CellKind,
  type CellState,
  type StateWeights,
  fitsOneKernel,
  mT,
  recurrentLayer as wholeLayer,
  recurrentStep,
} from '@tessera/tensor/internal';

/** Parameters of one cell; `weightHr` projects the hidden state of an LSTM. */
export interface CellWeights extends StateWeights {
  /** [gates · hidden, input] */
  readonly weightIh: Tensor;
  readonly biasIh: Tensor | null;
  /** [projection, hidden], or null. */
  readonly weightHr: Tensor | null;
}

/** The next state from x Wᵀ + b, [N, gates · hidden]; its hidden state projected if there is a projection. */
function step(
  kind: CellKind,
  fromInput: Tensor,
  state: CellState,
  weights: CellWeights,
): CellState {
  const next = recurrentStep(kind, fromInput, state, weights);
  const { weightHr } = weights;
  return weightHr === null ? next : { ...next, hidden: matmul(next.hidden, mT(weightHr)) };
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

/** Whether the steps of a layer are one kernel: on WebGPU if the weights are few. */
function isOneKernel(
  kind: CellKind,
  gates: Tensor,
  { hidden, cell }: CellState,
  { weightHh, biasHh, weightHr }: CellWeights,
): boolean {
  const others = [weightHh, biasHh, hidden, cell].filter((x) => x !== null);
  return (
    weightHr === null &&
    gates.sizes[0]! > 1 &&
    others.every(({ dtype }) => dtype === gates.dtype) &&
    (gates.device !== 'wgpu' || fitsOneKernel(kind, hidden.sizes[1]!))
  );
}

/** Runs a cell along a sequence [T, N, input] → outputs [T, N, output] and the last state. @throws shape-mismatch */
export function recurrentLayer(
  kind: CellKind,
  input: Tensor,
  initial: CellState,
  weights: CellWeights,
  reverse: boolean,
): { readonly output: Tensor; readonly last: CellState } {
  const gates = linear(input, weights.weightIh, weights.biasIh);
  if (isOneKernel(kind, gates, initial, weights)) {
    const { output, cells } = wholeLayer(kind, gates, initial, weights, reverse);
    const end = reverse ? 0 : -1;
    const cell = cells === null ? null : select(cells, 0, end);
    return { output, last: { hidden: select(output, 0, end), cell } };
  }
  const inputs = unbind(gates, 0);
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
