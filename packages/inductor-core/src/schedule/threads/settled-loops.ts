/**
 * @file Nests of serial loops, and the same cut into blocks of a few steps after which accumulators settle.
 */
import { type Size, sizeProduct } from '@tessera/shared';
import type { IndexExpr } from '../../ir/index-expr.js';
import { plus, variable, whole } from '../kernel/places.js';
import type {
  Accumulator,
  Condition,
  ScheduledBody,
  ScheduledStmt,
} from '../kernel/scheduled-kernel.js';

/** A loop whose body is not yet known. */
export interface LoopHead {
  readonly name: string;
  readonly begin: IndexExpr;
  readonly ends: readonly IndexExpr[];
  readonly pace: number;
  readonly only?: Condition;
  /** Most iterations of it. */
  readonly trips: Size;
}

/** Steps of nested loops; what may be any number counts as many. */
export function stepsOf(loops: readonly LoopHead[]): number {
  const steps = sizeProduct(loops.map(({ trips }) => trips));
  return typeof steps === 'number' ? steps : MANY;
}

const MANY = 4096;

/** Loops around a body, outermost first. */
export function nestLoops(loops: readonly LoopHead[], body: ScheduledBody): ScheduledBody {
  return loops.reduceRight((inner: ScheduledBody, { name, begin, ends, pace, only }) => {
    const head = { name, begin, ends, pace, ...(only !== undefined && { only }) };
    return [{ kind: 'loop', ...head, body: inner }];
  }, body);
}

/**
 * Loops around a body, outermost first; accumulators that need it settle after blocks of a few steps. Where that costs
 * as much as a step for each value would, blocks and their number are about as long. `block` names the loop over blocks.
 */
export function settledLoops(
  loops: readonly LoopHead[],
  body: ScheduledBody,
  accumulators: readonly Accumulator[],
  block: string,
): ScheduledBody {
  const settling = accumulators.filter(({ reduction }) => reduction.settling !== undefined);
  if (settling.length === 0) return nestLoops(loops, body);
  const every = settling.flatMap(({ reduction }) => reduction.settling!.every ?? []);
  const steps = every.length > 0 ? Math.min(...every) : Math.ceil(Math.sqrt(stepsOf(loops)));
  const of = settling.map(({ name }) => name);
  return blockedLoops(loops, body, steps, { kind: 'settle', of }, block);
}

/** Loops with `settle` after about so many steps, wherever among them that falls. */
function blockedLoops(
  loops: readonly LoopHead[],
  body: ScheduledBody,
  steps: number,
  settle: ScheduledStmt,
  first: string,
): ScheduledBody {
  let depth = loops.length - 1;
  // Steps that one iteration of the loop at `depth` stands for.
  let below = 1;
  for (; depth > 0 && below * stepsOf([loops[depth]!]) <= steps; depth--)
    below *= stepsOf([loops[depth]!]);
  const cut = loops[depth]!;
  const length = Math.max(1, Math.floor(steps / below)) * cut.pace;
  const begin = variable(first);
  const inner: LoopHead = { ...cut, begin, ends: [plus(begin, whole(length)), ...cut.ends] };
  const run = [...nestLoops([inner, ...loops.slice(depth + 1)], body), settle];
  return nestLoops([...loops.slice(0, depth), { ...cut, name: first, pace: length }], run);
}
