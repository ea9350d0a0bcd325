/**
 * @file `KnownResults`: what steps make at sizes that were not met before, without asking the operators' rules.
 *
 * Every call that asked them is a sample. Where an operator does the same at all sizes, and the samples determine what
 * it computes from sizes (`SizeSamples`), its results are what the samples say, for calls in the same case. Quotients are
 * polynomials of the sizes and of what the divisions leave, so remainders (`remaindersOf`) are sizes like others. Nothing
 * is known of steps that are given other integers.
 *
 * What is a polynomial behind a slice that lies inside is another one behind a slice that does not: samples of a step are
 * those in which the steps before it were in the same cases, of which `CasesBefore` keeps count.
 */
import { caseOfCall, hasCases, isUniform, layoutClass } from '@tessera/graph';
import { SampledNumbers } from '@tessera/shared';
import type { Frame } from '../frame/frame.js';
import { instantiate } from '../trace/pattern.js';
import type { MakingStep, OutSpec, Step } from '../trace/step.js';
import { isFollowed, isWhole, mayLeave } from './remainders.js';

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
    if (family === undefined) families.set(key, (family = new ResultFamily(before, found, outs)));
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
      if (outs !== null && caseOf(step, outs, frame) === family.of) return { outs, of: family.of };
    }
    return null;
  }
}

/** What a step made in calls of one case. */
class ResultFamily {
  private readonly numbers = new SampledNumbers();

  constructor(
    readonly before: number,
    readonly of: string,
    private readonly example: Results,
  ) {}

  add(sizes: readonly number[], outs: Results): void {
    this.numbers.add(sizes, numbersOf(outs));
  }

  /**
   * The results of a call; null if they are not known, or a size that varies is below 2, which is another case. A loop over
   * numbers: it seldom runs, so nothing inlines it.
   */
  at(sizes: readonly number[]): Results | null {
    const numbers = this.numbers.at(sizes);
    if (numbers === null) return null;
    const outs: (OutSpec | null)[] = [];
    let next = 0;
    for (const spec of this.example) {
      if (spec === null) {
        outs.push(null);
        continue;
      }
      const rank = spec.sizes.length;
      for (let i = 0; i < rank; i++)
        if (numbers[next + i]! < 2 && !this.numbers.isFixed(next + i)) return null;
      const found = numbers.slice(next, next + 2 * rank + 1);
      next += found.length;
      const offset = found.pop()!;
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
export function caseOf(step: MakingStep, outs: Results, frame: Frame): string | null {
  switch (step.kind) {
    case 'op':
      if (!isUniform(step.op) || !isFollowed(step)) return null;
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
      const given = [...inputs, ...jump.implicit];
      if (!given.every(isWhole)) return null;
      const read = given.flatMap((input) => ('slot' in input ? input.slot : []));
      return layoutsOf(read, frame);
    }
  }
}

function layoutsOf(slots: readonly number[], { slots: tensors }: Frame): string {
  return slots.map((slot) => layoutClass(tensors[slot]!)).join();
}

/** Whether a step inside a region does the same at all sizes, whatever it is given. */
function hasOneCase(step: Step): boolean {
  return (
    step.kind !== 'op' ||
    (isUniform(step.op) && !hasCases(step.op) && !mayLeave(step) && isFollowed(step))
  );
}
