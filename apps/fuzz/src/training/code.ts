/**
 * @file Training programs as data: lines of JavaScript in blocks, which run as they stand, are printed as they stand, and are
 * taken away one by one.
 */
import { replaced, withoutRuns } from '../shorter-list.js';
import type { FuzzDevice } from '../devices.js';

/** A whole statement, or one with statements inside. */
export type Code = string | Block;

/** See `Code`. */
export interface Block {
  readonly head: string;
  readonly body: readonly Code[];
  readonly tail: string;
}

/** A training loop: what is made before it, and what happens in each of its turns. */
export interface TrainingProgram {
  readonly training: true;
  readonly seed: number;
  readonly device: FuzzDevice;
  readonly dynamic: boolean | null;
  readonly setup: readonly Code[];
  readonly calls: readonly (readonly Code[])[];
}

/** A block. */
export function block(head: string, body: readonly Code[], tail = '}'): Block {
  return { head, body, tail };
}

/** Lines of code, indented. */
export function linesOf(code: readonly Code[], indent = ''): string[] {
  return code.flatMap((part) =>
    typeof part === 'string'
      ? [indent + part]
      : [indent + part.head, ...linesOf(part.body, `${indent}  `), indent + part.tail],
  );
}

/** Options, and calls around a tensor or a function, that a line can do without. */
const DISPENSABLE: readonly (readonly [RegExp, string])[] = [
  [/, \{[^{}]*\}\)/g, ')'],
  [/\bwrap\(((?:async )?\()/g, '($1'],
  [/\.tanh\(\)|\.detach\(\)|\.mul\(0\.5\)/g, ''],
  [/, [\w.]+: [\w.[\]']+/g, ''],
];

/** Shorter versions of a line. */
function* shorterLines(line: string): Generator<string> {
  for (const [pattern, by] of DISPENSABLE)
    for (const { index, 0: found } of line.matchAll(pattern)) {
      const rest = line.slice(index);
      yield (
        line.slice(0, index) +
        found.replace(new RegExp(pattern.source), by) +
        rest.slice(found.length)
      );
    }
}

/** Shorter versions of code, big steps first. */
export function* shorterCode(code: readonly Code[]): Generator<readonly Code[]> {
  yield* withoutRuns(code);
  for (const [i, part] of code.entries()) {
    const put = (...by: readonly Code[]): readonly Code[] => replaced(code, i, by);
    if (typeof part === 'string') {
      for (const line of shorterLines(part)) yield put(line);
      continue;
    }
    yield put(...part.body);
    for (const head of shorterLines(part.head)) yield put({ ...part, head });
    for (const body of shorterCode(part.body)) yield put({ ...part, body });
  }
}

/** Training programs with less in them. */
export function* smallerTraining(program: TrainingProgram): Generator<TrainingProgram> {
  for (const skip of program.calls.keys())
    if (program.calls.length > 1)
      yield { ...program, calls: program.calls.filter((_, i) => i !== skip) };
  for (const [i, call] of program.calls.entries())
    for (const code of shorterCode(call))
      yield { ...program, calls: program.calls.map((old, j) => (j === i ? code : old)) };
  for (const setup of shorterCode(program.setup)) yield { ...program, setup };
  if (program.dynamic !== null) yield { ...program, dynamic: null };
}
