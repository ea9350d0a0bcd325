/**
 * @file Layers of recurrent networks and their gradients as recurrence kernels.
 *
 * Forward, the hidden state is multiplied and the gates make the next states of it. Backward, the gates' gradients are
 * multiplied and give the gradient of the state before.
 */
import type { DType } from '@tessera/tensor';
import { type CellKind, GATES } from '@tessera/tensor/internal';
import type { Expr } from '../../ir/expr.js';
import type { IndexExpr } from '../../ir/index-expr.js';
import type { RecurrentTerm } from '../../ir/kernel.js';
import type { RecurrentResult } from '../ir-node.js';
import { ExprMath } from '../expr-math.js';
import type { LoweredTensor } from '../lowered-tensor.js';
import type { FreshVar, Lowering } from '../lowering.js';
import { fitsWorkgroup } from '../fits-workgroup.js';
import { readyOperand } from '../ready-operand.js';
import { accumulateDtype } from '../reduce.js';
import { within } from '../within.js';
import { type LoweringOf, type LoweringTable, lowerings } from '../typed-lowering.js';
import { type Shape, fixed } from '../shape-math.js';

/** Units of a CPU's vector. */
const VECTOR = 4;

function optional(l: Lowering, x: LoweredTensor | null): LoweredTensor | null {
  return x === null ? null : readyOperand(l, x);
}

/** The loops of one layer, and values at its points, as the type of sums. */
class Layer {
  readonly m: ExprMath;
  readonly acc: DType;
  readonly gates: number;
  readonly hidden: number;
  private readonly row: FreshVar;
  private readonly step: FreshVar;
  private readonly unit: FreshVar<number>;
  private readonly other: FreshVar<number>;
  /** The place in time of a step. */
  private readonly time: IndexExpr;
  /** The weight of the other unit for gate `gate` of this one, or of this unit for the other's. */
  private readonly weightOf: (gate: number) => Expr;

  constructor(
    readonly l: Lowering,
    private readonly shape: Shape,
    weight: LoweredTensor,
    readonly kind: CellKind,
    backward: boolean,
    /** The gradient: products are of gates with what they gave to this unit. */
    transposes: boolean,
  ) {
    const [steps, rows, hidden] = shape;
    this.m = new ExprMath(l.ir);
    this.acc = accumulateDtype(weight.dtype);
    this.gates = GATES[kind];
    this.hidden = fixed(hidden);
    this.row = l.freshVar('r', rows);
    this.step = l.freshVar('s', steps);
    this.unit = l.freshVar('u', this.hidden);
    this.other = l.freshVar('v', this.hidden);
    const last = l.ir.sub(l.ir.size(steps), l.ir.int(1));
    this.time = backward ? l.ir.sub(last, this.step.index) : this.step.index;
    this.weightOf = this.weights(weight, transposes);
  }

  private weights(weight: LoweredTensor, transposes: boolean): (gate: number) => Expr {
    const { l, hidden, gates } = this;
    const { ir } = l;
    const coords = (gate: IndexExpr, unit: IndexExpr, other: IndexExpr): IndexExpr[] => {
      const [of, from] = transposes ? [other, unit] : [unit, other];
      return [ir.add(of, ir.scale(gate, hidden)), from];
    };
    const [unit, other] = [this.unit.index, this.other.index];
    const isMemory = l.capabilities.recurrences === 'memory';
    // On a GPU, neighbours among threads read the neighbours among units: as a gradient finds them.
    if (!isMemory && (transposes || fitsWorkgroup(gates, hidden)))
      return (gate) => weight.load(coords(ir.int(gate), unit, other));
    // Units whose weights, of the same other unit, lie next to each other.
    const together = isMemory ? VECTOR : hidden;
    const sizes = [Math.ceil(hidden / together), hidden, gates, together];
    const [block, from, gate, lane] = l.vars(sizes);
    const at = ir.add(ir.scale(block, together), lane);
    const value = weight.load(coords(gate, at, from));
    const isWhole = hidden % together === 0;
    const packed = l.pointwise(
      sizes,
      isWhole ? value : ir.masked(within(l, at, 0, hidden), value, 0),
    );
    packed.realize();
    return (part) =>
      packed.load([ir.div(unit, together), other, ir.int(part), ir.mod(unit, together)]);
  }

