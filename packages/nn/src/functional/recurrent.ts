/**
 * @file One step, and one direction, of a recurrent network.
 *
 * The products of the inputs are one matrix product for all steps, only those of the hidden state run step by step, all
 * in one op. Plain operators do what it does not: a single step, and states and weights of different types.
 */
import {
  type Tensor,
  arange,
  flip,
  linear,
  matmul,
  select,
  stack,
  unbind,
  zerosLike,
} from '@tessera/tensor';
import {
  type CellKind,
  type CellState,
  type StateWeights,
  mT,
  recurrentLayer as wholeLayer,
  recurrentStep,
} from '@tessera/tensor/internal';
import type { PackedPlaces } from '../modules/packed-places.js';

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

/** Whether the steps of a layer are one op. */
function isOneOp(
  gates: Tensor,
  { hidden, cell }: CellState,
  { weightHh, biasHh, weightHr }: CellWeights,
): boolean {
  const others = [weightHh, weightHr, biasHh, hidden, cell].filter((x) => x !== null);
  return gates.sizes[0]! > 1 && others.every(({ dtype }) => dtype === gates.dtype);
}

/**
 * A layer whose hidden states h are projections of m: as W_hh h = (W_hh W_hr) m, it is a layer of m with one matrix, and
 * all projections are one product afterwards. What the first step gets is no projection of anything, and joins its input.
 */
function projectedLayer(
  kind: CellKind,
  gates: Tensor,
  { hidden, cell }: CellState,
  { weightHh, biasHh }: StateWeights,
  weightHr: Tensor,
  reverse: boolean,
): ReturnType<typeof wholeLayer> {
  const time = arange(gates.sizes[0]!, { device: gates.device });
  const isLater = (reverse ? flip(time, [0]) : time).ne(0).reshape([-1, 1, 1]);
  const first = linear(hidden, weightHh).expand(gates.sizes).maskedFill(isLater, 0);
  const state = { hidden: zerosLike(cell!), cell };
  const weights = { weightHh: matmul(weightHh, weightHr), biasHh };
  const { output, cells } = wholeLayer(kind, gates.add(first), state, weights, reverse);
  return { output: linear(output, weightHr), cells };
}

/** What a cell leaves along a sequence; what nobody asks for is not made. */
interface Run {
  /** [T, N, output] */
  readonly hidden: Tensor;
  /** [T, N, hidden]; null of cells without any. */
  readonly cells: () => Tensor | null;
  readonly last: () => CellState;
}

/** Runs a cell along all steps, given what the input gives the gates, [T, N, gates · hidden]. */
function runCell(
  kind: CellKind,
  gates: Tensor,
  initial: CellState,
  weights: CellWeights,
  reverse: boolean,
): Run {
  if (isOneOp(gates, initial, weights)) {
    const end = reverse ? 0 : -1;
    const { output, cells } =
      weights.weightHr === null
        ? wholeLayer(kind, gates, initial, weights, reverse)
        : projectedLayer(kind, gates, initial, weights, weights.weightHr, reverse);
    return {
      hidden: output,
      cells: () => cells,
      last: () => ({
        hidden: select(output, 0, end),
        cell: cells === null ? null : select(cells, 0, end),
      }),
    };
  }
  const inputs = unbind(gates, 0);
  const states: CellState[] = [];
  let state = initial;
  for (let i = 0; i < inputs.length; i++) {
    const t = reverse ? inputs.length - 1 - i : i;
    states[t] = state = step(kind, inputs[t]!, state, weights);
  }
  return {
    hidden: stack(states.map(({ hidden }) => hidden)),
    cells: () => (kind === 'lstm' ? stack(states.map(({ cell }) => cell!)) : null),
    last: () => state,
  };
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
  const { hidden, last } = runCell(kind, gates, initial, weights, reverse);
  return { output: hidden, last: last() };
}

/**
 * Runs a cell along packed sequences, [sum of lengths, input] → the outputs, packed, and the last state of each.
 *
 * All run as many steps as the longest has, a sequence that is read from its end turned round before. What is behind
 * the end of a sequence is never looked at, so it has no gradient either.
 *
 * @throws shape-mismatch
 */
export function packedRecurrentLayer(
  kind: CellKind,
  data: Tensor,
  places: PackedPlaces,
  initial: CellState,
  weights: CellWeights,
  reverse: boolean,
): { readonly output: Tensor; readonly last: CellState } {
  const gates = linear(data, weights.weightIh, weights.biasIh);
  // States stay finite behind the end, where products with gradients of zero must be zero: relu alone could grow.
  const padded = places.padded(gates, kind === 'relu' ? -Infinity : 0, reverse);
  const run = runCell(kind, padded, initial, weights, false);
  const cells = run.cells();
  const last = {
    hidden: places.last(run.hidden),
    cell: cells === null ? null : places.last(cells),
  };
  return { output: places.packed(run.hidden, reverse), last };
}
