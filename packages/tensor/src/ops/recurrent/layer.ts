/**
 * @file A layer of a recurrent network as one op, so that a device can run all its steps in one kernel.
 *
 * What the input gives the gates is computed before, for all steps at once; gradients of weights are products over all
 * steps afterwards. In between, step after step, is what this op and its backward do. A gradient that must itself be
 * differentiable goes through the layer written in plain operators.
 *
 * @see torch.mkldnn_rnn_layer, which is a layer and direction too
 */
import { TesseraError } from '@tessera/shared';
import { composedGradients } from '../../autograd/composed-gradient.js';
import { isGradEnabled } from '../../autograd/grad-mode.js';
import { callOp } from '../../dispatch/dispatcher.js';
import { readNumbers, writeNumbers } from '../../kernels/elements.js';
import {
  type RecurrentSizes,
  runRecurrent,
  runRecurrentBackward,
} from '../../kernels/recurrent-kernel.js';
import { type OpOverload, defineOp } from '../../op/op-overload.js';
import type { GradsOf, TensorMeta, VjpContext } from '../../op/op-record.js';
import { contiguousStrides, formatSizes, sameNumbers } from '../../shape.js';
import type { Tensor } from '../../tensor.js';
import { cat, stack } from '../arrange/join.js';
import { mm } from '../matmul/matmul.js';
import { sum } from '../reduction/reduction.js';
import { transpose, unsqueeze } from '../view/dims.js';
import { narrow } from '../view/slice.js';
import { unbind } from '../view/split.js';
import { reshape } from '../view/view.js';
import { type CellKind, type CellState, GATES, type StateWeights, recurrentStep } from './cell.js';

/** Arguments of the op: gates [T, N, gates · H] of the input, weight [gates · H, H], states [N, H]. */
type LayerArgs = {
  readonly gates: Tensor;
  readonly weight: Tensor;
  readonly bias: Tensor | null;
  readonly hidden: Tensor;
  readonly cell: Tensor | null;
  readonly kind: CellKind;
  readonly reverse: boolean;
};

function dense(sizes: readonly number[], { dtype, device }: Tensor): TensorMeta {
  return { sizes, strides: contiguousStrides(sizes), dtype, device };
}

function refuse(message: string, tensors: readonly Tensor[]): never {
  throw new TesseraError('shape-mismatch', `recurrent_layer: ${message}`, {
    context: { shapes: tensors.map(({ sizes }) => sizes) },
    hints: ['LSTM, GRU and RNN of @tessera/nn call it with what fits.'],
  });
}

/** @throws shape-mismatch, invalid-argument */
function sizesOf(gates: Tensor, weight: Tensor, kind: CellKind): RecurrentSizes {
  const count = GATES[kind];
  if (count === undefined)
    throw new TesseraError('invalid-argument', `recurrent_layer: '${kind}' is no kind of cell`, {
      hints: [`It is one of ${Object.keys(GATES).join(', ')}.`],
    });
  const [steps, rows, width] = gates.sizes;
  const [, hidden] = weight.sizes;
  if (
    gates.ndim !== 3 ||
    !sameNumbers(weight.sizes, [count * hidden, hidden]) ||
    width !== count * hidden
  )
    refuse(
      `gates ${formatSizes(gates.sizes)} and weights ${formatSizes(weight.sizes)} do not fit`,
      [gates, weight],
    );
  if (steps === 0) refuse('expected a sequence of at least one step', [gates]);
  return { steps, rows, hidden, gates: count };
}

/** Numbers that the backward reads again, per unit. */
const KEPT: Readonly<Record<string, number>> = { lstm: 4, gru: 4 };

/** The steps in the order in which they run. */
function orderOf(steps: number, reverse: boolean): number[] {
  return Array.from({ length: steps }, (_, i) => (reverse ? steps - 1 - i : i));
}

const numbers = (x: Tensor | null): Float64Array | null => (x === null ? null : readNumbers(x));

