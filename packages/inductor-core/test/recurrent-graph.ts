/**
 * @file Calls of a recurrent layer, of CTC's forward variables and their gradients as graphs.
 */
import type { GraphModule } from '@tessera/graph';
import { GraphBuilder } from './graph-builder.js';

export const FORWARD: string = 'tessera::recurrent_layer';
export const BACKWARD: string = 'tessera::recurrent_layer_backward';

/** One call: gates and outputs of the kind of cell. */
export interface Case {
  readonly kind: 'tanh' | 'relu' | 'lstm' | 'gru';
  readonly reverse: boolean;
  readonly hidden: number;
  readonly rows?: number;
}

export const CASES: readonly Case[] = [
  { kind: 'lstm', reverse: false, hidden: 5 },
  { kind: 'lstm', reverse: true, hidden: 4 },
  { kind: 'gru', reverse: false, hidden: 3 },
  { kind: 'gru', reverse: true, hidden: 5 },
  { kind: 'tanh', reverse: false, hidden: 6 },
  { kind: 'relu', reverse: true, hidden: 2, rows: 1 },
];
export const STEPS: number = 4;

type Shapes = Readonly<
  Record<'gates' | 'weight' | 'bias' | 'state' | 'all' | 'kept' | 'cells', readonly number[]>
>;

/** Sizes of the tensors of a call. */
export function shapesOf({ kind, hidden, rows = 3 }: Case): Shapes {
  const gates = { tanh: 1, relu: 1, lstm: 4, gru: 3 }[kind];
  return {
    gates: [STEPS, rows, gates * hidden],
    weight: [gates * hidden, hidden],
    bias: [gates * hidden],
    state: [rows, hidden],
    all: [STEPS, rows, hidden],
    kept: kind === 'lstm' || kind === 'gru' ? [STEPS, rows, 4 * hidden] : [0],
    cells: kind === 'lstm' ? [STEPS, rows, hidden] : [0],
  };
}

/** The forward, with three results. */
export function forwardGraph(item: Case): GraphModule {
  const { gates, weight, bias, state } = shapesOf(item);
  const b = new GraphBuilder();
  const given = [gates, weight, bias, state].map((sizes) => b.input(sizes));
  const cell = item.kind === 'lstm' ? b.input(state) : null;
  const made = b.op(FORWARD, ...given, cell, item.kind, item.reverse);
  return b.done(b.item(made, 0), b.item(made, 1), b.item(made, 2));
}

/** The backward, with four results. */
export function backwardGraph(item: Case): GraphModule {
  const { weight, all, kept, cells } = shapesOf(item);
  const b = new GraphBuilder();
  const isLstm = item.kind === 'lstm';
  const [grad, gradCells] = [b.input(all), isLstm ? b.input(all) : null];
  const [w, before] = [b.input(weight), b.input(all)];
  const cellsBefore = isLstm ? b.input(all) : null;
  const rest = [all, cells, kept].map((sizes) => b.input(sizes));
  const made = b.op(
    BACKWARD,
    grad,
    gradCells,
    w,
    before,
    cellsBefore,
    ...rest,
    item.kind,
    item.reverse,
  );
  return b.done(...[0, 1, 2, 3].map((i) => b.item(made, i)));
}

/** The forward variables of CTC, and their gradients: what each op is given beside a graph of it. */
export const CTC: readonly (readonly [op: string, inputs: readonly (readonly number[])[]])[] = [
  [
    'tessera::ctc_alphas',
    [
      [STEPS, 3, 8],
      [3, 8],
    ],
  ],
  [
    'tessera::ctc_alphas_backward',
    [
      [STEPS, 3, 8],
      [3, STEPS, 3, 8],
    ],
  ],
];

/** A call of such an op. */
export function ctcGraph([op, inputs]: (typeof CTC)[number]): GraphModule {
  const b = new GraphBuilder();
  return b.done(b.op(op, ...inputs.map((sizes) => b.input(sizes))));
}
