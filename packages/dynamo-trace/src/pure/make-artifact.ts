/**
 * @file Turning the capture of a `pure` function into an artifact that stands for its calls.
 */
import { TesseraError } from '@tessera/shared';
import type { Recorder } from '../cursor/recorder.js';
import type { EntryGuards, Root } from '../guards/entry-guards.js';
import type { Segment } from '../trace/segment.js';
import { withEffectTraps } from './effect-traps.js';
import { PureArtifact } from './pure-artifact.js';
import { PureCursor } from './pure-cursor.js';
import { PureSizes, type PureSource } from './pure-sizes.js';

/** The function's one graph. @throws pure-side-effect for a function that breaks it */
export function onlySegment(
  recorder: Recorder,
  segments: readonly Segment[],
  name: string,
): Segment {
  if (segments.length === 1 && recorder.breaks.length === 0) return segments[0]!;
  throw new TesseraError(
    'pure-side-effect',
    `${name} is compiled with pure: true but breaks the graph: ${recorder.breaks.map((b) => `${b.reason} (${b.location ?? 'unknown line'})`).join('; ')}.`,
    {
      hints: ['Remove the read of a value from the function, or compile it without pure.'],
    },
  );
}

/** The artifact; for all sizes that fit if the function did not look at any. @throws pure-side-effect */
export function makeArtifact(
  cursor: PureCursor,
  segment: Segment,
  guards: EntryGuards,
  result: unknown,
  roots: readonly Root[],
  source: PureSource,
): PureArtifact {
  const sizes = !cursor.readsSizes
    ? PureSizes.of(source, segment, cursor.recorder!.guards, cursor.start)
    : null;
  return PureArtifact.make(cursor, segment, guards, result, roots, sizes);
}

/** Runs a `pure` function for its capture: effects are errors, looks at sizes are noticed. */
export function runPure<R>(mode: object, name: string, body: () => R): R {
  const trapped = (): R => withEffectTraps(name, body);
  return mode instanceof PureCursor ? mode.watching(trapped) : trapped();
}
