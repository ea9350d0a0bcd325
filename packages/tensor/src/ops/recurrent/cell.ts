/**
 * @file One step of a recurrent network, composed of plain operators.
 */
import type { Tensor } from '../../tensor.js';
import { relu } from '../activation/activation.js';
import { linear } from '../matmul/composite.js';
import { chunk } from '../view/split.js';

/** Which equations a cell follows. */
export type CellKind = 'tanh' | 'relu' | 'lstm' | 'gru';

/** Hidden state [N, hidden], and the cell state of an LSTM. */
export interface CellState {
  readonly hidden: Tensor;
  readonly cell: Tensor | null;
}

/** What a cell multiplies its hidden state by, [gates · hidden, hidden], and adds, [gates · hidden]. */
export interface StateWeights {
  readonly weightHh: Tensor;
  readonly biasHh: Tensor | null;
}

/** Gates per kind of cell: rows of its weights per hidden unit. */
export const GATES: Readonly<Record<string, number>> = {
  tanh: 1,
  relu: 1,
  lstm: 4,
  gru: 3,
} satisfies Record<CellKind, number>;

/** h′ = n + z (h - n), where r decides what of h enters n. */
function gruStep(fromInput: Tensor, state: Tensor, { weightHh, biasHh }: StateWeights): Tensor {
  const [inputR, inputZ, inputN] = chunk(fromInput, 3, -1);
  const fromState = linear(state, weightHh, biasHh);
  const [stateR, stateZ, stateN] = chunk(fromState, 3, -1);
  const reset = stateR.add(inputR).sigmoid();
  const update = stateZ.add(inputZ).sigmoid();
  const candidate = inputN.add(stateN.mul(reset)).tanh();
  return state.sub(candidate).mul(update).add(candidate);
}

/** c′ = f c + i g, h′ = o tanh(c′). */
function lstmStep(
  fromInput: Tensor,
  state: CellState,
  { weightHh, biasHh }: StateWeights,
): CellState {
  const gates = linear(state.hidden, weightHh, biasHh).add(fromInput);
  const [input, forget, candidate, output] = chunk(gates, 4, -1);
  const cell = forget!.sigmoid().mul(state.cell!).add(input!.sigmoid().mul(candidate!.tanh()));
  return { hidden: output!.sigmoid().mul(cell.tanh()), cell };
}

/** The next state from what the input gives, x Wᵀ + b, [N, gates · hidden]. @throws shape-mismatch */
export function recurrentStep(
  kind: CellKind,
  fromInput: Tensor,
  state: CellState,
  weights: StateWeights,
): CellState {
  if (kind === 'lstm') return lstmStep(fromInput, state, weights);
  if (kind === 'gru') return { hidden: gruStep(fromInput, state.hidden, weights), cell: null };
  const sum = linear(state.hidden, weights.weightHh, weights.biasHh).add(fromInput);
  return { hidden: kind === 'tanh' ? sum.tanh() : relu(sum), cell: null };
}