  private wide(value: Expr): Expr {
    return this.l.ir.cast(value, this.acc);
  }

  /** Where part `p` of a unit lies among parts of all units. */
  private place(p: number, unit: IndexExpr): IndexExpr {
    return this.l.ir.add(unit, this.l.ir.int(p * this.hidden));
  }

  /** A value of [steps, rows, parts · hidden] at the present step; 0 where it is absent. */
  at(x: LoweredTensor | null, part = 0): Expr {
    if (x === null) return this.m.term(0, this.acc);
    return this.wide(x.load([this.time, this.row.index, this.place(part, this.unit.index)]));
  }

  /** A value of [rows, hidden]. */
  ofRow(x: LoweredTensor): Expr {
    return this.wide(x.load([this.row.index, this.unit.index]));
  }

  /** A value of [gates · hidden]. */
  ofGate(x: LoweredTensor | null, gate: number): Expr {
    if (x === null) return this.m.term(0, this.acc);
    return this.wide(x.load([this.place(gate, this.unit.index)]));
  }

  /** The part of a product that a gate is. */
  term(vector: number, gate: number): RecurrentTerm {
    return { vector, weight: this.wide(this.weightOf(gate)) };
  }

  /** Results in one buffer: parts of [steps, rows, parts · hidden]. */
  stored(dtype: DType, parts: readonly Expr[]): { out: LoweredTensor; results: RecurrentResult[] } {
    const { l, hidden } = this;
    const [steps, rows] = this.shape;
    const out = l.newBuffer(dtype, [steps, rows, parts.length * hidden], null);
    const results = parts.map((value, p) => ({
      out,
      coords: [this.time, this.row.index, this.place(p, this.unit.index)],
      value,
    }));
    return { out: l.fromBuffer(out), results };
  }

  /** What a state is after the last step. */
  last(dtype: DType, state: number): { out: LoweredTensor; results: RecurrentResult[] } {
    const { l, hidden } = this;
    const out = l.newBuffer(dtype, [this.shape[1]!, hidden], null);
    const value = l.ir.acc(this.acc, state);
    const coords = [this.row.index, this.unit.index];
    return { out: l.fromBuffer(out), results: [{ out, coords, value }] };
  }

  /** Adds the kernel. */
  run(recurrence: {
    readonly states: readonly { readonly initial: Expr; readonly next: Expr }[];
    readonly vectors: readonly Expr[];
    readonly products: readonly (readonly RecurrentTerm[])[];
    readonly results: readonly RecurrentResult[];
    readonly last: readonly RecurrentResult[];
  }): void {
    this.l.addRecurrence({
      ...recurrence,
      batch: this.row.vars,
      step: this.step.vars,
      n: this.unit.vars,
      k: this.other.vars,
      accDtype: this.acc,
    });
  }
}

/** What the gates of a unit make of its states, and what the gradient reads again. */
interface Next {
  readonly hidden: Expr;
  readonly cell?: Expr;
  readonly kept: readonly Expr[];
}

