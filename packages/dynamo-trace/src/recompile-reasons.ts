/**
 * @file Why a call fits no recorded trace.
 */
import { type SourceStep, follow } from '@tessera/graph';
import type { CaptureRecord } from './compiled-function.js';
import type { Difference } from './events/event.js';
import type { CallValues } from './guards/call-roots.js';
import type { Failure } from './guards/entry-guards.js';
import type { GlobalState } from './guards/global-state.js';

/**
 * A guard in PyTorch's words, or the event at which the call differed. Guards say what else is not as it was too, so
 * the one counts that is about the value which did not fit; then what the event itself says for sure; then the guards
 * of the trace that comes closest.
 */
export function whyNoTraceFits(
  captures: readonly CaptureRecord[],
  { values, argumentCount }: CallValues,
  entry: GlobalState,
  { text, about = [], was, isExact = false }: Difference,
): string {
  let closest: readonly Failure[] | null = null;
  for (const { guards } of captures.toReversed()) {
    const failures = [...guards.failures(values, entry, argumentCount)];
    const roots = guards.aligned(values, argumentCount);
    const told = failures.find(
      (failure) =>
        failure.place !== undefined &&
        (was === undefined || Object.is(failure.was, was)) &&
        valuesOnTheWay(roots![failure.place.root], failure.place.source.steps).some((value) =>
          about.includes(value),
        ),
    );
    if (told !== undefined) return told.text;
    const first = failures.filter((failure, i) => !failures.slice(0, i).some(holding(failure)));
    if (closest === null || distance(first) < distance(closest)) closest = first;
  }
  if (isExact || closest === null || closest.length === 0) return text;
  if (closest.length === 1) return closest[0]!.text;
  const others = closest.slice(0, LISTED).map((failure) => failure.text);
  return `${text} (${others.join(', ')}${closest.length > LISTED ? ', …' : ''})`;
}

/** Guards that a reason lists where it may be any of them. */
const LISTED = 3;

/** A value and what it is found in, from a root. */
function valuesOnTheWay(root: unknown, steps: readonly SourceStep[]): unknown[] {
  return [root, ...steps.map((_, i) => follow(root, steps.slice(0, i + 1)))];
}

/** Whether a guard is about what holds the value that another one is about. */
function holding({ place: inner }: Failure): (outer: Failure) => boolean {
  return ({ place }) =>
    place !== undefined &&
    place.root === inner?.root &&
    place.source.steps.every((step, i) => step === inner.source.steps[i]);
}

/** How far a call is from a recorded one. */
function distance(failures: readonly Failure[]): number {
  return failures[0]?.isOther === true ? Infinity : failures.length;
}
