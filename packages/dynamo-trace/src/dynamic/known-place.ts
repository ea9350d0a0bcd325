/**
 * @file `KnownPlace`: what steps make at sizes that were not met before, without asking the operators' rules.
 *
 * Every call that asked them is a sample. Where an operator does the same at all sizes, and the samples determine what
 * it computes from sizes (`SizeSamples`), its results are what the samples say, for calls in the same case. Quotients are
 * polynomials of the sizes and of what the divisions leave, so remainders (`remaindersOf`) are sizes like others. Behind
 * divisions a step is seen at the sizes of its own operands too (`ownNumbers`), which fewer samples determine. Nothing is
 * known of steps that are given other integers.
 *
 * What is a polynomial behind a slice that lies inside is another one behind a slice that does not: a place is what is
 * known behind some steps, each in one case, and samples of a step are those of calls that came by the same place.
 */
import { type CaseOf, LayoutClass, type Shaped, layoutClass } from '@tessera/graph';
import { SizeSamples } from '@tessera/shared';
import type { Frame } from '../frame/frame.js';
import type { MakingStep, OpStep, OutSpec, Step } from '../trace/step.js';
import { type Results, SampledResults } from './sampled-results.js';
import { type Arguments, caseOfStep, isWhole, ownNumbers, remaindersOf } from './step-rule.js';

/** What the places of a program share. */
interface Program {
  /** How many more places there may be: sizes that bring ever new cases are not worth remembering. */
  room: number;
  /** No samples: steps that were seen at the same sizes share what is computed of those. */
  readonly samples: SizeSamples;
  /** Steps of operators of which nothing is known. */
  readonly unknown: Set<OpStep>;
}

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

/** What a step makes at some sizes. */
export interface Made {
  /** Its results; of a region, what it leaves behind. */
  readonly outs: Results;
  /** What is known behind it. */
  readonly behind: SoFar;
  /** Slots of existing values that take gradients from it on; absent where only what was recorded says. */
  readonly gaining?: readonly number[];
}

const NOTHING: readonly number[] = [];

/** See the file header. */
export class KnownPlace {
  /** What is known here where nothing was left and each step is known: of most calls. */
  readonly plain: SoFar = { place: this, left: [], isKnown: true };
  private readonly families: StepFamily[] = [];

  constructor(
    private readonly program: Program = {
      room: MOST,
      samples: new SizeSamples(),
      unknown: new Set(),
    },
  ) {}

  /** Steps of the program that had to be made anew at every size: nothing is known of their operators there. */
  get unknown(): ReadonlySet<OpStep> {
    return this.program.unknown;
  }

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
    if (own === null) {
      if (step.kind === 'op') this.program.unknown.add(step);
      return null;
    }
    const layouts = operands!.map((slot) => frame.slots[slot]!);
    const key = [own, ...layouts.map(layoutClass), structureOf(outs)].join(';');
    let family = this.families.find((other) => other.step === step && other.key === key);
    if (family === undefined) {
      const { program } = this;
      if (program.room === 0) return null;
      program.room--;
      const results = new SampledResults(outs, program.samples);
      const behind = new KnownPlace(program);
      family = new StepFamily(step, key, own, operands!, layouts, outs, results, behind);
      this.families.push(family);
    }
    family.add(sizes, args, frame, outs);
    return family.behind;
  }

  /**
   * What a step makes at the sizes of a call; null if it is not known. One function: it seldom runs, so nothing inlines
   * what it calls.
   *
   * @param before what is known before it: here
   */
  at(
    step: MakingStep,
    args: Arguments,
    frame: Frame,
    sizes: readonly number[],
    before: SoFar = this.plain,
  ): Made | null {
    const { families } = this;
    next: for (let i = 0; i < families.length; i++) {
      const family = families[i]!;
      if (family.step !== step) continue;
      const { operands, layouts, behind } = family;
      for (let k = 0; k < operands.length; k++) {
        const operand = frame.slots[operands[k]!]!;
        const like = layouts[k]!;
        // Most have the lists of numbers that they had.
        if (operand.sizes === like.sizes && operand.strides === like.strides) continue;
        if (!like.has(operand)) continue next;
      }
      const left = family.leaves ? remaindersOf(step, args, frame) : NOTHING;
      const all = left.length === 0 ? sizes : [...sizes, ...left];
      let outs = family.results.at(all);
      if (outs === null && family.isAlone(all, frame)) {
        const own = ownNumbers(step, args, frame);
        if (own !== null) outs = family.alone.at(own);
      }
      if (outs === null) continue;
      if (family.caseOf !== null) {
        const made = outs.includes(null) ? outs.filter(isMade) : (outs as readonly OutSpec[]);
        if (family.caseOf(args!, made) !== family.own) continue;
      }
      const isPlain = before === this.plain && left.length === 0;
      return { outs, behind: isPlain ? behind.plain : behindStep(before, behind, left) };
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

/** What a step made in calls of one case. */
class StepFamily {
  /** Whether its divisions leave something. */
  readonly leaves: boolean;
  readonly caseOf: CaseOf | null;
  /** Those of the operands. */
  readonly layouts: readonly LayoutClass[];
  private readonly areDense: boolean;
  /** What is known by the sizes of its operands alone (`ownNumbers`). */
  readonly alone: SampledResults;

  constructor(
    readonly step: MakingStep,
    readonly key: string,
    /** The case in which it is (`ownCase`). */
    readonly own: string,
    /** Slots of its operands. */
    readonly operands: readonly number[],
    layouts: readonly Shaped[],
    example: Results,
    readonly results: SampledResults,
    readonly behind: KnownPlace,
  ) {
    this.alone = new SampledResults(example);
    this.leaves = step.kind === 'op' && step.rule.leaves;
    this.caseOf = caseOfStep(step);
    this.layouts = layouts.map((layout) => new LayoutClass(layout));
    this.areDense = this.layouts.every(({ isDense }) => isDense);
  }

  add(sizes: readonly number[], args: Arguments, frame: Frame, outs: Results): void {
    const own = this.isAlone(sizes, frame) ? ownNumbers(this.step, args, frame) : null;
    if (own !== null) this.alone.add(own, outs);
    this.results.add(sizes, outs);
  }

  /** Whether divisions may have left something, and sizes of operands say all of them. */
  isAlone({ length }: readonly number[], { shapes }: Frame): boolean {
    return this.areDense && length > shapes.point.length;
  }
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
    case 'region': {
      const { jump, inputs } = step;
      if (jump === null || !jump.steps.every(hasOneCase)) return null;
      if (!inputs.every(isWhole)) return null;
      return inputs.flatMap((input) => ('slot' in input ? input.slot : []));
    }
  }
}

/** The case in which a step is, of operands whose layouts are of some classes; null if nothing is known of it. */
function ownCase(step: MakingStep, args: Arguments, outs: Results): string | null {
  const caseOf = caseOfStep(step);
  if (caseOf === null) return '';
  return caseOf(args!, outs.includes(null) ? outs.filter(isMade) : (outs as readonly OutSpec[]));
}

function isMade(spec: OutSpec | null): spec is OutSpec {
  return spec !== null;
}

/** Whether a step inside a region does the same at all sizes, whatever it is given. */
function hasOneCase(step: Step): boolean {
  if (step.kind !== 'op') return true;
  const { isFollowed, caseOf, leaves } = step.rule;
  return isFollowed && caseOf === null && !leaves;
}