function nextStates(
  { m, kind }: Layer,
  input: (gate: number) => Expr,
  state: (gate: number) => Expr,
  [hidden, cell]: readonly Expr[],
): Next {
  const sum = (gate: number): Expr => m.add(input(gate), state(gate));
  if (kind === 'tanh') return { hidden: m.tanh(sum(0)), kept: [] };
  if (kind === 'relu') return { hidden: m.max(sum(0), 0), kept: [] };
  if (kind === 'gru') {
    const [r, z] = [m.sigmoid(sum(0)), m.sigmoid(sum(1))];
    const n = m.tanh(m.add(input(2), m.mul(r, state(2))));
    return { hidden: m.add(n, m.mul(z, m.sub(hidden!, n))), kept: [r, z, n, state(2)] };
  }
  const [i, f, g, o] = [m.sigmoid(sum(0)), m.sigmoid(sum(1)), m.tanh(sum(2)), m.sigmoid(sum(3))];
  const next = m.add(m.mul(f, cell!), m.mul(i, g));
  return { hidden: m.mul(o, m.tanh(next)), cell: next, kept: [i, f, g, o] };
}

/** A buffer of no elements, for what a kind of cell does not have. */
function nothing(l: Lowering, dtype: DType): LoweredTensor {
  return l.pointwise([0], new ExprMath(l.ir).term(0, dtype));
}

/** Whether a layer with these outputs is a kernel on the device; its reference kernel runs elsewhere. */
function isKernel({ capabilities }: Lowering, outputs: Shape): boolean {
  return capabilities.recurrences !== undefined && !outputs.includes(0);
}

/** Arguments: gates, weight, bias, hidden, cell, kind, reverse. */
const forward: LoweringOf<'tessera::recurrent_layer'> = (
  l,
  [given, weight, bias, hidden, cell, kind, reverse],
  call,
) => {
  if (!isKernel(l, call.shape)) return null;
  const layer = new Layer(l, call.shape, readyOperand(l, weight), kind, reverse === true, false);
  const { acc, gates } = layer;
  for (const x of [given, bias]) optional(l, x);
  const first = (cell === null ? [hidden] : [hidden, cell]).map((x) => readyOperand(l, x));
  const states = first.map((_, s) => l.ir.acc(acc, s));
  const product = (gate: number): Expr => l.ir.acc(acc, states.length + gate);
  const next = nextStates(
    layer,
    (gate) => layer.at(given, gate),
    (gate) => layer.m.add(product(gate), layer.ofGate(bias, gate)),
    states,
  );
  const output = layer.stored(call.dtype, [next.hidden]);
  const cells = next.cell === undefined ? null : layer.stored(call.dtype, [next.cell]);
  const kept = next.kept.length === 0 ? null : layer.stored(call.dtype, next.kept);
  const after = [next.hidden, ...(next.cell === undefined ? [] : [next.cell])];
  layer.run({
    states: first.map((x, s) => ({ initial: layer.ofRow(x), next: after[s]! })),
    vectors: [states[0]!],
    products: Array.from({ length: gates }, (_, gate) => [layer.term(0, gate)]),
    results: [output, cells, kept].flatMap((each) => each?.results ?? []),
    last: [],
  });
  return [output.out, cells?.out ?? nothing(l, call.dtype), kept?.out ?? nothing(l, call.dtype)];
};

/** Gradients of the gates, by input and by state, and what else of the state before. */
interface Slopes {
  readonly gates: readonly Expr[];
  readonly stateGates: readonly Expr[];
  readonly hidden: Expr | null;
  readonly cell: Expr | null;
}

/** What a gradient reads of the forward. */
interface Kept {
  readonly before: LoweredTensor;
  readonly cellsBefore: LoweredTensor | null;
  readonly output: LoweredTensor;
  readonly cells: LoweredTensor;
  readonly kept: LoweredTensor;
}

