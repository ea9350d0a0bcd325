/**
 * @file The rows of a product by narrow weights: the arrays that have their values, as they are and as sums take them, and
 * the statements that make them, once for all columns.
 */
import type { Expr } from '../../../ir/expr.js';
import type { BlockLayout, BlockStmt } from '../../kernel/blocks.js';
import { type RowForm, rowFormArray } from '../../kernel/narrow-weight.js';
import { flatPlace, variable, whole } from '../../kernel/places.js';
import type { Routine } from '../../kernel/registers.js';
import type { ScheduledBody, ScheduledStmt, ScratchArray } from '../../kernel/scheduled-kernel.js';
import { loopOver, vectorsAlong } from '../../vectors/vector-loops.js';
import type { GemvLoops } from './find-weight.js';
import type { RowMethod } from './row-methods.js';

type Made = Extract<BlockLayout, { kind: 'made' }>;

/** The same expression, times a number. */
export function timesNumber(expr: Expr, factor: number): Expr {
  const { dtype } = expr;
  if (factor === 1) return expr;
  return { kind: 'op', op: 'mul', dtype, args: [expr, { kind: 'const', dtype, value: factor }] };
}

/** See the file header. Rows that several sums share are made once. */
export class KeptRows {
  readonly arrays: ScratchArray[] = [];
  private readonly values: { readonly x: Expr; readonly factor: number; readonly array: string }[] =
    [];
  private readonly arranged: Extract<BlockStmt, { kind: 'arrange' }>[] = [];

  constructor(
    private readonly loops: GemvLoops,
    /** Variables of one value. */
    private readonly fixed: ScheduledBody,
  ) {}

  /** How the row of a sum lies. */
  layout(x: Expr, { form, factor }: RowMethod): Made {
    const values = this.row(x, factor);
    const made = { kind: 'made', line: 0, step: 1 } as const;
    if (form === undefined) return { ...made, array: values };
    return { ...made, array: this.arrange(values, form), arranged: { as: form, values } };
  }

  /** The routine that makes the values of a row. */
  routine(): Routine {
    const { row, digits, depth } = this.loops;
    const last = digits.at(-1)!;
    const step = last.size % 8 === 0 ? 8 : 4;
    const index = flatPlace(digits);
    const stores = this.values.map(({ x, factor, array: buf }): ScheduledStmt => ({
      kind: 'store',
      buf,
      index,
      value: timesNumber(x, factor),
    }));
    return {
      name: 'row',
      parameters: row === null ? [] : [row.name],
      results: [],
      body: [
        ...this.fixed,
        ...digits.reduceRight<ScheduledBody>(
          (body, { name, size }) => [
            loopOver(
              name,
              { begin: whole(0), end: whole(size) },
              name === last.name ? step : 1,
              body,
            ),
          ],
          vectorsAlong(last.name, Math.min(step, depth), stores),
        ),
      ],
    };
  }

  /** Makes all of the row that the variable says. */
  make(): ScheduledStmt {
    const { row } = this.loops;
    const number = row === null ? whole(0) : variable(row.name);
    const visit: ScheduledStmt = {
      kind: 'visit',
      routine: 'row',
      at: row === null ? [] : [number],
      of: [],
    };
    return { kind: 'once', of: number, body: [visit, ...this.arranged] };
  }

  private row(x: Expr, factor: number): string {
    const known = this.values.find((row) => row.x === x && row.factor === factor);
    if (known !== undefined) return known.array;
    const array = `row${this.values.length}`;
    this.values.push({ x, factor, array });
    this.arrays.push({ name: array, dtype: 'float32', length: this.loops.depth, lasts: true });
    return array;
  }

  private arrange(from: string, as: RowForm): string {
    const key = JSON.stringify(as);
    const known = this.arranged.find(
      (each) => each.from === from && JSON.stringify(each.as) === key,
    );
    if (known !== undefined) return known.array;
    const { depth: length } = this.loops;
    const array = `arranged${this.arranged.length}`;
    this.arranged.push({ kind: 'arrange', array, from, length, as });
    this.arrays.push({ name: array, ...rowFormArray(as, length), lasts: true });
    return array;
  }
}
