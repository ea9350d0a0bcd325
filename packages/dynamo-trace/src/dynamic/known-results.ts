/**
 * @file `KnownResults`: what steps make at sizes that were not met before, without asking the operators' rules.
 *
 * Every call that asked them is a sample. Where an operator does the same at all sizes, and the samples determine what
 * it computes from sizes (`SizeSamples`), its results are what the samples say, for calls in the same case. Quotients are
 * polynomials of the sizes and of what the divisions leave, so remainders (`remaindersOf`) are sizes like others. Nothing
 * is known of steps that are given other integers.
 *
 * What is a polynomial behind a slice that lies inside is another one behind a slice that does not: samples of a step are
 * those in which the steps before it were in the same cases, which are counted (`CaseNumbers`).
 */
import { type Shaped, caseOfSizes, layoutClass } from '@tessera/graph';
import { SampledNumbers } from '@tessera/shared';
import type { Frame } from '../frame/frame.js';
import { instantiate } from '../trace/pattern.js';
import type { MakingStep, OutSpec, Step } from '../trace/step.js';
import { mayLeave } from './remainders.js';
import { isWhole, mayDiffer, ruleOf } from './step-rule.js';

type Results = readonly (OutSpec | null)[];

/** See the file header. */
export class KnownResults {
  private readonly families = new Map<MakingStep, Map<string, ResultFamily>>();

  /**
   * Notes what a step made; gives the case in which it is, null if nothing is known of it.
   *
   * @param before number of the cases of the steps before it
   * @param sizes those of the call, and what divisions left of them until now
   */
  note(
    step: MakingStep,
    outs: Results,
    frame: Frame,
    before: number,
    sizes: readonly number[],
  ): string | null {
    const found = caseOf(step, outs, frame);
    if (found === null || before < 0) return found;
    let families = this.families.get(step);
    if (families === undefined) this.families.set(step, (families = new Map()));
    const key = `${before}|${found}|${structureOf(outs)}`;
    let family = families.get(key);
    if (family === undefined) {
      const layouts = operandsOf(step)!.map((slot) => layoutOf(frame.slots[slot]!));
      const own = ownCase(step, outs, frame)!;
      families.set(key, (family = new ResultFamily(before, found, own, layouts, outs)));
    }
    family.add(sizes, outs);
    return found;
  }

  /** What a step makes at the sizes of a call, and the case in which it is; null if it is not known. */
  at(
    step: MakingStep,
    frame: Frame,
    before: number,
    sizes: readonly number[],
  ): { readonly outs: Results; readonly of: string } | null {
    const families = this.families.get(step);
    if (families === undefined) return null;
    for (const family of families.values()) {
      const outs = family.before === before ? family.at(sizes) : null;
      if (outs !== null && family.isCaseOf(step, outs, frame)) return { outs, of: family.of };
    }
    return null;
  }
}

/** The layout of an operand in the first sample, and its class. */
interface OperandLayout extends Shaped {
  readonly of: string;
}

/** A result, where its numbers are, and which of them vary. */
interface VaryingResult {
  readonly spec: OutSpec | null;
  readonly at: number;
  /** Places of sizes that vary: those below 2 are another case. */
  readonly sizes: readonly number[];
  readonly varies: boolean;
}

/** What a step made in calls of one case. */
class ResultFamily {
  private readonly numbers = new SampledNumbers();
  /** Null until it is asked for. */
  private results: readonly VaryingResult[] | null = null;

  constructor(
    readonly before: number,
    readonly of: string,
    private readonly own: string,
    private readonly layouts: readonly OperandLayout[],
    private readonly example: Results,
  ) {}

  add(sizes: readonly number[], outs: Results): void {
    if (this.numbers.add(sizes, numbersOf(outs))) this.results = null;
  }

