/**
 * @file Second level of the running state of reductions that lose precision as they grow.
 *
 * A thread may take in millions of values. Its float32 state then absorbs less and less of each, so after
 * every block of a few steps it is moved to a state that holds whole blocks, and starts afresh. Block sums are
 * added with the rounding error of every addition carried along; moments and softmax sums are merged as those
 * of two threads are. @see Knuth, "The Art of Computer Programming" 2, 4.2.2 (the error of a sum)
 */
import { CodeBlock } from './code-block.js';
import type { ProgramBuilder } from './program.js';
import { reduceForm } from './reduce-ops.js';
import type { PartialResult } from './workgroup-reducer.js';
import { typeName } from './wgsl-types.js';

/** Steps of a block of a sum: the sum of so many equal values is off by less than a millionth. */
const SUM_BLOCK = 32;

/** The second level of one stage. */
export interface Settling {
  /** Steps of a block. */
  readonly block: number;
  /** Before the loops. */
  readonly start: CodeBlock;
  /** After each block. */
  readonly settle: CodeBlock;
  /** After the loops: everything is in the state that was declared first. */
  readonly finish: CodeBlock;
}

/** How the reductions of a stage settle whose threads take `steps` steps each; null where none needs to. */
export function settlingOf(
  partials: readonly PartialResult[],
  steps: number,
  builder: ProgramBuilder,
): Settling | null {
  if (steps <= 2 * SUM_BLOCK) return null;
  const drifting = partials.filter(({ types, site }) => types[0] === 'f32' && DRIFTS.has(site.op));
  if (drifting.length === 0) return null;
  const parts = { start: new CodeBlock(), settle: new CodeBlock(), finish: new CodeBlock() };
  for (const partial of drifting) {
    if (partial.site.op === 'sum') settleSum(partial, builder, parts);
    else settleMerged(partial, builder, parts);
  }
  const hasSum = drifting.some(({ site }) => site.op === 'sum');
  return { ...parts, block: hasSum ? SUM_BLOCK : Math.ceil(Math.sqrt(steps)) };
}

const DRIFTS: ReadonlySet<string> = new Set(['sum', 'welford', 'online_softmax']);

type Parts = Pick<Settling, 'start' | 'settle' | 'finish'>;

function settleSum({ site, state }: PartialResult, builder: ProgramBuilder, parts: Parts): void {
  const type = typeName('f32', site.width);
  const [sum] = state as [string];
  const [whole, error, next, part] = ['whole', 'error', 'next', 'part_'].map((name) =>
    builder.names.fresh(name),
  ) as [string, string, string, string];
  for (const name of [whole, error]) parts.start.line(`var ${name} = ${type}(0.0);`);
  parts.settle.line(`let ${next} = ${whole} + ${sum};`);
  parts.settle.line(`let ${part} = ${next} - ${whole};`);
  parts.settle.line(
    `${error} = ${error} + ((${whole} - (${next} - ${part})) + (${sum} - ${part}));`,
  );
  parts.settle.line(`${whole} = ${next};`);
  parts.settle.line(`${sum} = ${type}(0.0);`);
  // The error of an infinite sum is NaN.
  parts.finish.line(
    `${sum} = select(${whole} + ${error}, ${whole}, ${site.helper('is_nan')}(${error}));`,
  );
}

function settleMerged({ site, state }: PartialResult, builder: ProgramBuilder, parts: Parts): void {
  const form = reduceForm(site);
  const variables = form.variables(site);
  const settled = variables.map(({ name, type, initial }) => {
    const own = builder.names.fresh(`whole_${name}`);
    parts.start.line(`var ${own} = ${typeName(type, site.width)}(${initial});`);
    return own;
  });
  for (const line of form.merge(settled, state, site)) parts.settle.line(line);
  variables.forEach(({ type, initial }, i) =>
    parts.settle.line(`${state[i]!} = ${typeName(type, site.width)}(${initial});`),
  );
  settled.forEach((name, i) => parts.finish.line(`${state[i]!} = ${name};`));
}