function slopesOf(layer: Layer, hidden: Expr, cell: Expr | null, of: Kept): Slopes {
  const { m, kind } = layer;
  const kept = (i: number): Expr => layer.at(of.kept, i);
  /** Through a sigmoid that gave `y`. */
  const bent = (slope: Expr, y: Expr): Expr => m.mul(m.mul(slope, y), m.sub(1, y));
  const square = (x: Expr): Expr => m.mul(x, x);
  if (kind === 'gru') {
    const [r, z, n, state] = [kept(0), kept(1), kept(2), kept(3)];
    const candidate = m.mul(m.mul(hidden, m.sub(1, z)), m.sub(1, square(n)));
    const gates = [
      bent(m.mul(candidate, state), r),
      bent(m.mul(hidden, m.sub(layer.at(of.before), n)), z),
    ];
    return {
      gates: [...gates, candidate],
      stateGates: [...gates, m.mul(candidate, r)],
      hidden: m.mul(hidden, z),
      cell: null,
    };
  }
  if (kind === 'lstm') {
    const [i, f, g, o] = [kept(0), kept(1), kept(2), kept(3)];
    const tanh = m.tanh(layer.at(of.cells));
    const slope = m.add(cell!, m.mul(m.mul(hidden, o), m.sub(1, square(tanh))));
    const gates = [
      bent(m.mul(slope, g), i),
      bent(m.mul(slope, layer.at(of.cellsBefore)), f),
      m.mul(m.mul(slope, i), m.sub(1, square(g))),
      bent(m.mul(hidden, tanh), o),
    ];
    return { gates, stateGates: gates, hidden: null, cell: m.mul(slope, f) };
  }
  const y = layer.at(of.output);
  const gate =
    kind === 'tanh' ? m.mul(hidden, m.sub(1, square(y))) : m.where(m.gt(y, 0), hidden, 0);
  const gates = [gate];
  return { gates, stateGates: gates, hidden: null, cell: null };
}

/**
 * Arguments: grad_output, grad_cells, weight, before, cells_before, output, cells, kept, kind, reverse. The states are
 * the gradients that come from later steps.
 */
const backward: LoweringOf<'tessera::recurrent_layer_backward'> = (
  l,
  [gradOutput, gradCells, weight, before, cellsBefore, output, cells, kept, kind, reverse],
  call,
) => {
  if (!isKernel(l, output.shape)) return null;
  for (const x of [gradOutput, gradCells, before, cellsBefore, output, cells, kept]) optional(l, x);
  const layer = new Layer(l, output.shape, readyOperand(l, weight), kind, reverse !== true, true);
  const { m, acc, gates } = layer;
  const hasCell = kind === 'lstm';
  const later = (s: number, grads: LoweredTensor | null): Expr =>
    m.add(l.ir.acc(acc, s), layer.at(grads));
  const slopes = slopesOf(layer, later(0, gradOutput), hasCell ? later(1, gradCells) : null, {
    before,
    cellsBefore,
    output,
    cells,
    kept,
  });
  const product = l.ir.acc(acc, hasCell ? 2 : 1);
  const zero = m.term(0, acc);
  const hidden = slopes.hidden === null ? product : m.add(product, slopes.hidden);
  const byInput = layer.stored(call.dtype, slopes.gates);
  const byState =
    slopes.stateGates === slopes.gates ? null : layer.stored(call.dtype, slopes.stateGates);
  const first = layer.last(call.dtype, 0);
  const firstCell = hasCell ? layer.last(call.dtype, 1) : null;
  layer.run({
    states: [
      { initial: zero, next: hidden },
      ...(slopes.cell === null ? [] : [{ initial: zero, next: slopes.cell }]),
    ],
    vectors: slopes.stateGates,
    products: [Array.from({ length: gates }, (_, gate) => layer.term(gate, gate))],
    results: [...byInput.results, ...(byState?.results ?? [])],
    last: [...first.results, ...(firstCell?.results ?? [])],
  });
  return [
    byInput.out,
    byState?.out ?? nothing(l, call.dtype),
    first.out,
    firstCell?.out ?? nothing(l, call.dtype),
  ];
};

/** Lowerings by overload name. */
export const recurrentLowerings: LoweringTable = lowerings({
  'tessera::recurrent_layer': forward,
  'tessera::recurrent_layer_backward': backward,
});