  /**
   * The results of a call, those of the example where nothing of them varies; null if they are not known, or a size that
   * varies is below 2, which is another case. A loop over numbers: it seldom runs, so nothing inlines it.
   */
  at(sizes: readonly number[]): Results | null {
    const numbers = this.numbers.at(sizes);
    if (numbers === null) return null;
    const results = (this.results ??= this.varying());
    if (results.length === 0) return this.example;
    const outs: (OutSpec | null)[] = [];
    for (let i = 0; i < results.length; i++) {
      const { spec, at, sizes: places, varies } = results[i]!;
      if (!varies || spec === null) {
        outs.push(spec);
        continue;
      }
      for (let k = 0; k < places.length; k++) if (numbers[places[k]!]! < 2) return null;
      const middle = at + spec.sizes.length;
      const end = middle + spec.sizes.length;
      outs.push({
        ...spec,
        sizes: numbers.slice(at, middle),
        strides: numbers.slice(middle, end),
        offset: numbers[end]!,
      });
    }
    return outs;
  }

  /** The results; none if nothing of any varies. */
  private varying(): readonly VaryingResult[] {
    let at = 0;
    const results = this.example.map((spec): VaryingResult => {
      const from = at;
      const rank = spec?.sizes.length ?? 0;
      if (spec !== null) at += 2 * rank + 1;
      const places = Array.from({ length: at - from }, (_, i) => from + i);
      const varying = places.filter((place) => !this.numbers.isFixed(place));
      const sizes = varying.filter((place) => place < from + rank);
      return { spec, at: from, sizes, varies: varying.length > 0 };
    });
    return results.some(({ varies }) => varies) ? results : [];
  }

  /** Whether a step that makes this is in the case of the family. */
  isCaseOf(step: MakingStep, outs: Results, frame: Frame): boolean {
    if (step.kind !== 'op') return caseOf(step, outs, frame) === this.of;
    const { slots } = ruleOf(step);
    for (let i = 0; i < slots.length; i++) {
      const { sizes, strides } = frame.slots[slots[i]!]!;
      const like = this.layouts[i]!;
      // Most operands have the lists of numbers that they had: nothing of them varies.
      if (sizes === like.sizes && strides === like.strides) continue;
      if (layoutClass({ sizes, strides }) !== like.of) return false;
    }
    return ownCase(step, outs, frame) === this.own;
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
export function caseOf(step: MakingStep, outs: Results, frame: Frame): string | null {
  const operands = operandsOf(step);
  const own = operands === null ? null : ownCase(step, outs, frame);
  if (own === null) return null;
  return [own, ...operands!.map((slot) => layoutClass(frame.slots[slot]!))].join(';');
}

/** Slots of the tensors whose layouts are part of a step's case; null if nothing is known of it. */
function operandsOf(step: MakingStep): readonly number[] | null {
  switch (step.kind) {
    case 'op': {
      const { isFollowed, slots } = ruleOf(step);
      return isFollowed ? slots : null;
    }
    case 'backward':
      return step.leaves.map(({ leaf }) => leaf);
    case 'region': {
      const { jump, inputs } = step;
      if (jump === null || !jump.steps.every(hasOneCase)) return null;
      const given = [...inputs, ...jump.implicit];
      if (!given.every(isWhole)) return null;
      return given.flatMap((input) => ('slot' in input ? input.slot : []));
    }
  }
}

/** The case in which a step is, of operands whose layouts are of some classes; null if nothing is known of it. */
function ownCase(step: MakingStep, outs: Results, frame: Frame): string | null {
  if (step.kind !== 'op' || !mayDiffer(step)) return '';
  return caseOfSizes(
    step.op,
    step.args.map((pattern) => instantiate(pattern, frame)),
    outs.filter((spec) => spec !== null),
  );
}

function layoutOf({ sizes, strides }: Shaped): OperandLayout {
  return { sizes, strides, of: layoutClass({ sizes, strides }) };
}

/** Whether a step inside a region does the same at all sizes, whatever it is given. */
function hasOneCase(step: Step): boolean {
  if (step.kind !== 'op') return true;
  const { isFollowed, hasCases } = ruleOf(step);
  return isFollowed && !hasCases && !mayLeave(step);
}
