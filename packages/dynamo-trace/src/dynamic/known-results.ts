/**
 * @file `KnownResults`: what steps make at sizes that were not met before, without asking the operators' rules.
 *
 * Every call that asked them is a sample. Where an operator does the same at all sizes, and the samples determine what
 * it computes from sizes (`SizeSamples`), its results are what the samples say, for calls in the same case.
 */
import { caseOfCall, hasCases, isUniform, layoutClass } from '@tessera/graph';
import { type SizeFunction, SizeFitter, SizeSamples, isDetermined } from '@tessera/shared';
import type { Frame } from '../frame/frame.js';
import { instantiate } from '../trace/pattern.js';
import type { MakingStep, OutSpec, Step } from '../trace/step.js';
import type { SymbolTable } from './symbol-table.js';

type Results = readonly (OutSpec | null)[];

/** See the file header. */
export class KnownResults {
  private readonly families = new Map<MakingStep, Map<string, ResultFamily>>();

  constructor(private readonly table: Pick<SymbolTable, 'entries' | 'evaluator'>) {}

  /** Notes what a step made. */
  note(step: MakingStep, outs: Results, frame: Frame): void {
    const found = caseOf(step, outs, frame);
    if (found === null) return;
    let families = this.families.get(step);
    if (families === undefined) this.families.set(step, (families = new Map()));
    const key = `${found}|${structureOf(outs)}`;
    let family = families.get(key);
    if (family === undefined) families.set(key, (family = new ResultFamily(found, this.table)));
    family.add(frame.symbolValues(), outs);
  }

  /** What a step makes at the sizes of a call; null if it is not known. */
  at(step: MakingStep, frame: Frame): Results | null {
    const families = this.families.get(step);
    if (families === undefined) return null;
    const symbols = frame.symbolValues();
    for (const family of families.values()) {
      const outs = family.at(symbols, frame);
      if (outs !== null && caseOf(step, outs, frame) === family.of) return outs;
    }
    return null;
  }
}

/** What a step made in calls of one case. */
class ResultFamily {
  private readonly samples = new SizeSamples();
  private readonly results: Results[] = [];
  /** What the results are; undefined until it is asked for, null if it is not known. */
  private known: KnownShapes | null | undefined = null;

  constructor(
    readonly of: string,
    private readonly table: Pick<SymbolTable, 'entries' | 'evaluator'>,
  ) {}

  add(symbols: readonly number[], outs: Results): void {
    // What is known already needs no more samples.
    if (this.samples.determine(symbols) || !this.samples.add(symbols)) return;
    this.results.push(outs);
    this.known = undefined;
  }

  at(symbols: readonly number[], frame: Frame): Results | null {
    if (!this.samples.determine(symbols)) return null;
    if (this.known === undefined) this.known = this.fit();
    return this.known?.at(frame) ?? null;
  }

  private fit(): KnownShapes | null {
    const { samples, results, table } = this;
    // Numbers and values of symbols take turns.
    const terms = samples.list[0]!.flatMap((symbol, i) =>
      i % 2 > 0
        ? []
        : [{ size: table.entries[symbol]!.symbol, at: samples.list.map((list) => list[i + 1]!) }],
    );
    const fitter = new SizeFitter(terms);
    let isKnown = true;
    const columns = results.map(numbersOf);
    const functions = columns[0]!.map((_, at): number | SizeFunction => {
      const size = fitter.fit(columns.map((numbers) => numbers[at]!));
      if (size === null || !isDetermined(size)) isKnown = false;
      return typeof size === 'number' ? size : table.evaluator(size ?? 0);
    });
    return isKnown ? new KnownShapes(results[0]!, functions) : null;
  }
}

/** Results whose numbers are functions of the symbols. A loop over numbers: it seldom runs, so nothing inlines it. */
class KnownShapes {
  constructor(
    private readonly example: Results,
    private readonly numbers: readonly (number | SizeFunction)[],
  ) {}

  /** The results of a call; null if a size that varies is below 2, which is another case. */
  at({ symbols }: Frame): Results | null {
    const { example, numbers } = this;
    const outs: (OutSpec | null)[] = [];
    let next = 0;
    for (const spec of example) {
      if (spec === null) {
        outs.push(null);
        continue;
      }
      const rank = spec.sizes.length;
      const found: number[] = [];
      for (let i = 0; i < 2 * rank; i++) {
        const number = numbers[next++]!;
        const value = typeof number === 'number' ? number : number(symbols);
        if (i < rank && value < 2 && typeof number !== 'number') return null;
        found.push(value);
      }
      const last = numbers[next++]!;
      const offset = typeof last === 'number' ? last : last(symbols);
      outs.push({ ...spec, strides: found.splice(rank), sizes: found, offset });
    }
    return outs;
  }
}

function numbersOf(outs: Results): number[] {
  return outs.flatMap((spec) =>
    spec === null ? [] : [...spec.sizes, ...spec.strides, spec.offset],
  );
}

/** All of results but their numbers. */
function structureOf(outs: Results): string {
  return outs
    .map((spec) =>
      spec === null
        ? ''
        : [
            spec.slot,
            spec.same,
            spec.dtype,
            spec.device,
            spec.sizes.length,
            spec.requiresGrad,
          ].join(),
    )
    .join(';');
}

/** The case in which a step is; null if nothing is known of it. */
function caseOf(step: MakingStep, outs: Results, frame: Frame): string | null {
  switch (step.kind) {
    case 'op':
      if (!isUniform(step.op)) return null;
      return caseOfCall(
        step.op,
        step.args.map((pattern) => instantiate(pattern, frame)),
        outs.filter((spec) => spec !== null),
      );
    case 'backward':
      return layoutsOf(
        step.leaves.map(({ leaf }) => leaf),
        frame,
      );
    case 'region': {
      const { jump, inputs } = step;
      if (jump === null || !jump.steps.every(hasOneCase)) return null;
      const read = [...inputs, ...jump.implicit].flatMap((input) =>
        'slot' in input ? input.slot : [],
      );
      return layoutsOf(read, frame);
    }
  }
}

function layoutsOf(slots: readonly number[], { slots: tensors }: Frame): string {
  return slots.map((slot) => layoutClass(tensors[slot]!)).join();
}

/** Whether a step inside a region does the same at all sizes, whatever it is given. */
function hasOneCase(step: Step): boolean {
  return step.kind !== 'op' || (isUniform(step.op) && !hasCases(step.op));
}
