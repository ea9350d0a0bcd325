/**
 * @file Reductions as text; see `Reduction` for how it reads.
 */
import { shortDtype } from '@tessera/graph';
import type { Expr } from '../ir/expr.js';
import { ExprPrinter } from '../ir/print.js';
import type { Assignments, Reduction, Register } from './reduction.js';

function registers(list: readonly Register[]): string {
  return list
    .map(({ name, dtype, identity }) => `${name}: ${shortDtype(dtype)} = ${identity}`)
    .join(', ');
}

function section(
  title: string,
  values: readonly (readonly [name: string, value: Expr])[],
): string[] {
  const printer = new ExprPrinter('    ');
  const texts = printer.emit(values.map(([, value]) => value));
  values.forEach(([name], i) => printer.line(`${name} = ${texts[i]!}`));
  return [`  ${title}:`, ...printer.lines];
}

function named(list: readonly Register[], values: readonly Expr[]): Assignments {
  return list.map(({ name }, i) => [name, values[i]!] as const);
}

/** The text of a reduction. */
export function printReduction(reduction: Reduction): string {
  const { op, dtype, state, update, settling, part, handOver, merge, finish } = reduction;
  const lines = [`${op}(x: ${shortDtype(dtype)})`, `  state ${registers(state)}`];
  for (const { where, set } of update)
    lines.push(
      ...section(
        where === undefined ? 'update' : 'update where',
        where === undefined ? set : [['where', where], ...set],
      ),
    );
  if (settling !== undefined)
    lines.push(
      ...section(
        settling.every === undefined ? 'settle' : `settle after ${settling.every}`,
        settling.set,
      ),
    );
  if (part !== state)
    lines.push(`  part ${registers(part)}`, ...section('hand over', named(part, handOver)));
  lines.push(...section('merge', named(part, merge)));
  lines.push(
    ...section(
      'finish',
      finish.map((value, i) => [`result${i}`, value] as const),
    ),
  );
  return lines.join('\n');
}
