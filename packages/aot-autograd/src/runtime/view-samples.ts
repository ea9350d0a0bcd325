/**
 * @file `ViewSamples`: how results that are views are made at sizes at which a program was not traced.
 *
 * The views themselves follow the operators' rules when they are replayed. Numbers among their arguments are what uniform
 * operators compute from sizes: programs that were traced are samples, which determine them at other sizes
 * (`SizeSamples`).
 */
import { TemplateNumbers } from '@tessera/graph';
import { ShapeEnv, SizeSamples } from '@tessera/shared';
import type { OutputPlan } from '../joint/output-plan.js';
import type { ViewStep } from '../joint/view-steps.js';

type Outputs = readonly OutputPlan[];

/** What the numbers of results are at sizes. */
type NumbersAt = (sizes: readonly number[]) => readonly number[];

/** Samples of programs that make their results in the same way. */
interface Family {
  readonly samples: SizeSamples;
  readonly numbers: (readonly number[])[];
  /** Undefined until it is asked for, null if it is not known. */
  known: NumbersAt | null | undefined;
}

/** See the file header. Sizes are numbers of symbols and their values in turns. */
export class ViewSamples {
  private readonly families = new Map<string, Family>();

  /** Notes how a program makes its results at sizes. */
  add(sizes: readonly number[], outputs: Outputs): void {
    // 0 and 1 mean something else to many operators.
    if (valuesOf(sizes).some((value) => value < 2)) return;
    const key = structureOf(outputs);
    const family: Family = this.families.get(key) ?? {
      samples: new SizeSamples(),
      numbers: [],
      known: undefined,
    };
    this.families.set(key, family);
    if (family.samples.determine(sizes) || !family.samples.add(sizes)) return;
    family.numbers.push(numbersOf(outputs));
    family.known = undefined;
  }

  /** How results that are made like others are made at sizes; null if it is not known. */
  at(sizes: readonly number[], like: Outputs): Outputs | null {
    if (numbersOf(like).length === 0) return like;
    const family = this.families.get(structureOf(like));
    if (family === undefined || !family.samples.determine(sizes)) return null;
    if (family.known === undefined) family.known = fitted(family);
    return family.known === null ? null : withNumbers(like, family.known(sizes));
  }
}

const valuesOf = (sizes: readonly number[]): number[] => sizes.filter((_, i) => i % 2 > 0);

function fitted({ samples, numbers }: Family): NumbersAt | null {
  const symbols = valuesOf(samples.list[0]!).map((_, at) => ({ at, source: `${at}` }));
  const table = TemplateNumbers.of(
    new ShapeEnv({ duckShape: false, specializeZeroOne: false }),
    samples.list.map((sizes, i) => [...valuesOf(sizes), ...numbers[i]!]),
    symbols,
  );
  if (table?.isDetermined !== true) return null;
  const [example] = numbers;
  return (sizes) => {
    const values = valuesOf(sizes);
    const chosen = table.sources.map(({ at }) => values[at]!);
    const found = [...example!];
    for (const { at, expected } of table.varying)
      if (at >= symbols.length) found[at - symbols.length] = expected(chosen);
    return found;
  };
}

/** Whether operators' rules, and numbers that samples determine, say what a result is. */
export function isForAllSizes(output: OutputPlan): boolean {
  return (
    output.kind !== 'constant' && viewSteps(output).every(({ distance }) => distance === undefined)
  );
}

/** The views that a result is made by. */
function viewSteps(output: OutputPlan): readonly ViewStep[] {
  if (output.kind === 'custom-view') return output.of.steps;
  return 'steps' in output ? output.steps : [];
}

function numbersOf(outputs: Outputs): number[] {
  const list = (arg: unknown): number[] =>
    typeof arg === 'number' ? [arg] : Array.isArray(arg) ? arg.flatMap(list) : [];
  return outputs.flatMap((output) => viewSteps(output).flatMap(({ args }) => list(args)));
}

/** All of results but the numbers. */
function structureOf(outputs: Outputs): string {
  const step = ({ op, args, ...rest }: ViewStep): unknown => [
    op.qualifiedName,
    without(args),
    rest,
  ];
  return JSON.stringify(
    outputs.map((output) => [{ ...output, steps: 0, of: 0 }, viewSteps(output).map(step)]),
  );
}

function without(arg: unknown): unknown {
  return typeof arg === 'number' ? '#' : Array.isArray(arg) ? arg.map(without) : arg;
}

function withNumbers(outputs: Outputs, numbers: readonly number[]): Outputs {
  let next = 0;
  const argument = (arg: unknown): unknown =>
    typeof arg === 'number' ? numbers[next++] : Array.isArray(arg) ? arg.map(argument) : arg;
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
