/**
 * @file The reference kernel of recurrent layers: [steps, rows, …] numbers, row by row within each step.
 */
import { multiplyAdd } from './matmul-kernel.js';

/** Sizes of a layer. */
export interface RecurrentSizes {
  readonly steps: number;
  readonly rows: number;
  readonly hidden: number;
  readonly gates: number;
}

/** An element of a step: what enters its gates from input and state, and the states before. */
interface Unit {
  readonly input: (gate: number) => number;
  readonly state: (gate: number) => number;
  readonly hidden: number;
  readonly cell: number;
}

/** What an element is afterwards, and what its gradient reads again. */
interface NextUnit {
  readonly hidden: number;
  readonly cell?: number;
  readonly kept?: readonly number[];
}

const sigmoid = (x: number): number => 1 / (1 + Math.exp(-x));

/** The equations of each kind of cell. */
const CELLS: Readonly<Record<string, (unit: Unit) => NextUnit>> = {
  tanh: ({ input, state }) => ({ hidden: Math.tanh(input(0) + state(0)) }),
  relu: ({ input, state }) => ({ hidden: Math.max(0, input(0) + state(0)) }),
  lstm: ({ input, state, cell }) => {
    const sum = (gate: number): number => input(gate) + state(gate);
    const [i, f, g, o] = [sigmoid(sum(0)), sigmoid(sum(1)), Math.tanh(sum(2)), sigmoid(sum(3))];
    const next = f * cell + i * g;
    return { hidden: o * Math.tanh(next), cell: next, kept: [i, f, g, o] };
  },
  gru: ({ input, state, hidden }) => {
    const r = sigmoid(input(0) + state(0));
    const z = sigmoid(input(1) + state(1));
    const n = Math.tanh(input(2) + r * state(2));
    return { hidden: n + z * (hidden - n), kept: [r, z, n, state(2)] };
  },
};

/** Gradients that reach an element, and what its forward kept. */
interface UnitGradient {
  readonly hidden: number;
  readonly cell: number;
  readonly before: number;
  readonly cellBefore: number;
  readonly output: number;
  readonly cellNow: number;
  readonly kept: (i: number) => number;
}

/** Gradients of the gates by input and by state, and of the states before, but for what the products add. */
interface UnitStep {
  readonly gates: readonly number[];
  readonly stateGates?: readonly number[];
  readonly hidden: number;
  readonly cell?: number;
}

/** How the gradient of each kind of cell goes. */
const CELL_GRADIENTS: Readonly<Record<string, (unit: UnitGradient) => UnitStep>> = {
  tanh: ({ hidden, output }) => ({ gates: [hidden * (1 - output * output)], hidden: 0 }),
  relu: ({ hidden, output }) => ({ gates: [output > 0 ? hidden : 0], hidden: 0 }),
  lstm: ({ hidden, cell, cellBefore, cellNow, kept }) => {
    const [i, f, g, o] = [kept(0), kept(1), kept(2), kept(3)];
    const bent = Math.tanh(cellNow);
    const slope = cell + hidden * o * (1 - bent * bent);
    const gates = [
      slope * g * i * (1 - i),
      slope * cellBefore * f * (1 - f),
      slope * i * (1 - g * g),
      hidden * bent * o * (1 - o),
    ];
    return { gates, hidden: 0, cell: slope * f };
  },
  gru: ({ hidden, before, kept }) => {
    const [r, z, n, state] = [kept(0), kept(1), kept(2), kept(3)];
    const candidate = hidden * (1 - z) * (1 - n * n);
    const reset = candidate * state * r * (1 - r);
    const update = hidden * (before - n) * z * (1 - z);
    return {
      gates: [reset, update, candidate],
      stateGates: [reset, update, candidate * r],
      hidden: hidden * z,
    };
  },
};

/** Arguments of the forward: gates of the input, weights [hidden, gates · hidden], states before the first step. */
export interface RecurrentForward {
  readonly gates: Float64Array;
  readonly weight: Float64Array;
  readonly bias: Float64Array | null;
  readonly hidden: Float64Array;
  readonly cell: Float64Array | null;
}

