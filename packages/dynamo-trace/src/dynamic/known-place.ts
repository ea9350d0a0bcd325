/**
 * @file `KnownPlace`: what steps make at sizes that were not met before, without asking the operators' rules.
 *
 * Every call that asked them is a sample. Where an operator does the same at all sizes, and the samples determine what
 * it computes from sizes (`SizeSamples`), its results are what the samples say, for calls in the same case. Quotients are
 * polynomials of the sizes and of what the divisions leave, so remainders (`remaindersOf`) are sizes like others. Nothing
 * is known of steps that are given other integers.
 *
 * What is a polynomial behind a slice that lies inside is another one behind a slice that does not: a place is what is
 * known behind some steps, each in one case, and samples of a step are those of calls that came by the same place.
 */
import { LayoutClass, type Shaped, layoutClass } from '@tessera/graph';
import { SampledNumbers } from '@tessera/shared';
import type { Frame } from '../frame/frame.js';
import type { MakingStep, OutSpec, Step } from '../trace/step.js';
import { type Arguments, mayLeave } from './remainders.js';
import { isWhole } from './step-rule.js';

type Results = readonly (OutSpec | null)[];

/** Places of a program: sizes that bring ever new cases are not worth remembering. */
const MOST = 2 ** 15;

/** What is known behind the steps so far. */
export interface SoFar {
  /** Null where nothing is known of the case in which one of them was. */
  readonly place: KnownPlace | null;
  /** What their divisions have left (`remaindersOf`). */
  readonly left: readonly number[];
  /** Whether anything is known of each of them in the current segment. */
  readonly isKnown: boolean;
}

/** A known step: its results, and the place behind it. */
export interface KnownStep {
  readonly outs: Results;
  readonly behind: KnownPlace;
}

/** See the file header. */
export class KnownPlace {
  /** What is known here where nothing was left and each step is known: of most calls. */
  readonly plain: SoFar = { place: this, left: [], isKnown: true };
  private readonly families: StepFamily[] = [];

  /** @param room how many more places there may be */
  constructor(private readonly room: { places: number } = { places: MOST }) {}

  /** Notes what a step makes at the sizes of a call, with what divisions left of them; the place behind it, null if nothing is known of it. */
  note(
    step: MakingStep,
    args: Arguments,
    outs: Results,
    frame: Frame,
    sizes: readonly number[],
  ): KnownPlace | null {
    const operands = operandsOf(step);
    const own = operands === null ? null : ownCase(step, args, outs);
    if (own === null) return null;
    const layouts = operands!.map((slot) => frame.slots[slot]!);
    const key = [own, ...layouts.map(layoutClass), structureOf(outs)].join(';');
    let family = this.families.find((other) => other.step === step && other.key === key);
    if (family === undefined) {
      if (this.room.places === 0) return null;
      this.room.places--;
      const behind = new KnownPlace(this.room);
      family = new StepFamily(step, key, own, operands!, layouts, outs, behind);
      this.families.push(family);
    }
    family.add(sizes, outs);
    return family.behind;
  }

  /** What a step makes at the sizes of a call; null if it is not known. */
  at(step: MakingStep, args: Arguments, frame: Frame, sizes: readonly number[]): KnownStep | null {
    const { families } = this;
    for (let i = 0; i < families.length; i++) {
      const family = families[i]!;
      const outs = family.step === step ? family.at(sizes) : null;
      if (outs !== null && family.isCaseOf(args, outs, frame))
        return { outs, behind: family.behind };
    }
    return null;
  }
}

/** What is known behind one more step, whose divisions have left something, or nothing. */
export function behindStep(before: SoFar, place: KnownPlace, left: readonly number[]): SoFar {
  const { left: earlier, isKnown } = before;
  if (isKnown && left.length === 0 && earlier.length === 0) return place.plain;
  return { place, left: left.length === 0 ? earlier : [...earlier, ...left], isKnown };
}

/** The layout of an operand in the first sample, and its class. */
interface OperandLayout extends Shaped {
  readonly of: LayoutClass;
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
class StepFamily {
  private readonly numbers = new SampledNumbers();
  private readonly layouts: readonly OperandLayout[];
  /** Null until it is asked for. */
  private results: readonly VaryingResult[] | null = null;

  constructor(
    readonly step: MakingStep,
    readonly key: string,
    private readonly own: string,
    private readonly operands: readonly number[],
    layouts: readonly Shaped[],
    private readonly example: Results,
    readonly behind: KnownPlace,
  ) {
    this.layouts = layouts.map(({ sizes, strides }) => ({
      sizes,
      strides,
      of: new LayoutClass({ sizes, strides }),
    }));
  }

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
  isCaseOf(args: Arguments, outs: Results, frame: Frame): boolean {
    const { operands, layouts } = this;
    for (let i = 0; i < operands.length; i++) {
      const operand = frame.slots[operands[i]!]!;
      const { sizes, strides, of } = layouts[i]!;
      // Most operands have the lists of numbers that they had: nothing of them varies.
      if ((operand.sizes !== sizes || operand.strides !== strides) && !of.has(operand))
        return false;
    }
    return ownCase(this.step, args, outs) === this.own;
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

/** Slots of the tensors whose layouts are part of a step's case; null if nothing is known of it. */
function operandsOf(step: MakingStep): readonly number[] | null {
  switch (step.kind) {
    case 'op': {
      const { isFollowed, slots } = step.rule;
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
function ownCase(step: MakingStep, args: Arguments, outs: Results): string | null {
  const caseOf = step.kind === 'op' ? step.rule.caseOf : null;
  if (caseOf === null) return '';
  return caseOf(args!, outs.includes(null) ? outs.filter(isMade) : (outs as readonly OutSpec[]));
}

function isMade(spec: OutSpec | null): spec is OutSpec {
  return spec !== null;
}

/** Whether a step inside a region does the same at all sizes, whatever it is given. */
function hasOneCase(step: Step): boolean {
  if (step.kind !== 'op') return true;
  const { isFollowed, caseOf } = step.rule;
  return isFollowed && caseOf === null && !mayLeave(step);
}