/** A row-major matrix the other way round. */
function transposed(matrix: Float64Array, rows: number, columns: number): Float64Array {
  const out = new Float64Array(matrix.length);
  for (let r = 0; r < rows; r++)
    for (let c = 0; c < columns; c++) out[c * rows + r] = matrix[r * columns + c]!;
  return out;
}

const layerOp: OpOverload<[Tensor, Tensor, Tensor]> = defineOp(
  'tessera::recurrent_layer(Tensor gates, Tensor weight, Tensor? bias, Tensor hidden, Tensor? cell, str kind, bool reverse) -> (Tensor output, Tensor cells, Tensor kept)',
  {
    tags: ['compute-intensive'],
    meta: ({ gates, weight, kind, hidden, cell }) => {
      const { steps, rows, hidden: width } = sizesOf(gates, weight, kind);
      for (const state of [hidden, ...(cell === null ? [] : [cell])])
        if (!sameNumbers(state.sizes, [rows, width]))
          refuse(`expected a state [${rows}, ${width}], got ${formatSizes(state.sizes)}`, [state]);
      if ((cell === null) === (kind === 'lstm')) refuse('only an LSTM has a cell state', [hidden]);
      const all = [steps, rows, width];
      return [
        dense(all, gates),
        dense(kind === 'lstm' ? all : [0], gates),
        dense(kind in KEPT ? [steps, rows, KEPT[kind]! * width] : [0], gates),
      ];
    },
    kernel: ({ gates, weight, bias, hidden, cell, kind, reverse }, [output, cells, kept]) => {
      const sizes = sizesOf(gates, weight, kind);
      const found = runRecurrent(kind, sizes, orderOf(sizes.steps, reverse), {
        gates: readNumbers(gates),
        weight: transposed(readNumbers(weight), sizes.gates * sizes.hidden, sizes.hidden),
        bias: numbers(bias),
        hidden: readNumbers(hidden),
        cell: numbers(cell),
      });
      writeNumbers(output!, found.output);
      if (kind === 'lstm') writeNumbers(cells!, found.cells);
      if (kind in KEPT) writeNumbers(kept!, found.kept);
    },
    saved: ['gates', 'weight', 'bias', 'hidden', 'cell', 'out'],
    constantOutputs: [2],
    vjp: (args, context) => gradients(args, context),
  },
);

const backwardOp: OpOverload<[Tensor, Tensor, Tensor, Tensor]> = defineOp(
  'tessera::recurrent_layer_backward(Tensor? grad_output, Tensor? grad_cells, Tensor weight, Tensor before, Tensor? cells_before, Tensor output, Tensor cells, Tensor kept, str kind, bool reverse) -> (Tensor grad_gates, Tensor grad_state_gates, Tensor grad_hidden, Tensor grad_cell)',
  {
    tags: ['compute-intensive'],
    meta: ({ weight, output, kind }) => {
      const [steps, rows, hidden] = output.sizes;
      const gates = [steps, rows, weight.sizes[0]!];
      return [
        dense(gates, output),
        dense(kind === 'gru' ? gates : [0], output),
        dense([rows, hidden], output),
        dense(kind === 'lstm' ? [rows, hidden] : [0], output),
      ];
    },
    kernel: (args, [gradGates, gradStateGates, gradHidden, gradCell]) => {
      const { weight, output, kind, reverse } = args;
      const [steps, rows, hidden] = output.sizes;
      const sizes = { steps, rows, hidden, gates: GATES[kind]! };
      const found = runRecurrentBackward(kind, sizes, orderOf(steps, !reverse), {
        gradOutput: numbers(args.grad_output),
        gradCells: numbers(args.grad_cells),
        weight: readNumbers(weight),
        before: readNumbers(args.before),
        cellsBefore: numbers(args.cells_before),
        output: readNumbers(output),
        cells: readNumbers(args.cells),
        kept: readNumbers(args.kept),
      });
      writeNumbers(gradGates!, found.gates);
      if (kind === 'gru') writeNumbers(gradStateGates!, found.stateGates);
      writeNumbers(gradHidden!, found.hidden);
      if (kind === 'lstm') writeNumbers(gradCell!, found.cell);
    },
  },
);