/** Runs the steps in the given order; `kept` has 4 numbers per unit. */
export function runRecurrent(
  kind: string,
  { rows, hidden, gates, steps }: RecurrentSizes,
  order: readonly number[],
  given: RecurrentForward,
): { output: Float64Array; cells: Float64Array; kept: Float64Array } {
  const width = rows * hidden;
  const output = new Float64Array(steps * width);
  const cells = new Float64Array(steps * width);
  const kept = new Float64Array(steps * width * 4);
  let [h, c] = [given.hidden, given.cell ?? new Float64Array(width)];
  for (const t of order) {
    const products = new Float64Array(width * gates);
    multiplyAdd(h, given.weight, products, rows, hidden, gates * hidden);
    const [nextH, nextC] = [
      output.subarray(t * width, (t + 1) * width),
      cells.subarray(t * width, (t + 1) * width),
    ];
    for (let row = 0; row < rows; row++)
      for (let unit = 0; unit < hidden; unit++) {
        const at = row * hidden + unit;
        const place = (gate: number): number => (row * gates + gate) * hidden + unit;
        const next = CELLS[kind]!({
          input: (gate) => given.gates[t * width * gates + place(gate)]!,
          state: (gate) => products[place(gate)]! + (given.bias?.[gate * hidden + unit] ?? 0),
          hidden: h[at]!,
          cell: c[at]!,
        });
        nextH[at] = next.hidden;
        nextC[at] = next.cell ?? 0;
        next.kept?.forEach((value, i) => {
          kept[((t * rows + row) * 4 + i) * hidden + unit] = value;
        });
      }
    [h, c] = [nextH, nextC];
  }
  return { output, cells, kept };
}

/** Arguments of the backward; gradients, and states before each step, are [steps, rows, hidden]. */
export interface RecurrentBackward {
  readonly gradOutput: Float64Array | null;
  readonly gradCells: Float64Array | null;
  /** [gates · hidden, hidden] */
  readonly weight: Float64Array;
  readonly before: Float64Array;
  readonly cellsBefore: Float64Array | null;
  readonly output: Float64Array;
  readonly cells: Float64Array;
  readonly kept: Float64Array;
}

/** Runs the steps backward, in the order given; gradients of the gates by input and by state, and of the first states. */
export function runRecurrentBackward(
  kind: string,
  { rows, hidden, gates, steps }: RecurrentSizes,
  order: readonly number[],
  given: RecurrentBackward,
): { gates: Float64Array; stateGates: Float64Array; hidden: Float64Array; cell: Float64Array } {
  const width = rows * hidden;
  const byInput = new Float64Array(steps * width * gates);
  const byState = new Float64Array(steps * width * gates);
  let h = new Float64Array(width);
  const c = new Float64Array(width);
  for (const t of order) {
    const next = new Float64Array(width);
    const first = t * width * gates;
    for (let row = 0; row < rows; row++)
      for (let unit = 0; unit < hidden; unit++) {
        const at = row * hidden + unit;
        const now = t * width + at;
        const step = CELL_GRADIENTS[kind]!({
          hidden: h[at]! + (given.gradOutput?.[now] ?? 0),
          cell: c[at]! + (given.gradCells?.[now] ?? 0),
          before: given.before[now]!,
          cellBefore: given.cellsBefore?.[now] ?? 0,
          output: given.output[now]!,
          cellNow: given.cells[now]!,
          kept: (i) => given.kept[((t * rows + row) * 4 + i) * hidden + unit]!,
        });
        step.gates.forEach((value, gate) => {
          const place = first + (row * gates + gate) * hidden + unit;
          byInput[place] = value;
          byState[place] = (step.stateGates ?? step.gates)[gate]!;
        });
        next[at] = step.hidden;
        c[at] = step.cell ?? 0;
      }
    const slopes = byState.subarray(first, first + width * gates);
    multiplyAdd(slopes, given.weight, next, rows, gates * hidden, hidden);
    h = next;
  }
  return { gates: byInput, stateGates: byState, hidden: h, cell: c };
}
