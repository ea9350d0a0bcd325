/**
 * @file `ViewSamples`: how results that are views are made at sizes at which a program was not traced.
 *
 * The views themselves follow the operators' rules when they are replayed. Numbers among their arguments are what uniform
 * operators compute from sizes: programs that were traced are samples, which determine them at other sizes
 * (`SizeSamples`).
 */
import { SampledNumbers } from '@tessera/shared';
import type { OpOverload } from '@tessera/tensor';
import type { OutputPlan } from '../joint/output-plan.js';
import type { ViewStep } from '../joint/view-steps.js';

type Outputs = readonly OutputPlan[];

/** See the file header. Sizes are numbers of symbols and their values in turns. */
export class ViewSamples {
  /** Of programs that make their results in the same way. */
  private readonly families = new Map<string, SampledNumbers>();

  /** Notes how a program makes its results at sizes. */
  add(sizes: readonly number[], outputs: Outputs): void {
    if (outputs.every(isWhole)) return;
    // 0 and 1 mean something else to many operators.
    if (sizes.some((value, i) => i % 2 > 0 && value < 2) || !outputs.every(isForAllSizes)) return;
    const key = structureOf(outputs);
    const family = this.families.get(key) ?? new SampledNumbers();
    this.families.set(key, family);
    const numbers: number[] = [];
    mapNumbers(outputs, (number) => (numbers.push(number), number));
    family.add(sizes, numbers);
  }

  /** How results that are made like others, some by views, are made at sizes; null if it is not known. */
  at(sizes: readonly number[], like: Outputs): Outputs | null {
    const numbers = this.families.get(structureOf(like))?.at(sizes) ?? null;
    if (numbers === null) return null;
    let next = 0;
    return mapNumbers(like, () => numbers[next++]!);
  }
}

/** Whether operators' rules, and numbers that samples determine, say what a result is. */
export function isForAllSizes(output: OutputPlan): boolean {
  return (
    output.kind !== 'constant' && viewSteps(output).every(({ distance }) => distance === undefined)
  );
}

/** Whether a result is made by no views, and so the same at all sizes. */
export function isWhole(output: OutputPlan): boolean {
  return viewSteps(output).length === 0;
}

/** The views that a result is made by. */
function viewSteps(output: OutputPlan): readonly ViewStep[] {
  if (output.kind === 'custom-view') return output.of.steps;
  return 'steps' in output ? output.steps : [];
}

/** All of results but the numbers. */
function structureOf(outputs: Outputs): string {
  return JSON.stringify(
    mapNumbers(outputs, () => 0),
    (key, value: unknown) => (key === 'op' ? (value as OpOverload).qualifiedName : value),
  );
}

/** Results with other numbers among the arguments of their views. */
function mapNumbers(outputs: Outputs, map: (number: number) => number): Outputs {
  const argument = (arg: unknown): unknown =>
    typeof arg === 'number' ? map(arg) : Array.isArray(arg) ? arg.map(argument) : arg;
  const made = <V extends { readonly steps: readonly ViewStep[] }>(view: V): V => ({
    ...view,
    steps: view.steps.map((step) => ({ ...step, args: step.args.map(argument) })),
  });
  return outputs.map((output) =>
    output.kind === 'custom-view'
      ? { ...output, of: made(output.of) }
      : 'steps' in output
        ? made(output)
        : output,
  );
}
