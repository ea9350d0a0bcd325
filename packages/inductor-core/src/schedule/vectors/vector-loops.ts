/**
 * @file Forms of loops that schedules for vectors are made of: whole iterations with a tail, segments, nests.
 */
import { type Size, sizeFloorDiv, sizeMul, sizeProduct } from '@tessera/shared';
import type { IndexExpr, SizedLoop } from '../../ir/index-expr.js';
import { minus, modulo, over, plus, times, variable, whole } from '../kernel/places.js';
import type { LoopStmt, ScheduledBody, ScheduledStmt } from '../kernel/scheduled-kernel.js';

/** Lanes of a vector. */
export const LANES = 4;

/** Values of a variable: from `begin`, a multiple of what loops step by, to below `end`, which is so too unless it is the size. */
export interface Range {
  readonly begin: IndexExpr;
  readonly end: IndexExpr;
}

/** What happens for so many valid steps of a loop. */
export type Steps = (valid: number) => ScheduledBody;

/** A variable of the schedule. */
export function define(name: string, index: IndexExpr, atMost?: Size | IndexExpr): ScheduledStmt {
  return { kind: 'let', name, index, ...(atMost !== undefined && { atMost }) };
}

/** A body for the first `valid` elements from a variable on, in vectors of it. */
export function vectorsAlong(lane: string, valid: number, body: ScheduledBody): ScheduledBody {
  const groups = Math.ceil(valid / LANES);
  return [
    { kind: 'vector', lanes: { lane, across: lane, width: LANES, step: 1, groups, valid }, body },
  ];
}

/** The variables of more than one value that a position stands for, the last of them fastest. */
export function digitsOf(vars: readonly SizedLoop[], flat: IndexExpr): ScheduledBody {
  const made: ScheduledStmt[] = [];
  for (const [i, { name, size }] of vars.entries()) {
    if (size === 1) continue;
    const quotient = over(flat, sizeProduct(vars.slice(i + 1).map((each) => each.size)));
    made.push(define(name, made.length === 0 ? quotient : modulo(quotient, size)));
  }
  return made;
}

/** A loop over a range. */
export function loopOver(
  name: string,
  { begin, end }: Range,
  pace: number,
  body: ScheduledBody,
  ...ends: readonly IndexExpr[]
): LoopStmt {
  return { kind: 'loop', name, begin, ends: [end, ...ends], pace, body };
}

/** All of a variable. */
export function allOf({ size }: SizedLoop): Range {
  return { begin: whole(0), end: whole(size) };
}

/** A run of a variable from a place on: `length` long, or up to the variable's end. */
export function runOf(
  { name, size }: SizedLoop,
  begin: IndexExpr,
  length: number,
): { readonly lets: ScheduledBody; readonly range: Range } {
  const end = `${name}.end`;
  const isExact = typeof size === 'number' && size % length === 0;
  const lets = [define(end, plus(begin, whole(length)), isExact ? undefined : size)];
  return { lets, range: { begin, end: variable(end) } };
}

/** A loop by `step` over a range, and what is left of the variable's size after whole steps. */
export function stepped(loop: SizedLoop, range: Range, step: number, steps: Steps): ScheduledBody {
  const { name, size } = loop;
  return typeof size === 'number'
    ? steppedTo(name, size, range, step, steps)
    : steppedToAny(name, size, range, step, steps);
}

/** Of a size that is known: the tail is one iteration, of just what is left. */
function steppedTo(
  name: string,
  size: number,
  { begin, end }: Range,
  step: number,
  steps: Steps,
): ScheduledBody {
  const rest = size % step;
  const most = size - rest;
  const isAll = end.kind === 'int';
  const made: ScheduledStmt[] = [];
  if (most > 0) {
    const stop = `stop@${name}`;
    const isCut = !isAll && rest !== 0;
    if (isCut) made.push(define(stop, end, most));
    const limit = isAll ? whole(most) : isCut ? variable(stop) : end;
    made.push(loopOver(name, { begin, end: limit }, step, steps(step)));
  }
  if (rest === 0) return made;
  const tail: Range = { begin: whole(most), end: isAll ? whole(size) : end };
  const bounds = isAll ? [] : [whole(size)];
  return [...made, loopOver(name, tail, step, steps(rest), ...bounds)];
}

/** Of a symbolic size: whole iterations, then single vectors, then single elements. */
function steppedToAny(
  name: string,
  size: Size,
  { begin, end }: Range,
  step: number,
  steps: Steps,
): ScheduledBody {
  const [stop, middle] = [`stop@${name}`, `middle@${name}`];
  const made: ScheduledStmt[] = [
    define(stop, end, sizeMul(sizeFloorDiv(size, step), step)),
    loopOver(name, { begin, end: variable(stop) }, step, steps(step)),
  ];
  let from = variable(stop);
  if (step > LANES) {
    const vectors = times(over(minus(end, from), LANES), LANES);
    made.push(
      define(middle, plus(from, vectors)),
      loopOver(name, { begin: from, end: variable(middle) }, LANES, steps(LANES)),
    );
    from = variable(middle);
  }
  return [...made, loopOver(name, { begin: from, end }, 1, steps(1))];
}

/** How often the partial results of a sweep settle: after so many iterations, each of `step` elements of the innermost variable. */
export interface SettlePace {
  readonly step: number;
  readonly iterations: number;
  readonly settle: ScheduledBody;
}

/** The largest value of a size; infinite where nothing bounds it. */
function largest(size: Size): number {
  return typeof size === 'number' ? size : size.env.rangeOf(size).hi;
}

/**
 * Loops over variables, outermost first; `innermost` makes that of the last one. With a pace, partial results settle
 * after at most about so many iterations of it, wherever among the loops that falls; whatever size a loop was seen
 * with first.
 */
export function sweep(
  loops: readonly SizedLoop[],
  pace: SettlePace | null,
  innermost: (range: Range) => ScheduledBody,
): ScheduledBody {
  const last = loops.length - 1;
  const { depth, length } = pace === null ? { depth: -1, length: 0 } : segmentsOf(loops, pace);
  const visit = (level: number): ScheduledBody => {
    const loop = loops[level]!;
    const run = (range: Range): ScheduledBody =>
      level === last ? innermost(range) : [loopOver(loop.name, range, 1, visit(level + 1))];
    return level === depth ? segments(loop, length, run, pace!.settle) : run(allOf(loop));
  };
  return visit(0);
}

/** The loop that is cut into segments, and how long they are. */
function segmentsOf(
  loops: readonly SizedLoop[],
  { step, iterations }: SettlePace,
): { readonly depth: number; readonly length: number } {
  const last = loops.length - 1;
  let depth = last;
  // Iterations that one iteration of the loop at `depth` stands for.
  let below = 1;
  const trips = (): number => Math.ceil(largest(loops[depth]!.size) / (depth === last ? step : 1));
  for (; depth > 0 && below * trips() <= iterations; depth--) below *= trips();
  const length = Math.max(1, Math.floor(iterations / below)) * (depth === last ? step : 1);
  return { depth, length };
}

/** Runs a loop over a variable in segments of some length, with `between` after each. */
export function segments(
  loop: SizedLoop,
  length: number,
  run: (range: Range) => ScheduledBody,
  between: ScheduledBody = [],
): ScheduledBody {
  const { name, size } = loop;
  if (typeof size === 'number' && size <= length) return [...run(allOf(loop)), ...between];
  const counter = `${name}.segment`;
  const { lets, range } = runOf(loop, variable(counter), length);
  return [loopOver(counter, allOf(loop), length, [...lets, ...run(range), ...between])];
}
