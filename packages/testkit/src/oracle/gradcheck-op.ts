/**
 * @file Derivatives of one operator call against finite differences, in float64.
 *
 * Outputs are weighted and summed, so that one difference quotient checks a column of the Jacobian. Where the
 * quotients from the left and from the right differ the function has a kink, and the element is left out.
 */
import {
  type OpOverload,
  type Tensor,
  callOp,
  fromTypedArray,
  getRngState,
  isFloatingPoint,
  isTensor,
  setRngState,
  Storage,
} from '@tessera/tensor';
import {
  contiguousStrides,
  makeTensor,
  readNumbers,
  runBackward,
  storageExtent,
  writeNumbers,
} from '@tessera/tensor/internal';
import { resultsIn, tensorIn } from './tensor-in.js';

/** What a check of one call found. */
export interface OpGradients {
  /** Elements whose derivative was compared. */
  readonly checked: number;
  /** Elements at a kink, a jump or the edge of the domain. */
  readonly skipped: number;
  /** Derivatives that differ, one line each. */
  readonly differences: readonly string[];
}

/** An argument that wants a gradient: its position, and the position within it if it is a list. */
export interface OpInput {
  readonly arg: number;
  readonly index: number | null;
}

/** What to check of a call. */
export interface GradcheckOpOptions {
  /** 1: gradients. 2: gradients of gradients, with respect to the inputs and to the gradient of the output. */
  readonly order?: 1 | 2;
  /** Elements of each input that are moved; they are spread evenly over it. */
  readonly elements?: number;
}

const STEP = 1e-6;

/** A float64 tensor with these values in that layout. */
export function float64Like(
  sizes: readonly number[],
  strides: readonly number[],
  values: Float64Array,
): Tensor {
  const storage = Storage.allocate('cpu', storageExtent(sizes, strides) * 8);
  const out = makeTensor(storage, 'float64', 'cpu', sizes, strides);
  writeNumbers(out, values);
  return out;
}

/** Fixed weights of both signs, none near zero. */
function weights(count: number, salt: number): Float64Array {
  return Float64Array.from({ length: count }, (_, i) => {
    const wave = Math.sin(1 + salt + 3.7 * i);
    return wave + Math.sign(wave) * 0.3;
  });
}

/** The values that are moved: inputs of the call, and for the second order the gradients of its outputs. */
interface Point {
  readonly inputs: readonly Float64Array[];
  readonly seeds: readonly Float64Array[];
}

class CheckedCall {
  private readonly layouts: Tensor[];
  private readonly rng = getRngState();
  readonly start: Point;

  constructor(
    private readonly op: OpOverload,
    private readonly template: readonly unknown[],
    private readonly wanted: readonly OpInput[],
    private readonly order: 1 | 2,
    /** Number of the only output that gets a gradient; null for all. */
    private readonly only: number | null,
  ) {
    this.layouts = this.wanted.map(({ arg, index }) => tensorIn(this.template[arg], index));
    const inputs = this.layouts.map((tensor) => readNumbers(tensor));
    const outs = this.outputs(this.leavesAt(inputs));
    this.start = { inputs, seeds: outs.map((out, i) => weights(out.numel, i)) };
  }

  private leavesAt(inputs: readonly Float64Array[]): Tensor[] {
    return inputs.map((values, i) => {
      const { sizes, strides } = this.layouts[i]!;
      // Elements that share memory cannot be moved one at a time.
      const shared = strides.some((stride, d) => stride === 0 && sizes[d]! > 1);
      const layout = shared ? contiguousStrides(sizes) : strides;
      return float64Like(sizes, layout, values).requiresGrad_();
    });
  }

  /** Differentiable results of the call at these leaves; every run draws the same random numbers. */
  private outputs(leaves: readonly Tensor[]): Tensor[] {
    setRngState(this.rng);
    const copy = (value: unknown): unknown =>
      isTensor(value) ? value.clone() : Array.isArray(value) ? value.map(copy) : value;
    const args = this.template.map((value) =>
      isTensor(value) || Array.isArray(value) ? copy(value) : value,
    );
    this.wanted.forEach(({ arg, index }, i) => {
      // In-place operators may not write to leaves.
      const input = this.op.isMutable ? leaves[i]!.clone() : leaves[i]!;
      const list = args[arg];
      args[arg] = index !== null && Array.isArray(list) ? list.with(index, input) : input;
    });
    const outs = resultsIn(callOp(this.op, args)).filter(
      (out): out is Tensor => out !== null && isFloatingPoint(out.dtype) && out.requiresGrad,
    );
    return this.only === null ? outs : outs.slice(this.only, this.only + 1);
  }

  get outputCount(): number {
    return this.start.seeds.length;
  }

