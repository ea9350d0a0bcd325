/**
 * @file Nests of `for` loops, and the same cut into blocks of a few steps with something to do after each.
 */
import { type Size, sizeProduct } from '@tessera/shared';
import { CodeBlock } from './code-block.js';
import type { NameScope } from './names.js';
import type { PartialResult } from './partial-result.js';

/** A loop by `step` from `begin` to below `limit`, texts of u32. */
export interface Loop {
  readonly name: string;
  readonly begin: string;
  readonly limit: string;
  readonly step: number;
  /** Most iterations of it. */
  readonly trips: Size;
}

/** Steps of nested loops; what may be any number counts as many. */
export function stepsOf(loops: readonly Loop[]): number {
  const steps = sizeProduct(loops.map(({ trips }) => trips));
  return typeof steps === 'number' ? steps : MANY;
}

const MANY = 4096;

function head({ name, begin, limit, step }: Loop): string {
  return `for (var ${name} = ${begin}; ${name} < ${limit}; ${name} += ${step}u)`;
}

/** Loops around `content`, outermost first. */
function nestLoops(loops: readonly Loop[], content: CodeBlock): CodeBlock {
  let inner = content;
  for (const loop of [...loops].reverse()) {
    const outside = new CodeBlock();
    outside.nest(head(loop), inner);
    inner = outside;
  }
  return inner;
}

/**
 * Loops around `content`, outermost first; partial results that need it settle after blocks of a few steps. Where that
 * costs as much as a step for each value would, blocks and their number are about as long.
 */
export function settledLoops(
  loops: readonly Loop[],
  content: CodeBlock,
  partials: readonly PartialResult[],
  names: NameScope,
): CodeBlock {
  const settling = partials.flatMap(({ reduction }) => reduction.settling ?? []);
  if (settling.length === 0) return nestLoops(loops, content);
  const every = settling.flatMap((each) => each.every ?? []);
  const block = every.length > 0 ? Math.min(...every) : Math.ceil(Math.sqrt(stepsOf(loops)));
  const settle = new CodeBlock();
  for (const partial of partials) partial.settle(settle);
  return blockedLoops(loops, content, block, settle, names.fresh('first'));
}

/** Loops with `settle` after about `block` steps, wherever among them that falls. */
function blockedLoops(
  loops: readonly Loop[],
  content: CodeBlock,
  block: number,
  settle: CodeBlock,
  first: string,
): CodeBlock {
  let depth = loops.length - 1;
  // Steps that one iteration of the loop at `depth` stands for.
  let below = 1;
  for (; depth > 0 && below * stepsOf([loops[depth]!]) <= block; depth--)
    below *= stepsOf([loops[depth]!]);
  const cut = loops[depth]!;
  const length = Math.max(1, Math.floor(block / below)) * cut.step;
  const inner: Loop = {
    ...cut,
    begin: first,
    limit: `min(${first} + ${length}u, ${cut.limit})`,
  };
  const run = new CodeBlock();
  run.append(nestLoops([inner, ...loops.slice(depth + 1)], content));
  run.append(settle);
  return nestLoops([...loops.slice(0, depth), { ...cut, name: first, step: length }], run);
}