/** States as they are before each step: the first one, and what steps gave, in the order of time. */
function shifted(first: Tensor, states: Tensor, reverse: boolean): Tensor {
  const steps = states.sizes[0]!;
  const initial = unsqueeze(first, 0);
  if (steps === 1) return initial;
  const others = narrow(states, 0, reverse ? 1 : 0, steps - 1);
  return cat(reverse ? [others, initial] : [initial, others]);
}

function gradients(args: LayerArgs, context: VjpContext<keyof LayerArgs>): GradsOf<LayerArgs> {
  const { gates, weight, bias, hidden, cell, kind, reverse } = args;
  const { grads, outs, needs } = context;
  if (isGradEnabled())
    return composedGradients({ gates, weight, bias, hidden, cell }, grads.slice(0, 2), (given) => {
      const weights = { weightHh: given.weight!, biasHh: given.bias };
      const state = { hidden: given.hidden!, cell: given.cell };
      const { output, cells } = composedLayer(kind, given.gates!, state, weights, reverse);
      return [output, cells];
    });
  const [output, cells, kept] = outs;
  const before = shifted(hidden, output, reverse);
  const [gradGates, gradStateGates, gradHidden, gradCell] = callOp(backwardOp, [
    grads[0] ?? null,
    kind === 'lstm' ? (grads[1] ?? null) : null,
    weight,
    before,
    cell === null ? null : shifted(cell, cells, reverse),
    output,
    cells,
    kept,
    kind,
    reverse,
  ]);
  const slopes = reshape(kind === 'gru' ? gradStateGates : gradGates, [-1, weight.sizes[0]!]);
  return {
    gates: gradGates,
    weight: () => mm(transpose(slopes, 0, 1), reshape(before, [-1, hidden.sizes[1]!])),
    bias: () => (needs('bias') ? sum(slopes, 0) : null),
    hidden: gradHidden,
    cell: cell === null ? null : gradCell,
  };
}

/** Outputs [T, N, H] of a layer, and the cell states of an LSTM. */
export interface LayerStates {
  readonly output: Tensor;
  readonly cells: Tensor | null;
}

/** The layer in plain operators. */
function composedLayer(
  kind: CellKind,
  gates: Tensor,
  initial: CellState,
  weights: StateWeights,
  reverse: boolean,
): LayerStates {
  const inputs = unbind(gates, 0);
  const states: CellState[] = [];
  let state = initial;
  for (const t of orderOf(inputs.length, reverse))
    states[t] = state = recurrentStep(kind, inputs[t]!, state, weights);
  return {
    output: stack(states.map(({ hidden }) => hidden)),
    cells: kind === 'lstm' ? stack(states.map(({ cell }) => cell!)) : null,
  };
}

/**
 * The layer as programs call it. What only the backward reads stays inside: compiled code returns every result that a
 * program was given and does not use, in case somebody kept it.
 */
const statesOp: OpOverload<[Tensor, Tensor]> = defineOp(
  'tessera::recurrent_states(Tensor gates, Tensor weight, Tensor? bias, Tensor hidden, Tensor? cell, str kind, bool reverse) -> (Tensor output, Tensor cells)',
  {
    decompose: ({ gates, weight, bias, hidden, cell, kind, reverse }) => {
      const [output, cells] = callOp(layerOp, [gates, weight, bias, hidden, cell, kind, reverse]);
      return [output, cells];
    },
  },
);

/**
 * A layer as one op: gates [T, N, gates · H] of the input → outputs.
 *
 * @throws shape-mismatch, invalid-argument
 */
export function recurrentLayer(
  kind: CellKind,
  gates: Tensor,
  { hidden, cell }: CellState,
  { weightHh, biasHh }: StateWeights,
  reverse: boolean,
): LayerStates {
  const [output, cells] = callOp(statesOp, [gates, weightHh, biasHh, hidden, cell, kind, reverse]);
  return { output, cells: kind === 'lstm' ? cells : null };
}
