/**
 * @file What the caller of a graph can see: results with their layouts, which of them share memory, modified
 * inputs and constants, and the state of the generator.
 */
import { type GraphModule, Interpreter, type Node, copyModule, tensorVals } from '@tessera/graph';
import { type Tensor, getRngState, isTensor, manualSeed, noGrad } from '@tessera/tensor';

/** What a run showed. */
export interface Observation {
  readonly values: readonly (readonly (number | string)[])[];
  readonly layouts: readonly string[];
  /** For every input and result the first of them with the same memory. */
  readonly memory: readonly number[];
  /** Random numbers drawn. */
  readonly drawn: number;
  /** Nodes whose recorded layout is not what they computed. */
  readonly misrecorded: readonly string[];
}

/** Compares what nodes compute with what is recorded of them. */
class Checked extends Interpreter {
  readonly wrong: string[] = [];

  override runNode(node: Node): unknown {
    const result = super.runNode(node);
    const recorded = tensorVals(node);
    const actual = [result].flat().filter(isTensor);
    actual.forEach((value, i) => {
      const val = recorded[i];
      if (val !== undefined && layout(val) !== layout(value))
        this.wrong.push(`${node.name} is ${layout(value)}, recorded ${layout(val)}`);
    });
    return result;
  }
}

function layout({ dtype, sizes, strides, numel }: Tensor): string {
  // Strides of dimensions of size 1 place nothing.
  const places = strides.map((stride, i) => (sizes[i] === 1 || numel === 0 ? '_' : stride));
  return `${dtype} [${sizes.join()}] <${places.join()}>`;
}

/** Runs a graph on inputs. */
export function observe(original: GraphModule, inputs: readonly Tensor[]): Observation {
  // Constants that a graph writes are its own in every run; those that folding made are never written.
  const module = copyModule(original);
  for (const [path, value] of module.attributes)
    if (isTensor(value) && !path.startsWith('_')) module.setAttribute(path, value.clone());
  manualSeed(5);
  const start = getRngState().offset;
  const interpreter = new Checked(module);
  const results = noGrad(() => interpreter.run(...inputs)) as Tensor[];
  const all = [...inputs, ...results];
  return {
    values: all.map((value) => [...value.contiguous().toTypedArray()].map(seen)),
    layouts: all.map(layout),
    memory: all.map((value) => all.findIndex((other) => other.storage === value.storage)),
    drawn: getRngState().offset - start,
    misrecorded: interpreter.wrong,
  };
}

function seen(value: number | bigint): number | string {
  return typeof value === 'bigint' ? String(value) : value;
}

/** What differs, in words; empty if nothing does. Rounding may, and the sign of zero. */
export function sameObservation(actual: Observation, expected: Observation): string {
  for (const key of ['layouts', 'memory', 'drawn', 'misrecorded'] as const) {
    const [a, e] = [JSON.stringify(actual[key]), JSON.stringify(expected[key])];
    if (a !== e) return `${key}: ${a} instead of ${e}`;
  }
  for (const [i, values] of expected.values.entries())
    for (const [j, value] of values.entries())
      if (!isClose(actual.values[i]![j]!, value))
        return `value ${i}, element ${j}: ${actual.values[i]![j]} instead of ${value}`;
  return '';
}

function isClose(a: number | string, b: number | string): boolean {
  if (typeof a === 'string' || typeof b === 'string') return a === b;
  return Object.is(a, b) || a === b || Math.abs(a - b) <= 1e-5 + 1e-3 * Math.abs(b);
}
