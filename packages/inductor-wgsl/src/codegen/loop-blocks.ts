/**
 * @file Nests of `for` loops, and the same cut into blocks of a few steps with something to do after each.
 */
import { CodeBlock } from './code-block.js';
import type { ProgramBuilder } from './program.js';
import { settlingOf, type Settling } from './settling.js';
import type { PartialResult } from './workgroup-reducer.js';

/** A loop by `step` from `begin` to below `limit`, texts of u32. */
export interface Loop {
  readonly name: string;
  readonly begin: string;
  readonly limit: string;
  readonly step: number;
  /** Most iterations of it. */
  readonly trips: number;
}

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

/** Loops around `content`, outermost first; partial results that need it settle now and then. */
export function settledLoops(
  loops: readonly Loop[],
  content: CodeBlock,
  partials: readonly PartialResult[],
  builder: ProgramBuilder,
): CodeBlock {
  const steps = loops.reduce((n, { trips }) => n * trips, 1);
  const settling = settlingOf(partials, steps, builder);
  if (settling === null) return nestLoops(loops, content);
  const whole = new CodeBlock();
  whole.append(settling.start);
  whole.append(blockedLoops(loops, content, settling, builder.names.fresh('first')));
  whole.append(settling.finish);
  return whole;
}

/** Loops with `settle` after about `block` steps, wherever among them that falls. */
function blockedLoops(
  loops: readonly Loop[],
  content: CodeBlock,
  { block, settle }: Settling,
  first: string,
): CodeBlock {
  let depth = loops.length - 1;
  // Steps that one iteration of the loop at `depth` stands for.
  let below = 1;
  for (; depth > 0 && below * loops[depth]!.trips <= block; depth--) below *= loops[depth]!.trips;
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