  /** The scalar that is differentiated, its derivatives if asked for, and the magnitude of what it sums. */
  at(
    point: Point,
    derivatives: boolean,
  ): { value: number; magnitude: number; gradients: Float64Array[] } {
    const leaves = this.leavesAt(point.inputs);
    const outs = this.outputs(leaves);
    const seeds = outs.map((out, i) => {
      const seed = fromTypedArray(point.seeds[i]!, out.sizes);
      return this.order === 2 ? seed.requiresGrad_() : seed;
    });
    const sources = this.order === 2 ? [...leaves, ...seeds] : leaves;
    const terms = this.order === 1 ? outs : gradientsOf(outs, seeds, leaves, true);
    const factors = terms.map((term, i) => {
      if (term === null) return null;
      return this.order === 1 ? seeds[i]! : fromTypedArray(weights(term.numel, 5 + i), term.sizes);
    });
    let value = 0;
    let magnitude = 0;
    terms.forEach((term, i) => {
      if (term === null) return;
      const scale = readNumbers(factors[i]!);
      readNumbers(term).forEach((number, k) => {
        value += number * scale[k]!;
        magnitude += Math.abs(number * scale[k]!);
      });
    });
    if (!derivatives) return { value, magnitude, gradients: [] };
    const roots = terms.flatMap((term, i) =>
      term !== null && term.requiresGrad ? [[term, factors[i]!] as const] : [],
    );
    const grads =
      roots.length === 0
        ? sources.map(() => null)
        : gradientsOf(
            roots.map(([term]) => term),
            roots.map(([, factor]) => factor),
            sources,
            false,
          );
    const gradients = grads.map((grad, i) =>
      grad === null ? new Float64Array(sources[i]!.numel) : readNumbers(grad),
    );
    return { value, magnitude, gradients };
  }
}

function gradientsOf(
  outs: readonly Tensor[],
  seeds: readonly Tensor[],
  inputs: readonly Tensor[],
  createGraph: boolean,
): (Tensor | null)[] {
  return runBackward(outs, seeds, {
    retainGraph: true,
    createGraph,
    inputs,
    accumulate: false,
    allowUnused: true,
  });
}

/** Positions to move: at most `count`, spread evenly. */
function positions(length: number, count: number): number[] {
  const step = Math.max(1, Math.ceil(length / count));
  return Array.from({ length: Math.ceil(length / step) }, (_, i) => i * step);
}

function moved(point: Point, list: keyof Point, which: number, at: number, by: number): Point {
  const values = Float64Array.from(point[list][which]!);
  values[at]! += by;
  return { ...point, [list]: point[list].with(which, values) };
}

function compare(call: CheckedCall, order: 1 | 2, elements: number, label: string): OpGradients {
  const { start } = call;
  const exact = call.at(start, true);
  const differences: string[] = [];
  let checked = 0;
  let skipped = 0;
  const check = (list: keyof Point, which: number, gradient: Float64Array): void => {
    const values = start[list][which]!;
    for (const at of positions(values.length, elements)) {
      const step = STEP * Math.max(1, Math.abs(values[at]!));
      const up = call.at(moved(start, list, which, at, step), false).value;
      const down = call.at(moved(start, list, which, at, -step), false).value;
      const right = (up - exact.value) / step;
      const left = (exact.value - down) / step;
      const numeric = (up - down) / (2 * step);
      const noise = (exact.magnitude * 1e-14) / step;
      const kink = Math.abs(right - left) > 1e-2 * Math.max(1, Math.abs(numeric)) + 4 * noise;
      if (!Number.isFinite(right) || !Number.isFinite(left) || kink) {
        skipped++;
        continue;
      }
      checked++;
      const error = Math.abs(gradient[at]! - numeric);
      if (error <= 1e-5 + 1e-4 * Math.abs(numeric) + noise) continue;
      const of = list === 'inputs' ? 'input' : 'gradient of output';
      differences.push(
        `${label}${of} ${which}[${at}]: analytic ${gradient[at]}, numeric ${numeric}`,
      );
    }
  };
  start.inputs.forEach((_, i) => check('inputs', i, exact.gradients[i]!));
  if (order === 2)
    start.seeds.forEach((_, i) => check('seeds', i, exact.gradients[start.inputs.length + i]!));
  return { checked, skipped, differences };
}

/**
 * Compares the derivatives of a call with finite differences, for all outputs at once and, if there are several, for
 * the first few alone. The inputs are float64.
 *
 * @param args complete positional arguments
 * @throws TesseraError what the call itself throws
 */
export function gradcheckOp(
  op: OpOverload,
  args: readonly unknown[],
  inputs: readonly OpInput[],
  options: GradcheckOpOptions = {},
): OpGradients {
  const { order = 1, elements = 8 } = options;
  const whole = new CheckedCall(op, args, inputs, order, null);
  const results = [compare(whole, order, elements, '')];
  for (let i = 0; whole.outputCount > 1 && i < Math.min(whole.outputCount, 3); i++) {
    const alone = new CheckedCall(op, args, inputs, order, i);
    results.push(compare(alone, order, 3, `of output ${i} alone, `));
  }
  return {
    checked: results.reduce((sum, { checked }) => sum + checked, 0),
    skipped: results.reduce((sum, { skipped }) => sum + skipped, 0),
    differences: results.flatMap(({ differences }) => differences),
  };
}
