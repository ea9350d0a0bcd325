/**
 * @file Directions of recurrent operators that are a layer as PyTorch has it: one op for all steps, so that code is the
 * same for sequences of all lengths.
 *
 * Those are the default equations. Gates are put into PyTorch's order. Sequences that end before others run to the end
 * too, and what they give there is left out; backwards they are turned round before, within their own lengths.
 */
import { type Tensor, arange, cat, where } from '@tessera/tensor';
import { type CellKind, recurrentLayer } from '@tessera/tensor/internal';
import type { NodeCall } from '../run/node-call.js';

/** Hidden state [N, hidden], and the cell state of an LSTM. */
export interface State {
  readonly hidden: Tensor;
  readonly cell: Tensor | null;
}

/** What a direction gives: outputs [T, N, hidden], and the state after the last step. */
export interface DirectionRun {
  readonly outputs: Tensor;
  readonly last: State;
}

/** Where each of PyTorch's gates is among ONNX's: input, output, forget, cell; update, reset, new. */
const PLACES: Readonly<Record<CellKind, readonly number[]>> = {
  lstm: [0, 2, 3, 1],
  gru: [1, 0, 2],
  tanh: [0],
  relu: [0],
};

/** Kinds of cells by the operator and its activations. */
const KINDS: Readonly<Record<string, CellKind>> = {
  'LSTM sigmoid tanh tanh': 'lstm',
  'GRU sigmoid tanh': 'gru',
  'RNN tanh': 'tanh',
  'RNN relu': 'relu',
};

/** The kind of cell that a direction follows, or null if it has equations of its own. */
export function layerKind(call: NodeCall, activations: readonly string[]): CellKind | null {
  const { type } = call.node;
  const isPlain = call.float('clip', 0) === 0 && !call.flag('input_forget') && !call.has(7);
  if (!isPlain || (type === 'GRU' && !call.flag('linear_before_reset'))) return null;
  return KINDS[`${type} ${activations.join(' ').toLowerCase()}`] ?? null;
}

/** Rows of weights or biases with the gates in PyTorch's order. */
export function inLayerOrder(kind: CellKind, rows: Tensor): Tensor {
  const places = PLACES[kind];
  if (places.length === 1) return rows;
  const gates = rows.chunk(places.length, 0);
  return cat(places.map((place) => gates[place]!));
}

/** An index [T or 1, N] for all units of [T, N, units]. */
function forUnits(index: Tensor, units: number): Tensor {
  return index.unsqueeze(-1).expand([...index.shape, units]);
}

/** See the file header. `gates` are those of the input, [T, N, gates · hidden]. */
export function runLayer(
  call: NodeCall,
  kind: CellKind,
  gates: Tensor,
  state: State,
  weights: { readonly weightHh: Tensor; readonly biasHh: Tensor | null },
  reverse: boolean,
  lengths: Tensor | null,
): DirectionRun {
  if (lengths === null) {
    const { output, cells } = recurrentLayer(kind, gates, state, weights, reverse);
    const end = reverse ? 0 : -1;
    const last = { hidden: output.select(0, end), cell: cells?.select(0, end) ?? null };
    return { outputs: output, last };
  }
  const steps = gates.shape[0]!;
  const time = arange(steps, { dtype: 'int64', device: call.device }).unsqueeze(1);
  const ends = lengths.to('int64').reshape([1, -1]);
  const runs = time.lt(ends);
  // Turned round within their lengths, sequences run forwards; turned round again, outputs are where they belong.
  const turned = reverse ? where(runs, ends.sub(1).sub(time), time) : null;
  const ordered = (x: Tensor): Tensor =>
    turned === null ? x : x.gather(0, forUnits(turned, x.shape[2]!));
  // States stay finite behind the end, where products with gradients of zero must be zero: relu alone could grow.
  const beyond = runs.logicalNot().unsqueeze(-1);
  const finite = ordered(gates).maskedFill(beyond, kind === 'relu' ? -Infinity : 0);
  const { output, cells } = recurrentLayer(kind, finite, state, weights, false);
  const lastStep = ends.sub(1).clamp(0);
  const last = (states: Tensor, before: Tensor): Tensor => {
    const after = states.gather(0, forUnits(lastStep, states.shape[2]!)).select(0, 0);
    return where(ends.reshape([-1, 1]).gt(0), after, before);
  };
  return {
    outputs: ordered(output).maskedFill(beyond, 0),
    last: {
      hidden: last(output, state.hidden),
      cell: cells === null ? null : last(cells, state.cell!),
    },
  };
}
