/**
 * @file `BlockMemory`: blocks of products of one instance of `interpretScheduled`.
 */
import type { Size } from '@tessera/shared';
import type { Expr } from '../../ir/expr.js';
import type { IndexExpr, SizedLoop } from '../../ir/index-expr.js';
import type { Frame } from '../../ir/interpret-program.js';
import { toComputeType } from '../../ir/scalar-eval.js';
import type { BlockRange, BlockSide, BlockStmt } from './blocks.js';
import type { ScheduledKernel } from './scheduled-kernel.js';

/** What of a thread is needed to run statements on blocks. */
export interface BlockThread {
  index(index: IndexExpr): number;
  set(variable: string, value: number): void;
  value(value: Expr): number;
}

/** A variable and its value. */
type Place = readonly [string, number];

/** See the file header. */
export class BlockMemory {
  /** By product and side: values by line and step. */
  private readonly ready = new Map<string, readonly (readonly number[])[]>();

  constructor(
    private readonly scheduled: ScheduledKernel,
    private readonly frame: Frame,
  ) {}

  run(stmt: BlockStmt, thread: BlockThread): void {
    if (stmt.kind === 'pack') this.pack(stmt, thread);
    else if (stmt.kind === 'product') this.multiply(stmt, thread);
    else this.arrange(stmt);
  }

  /** Values as they are: how they lie is no matter here. */
  private arrange({ array, from, length }: Extract<BlockStmt, { kind: 'arrange' }>): void {
    const [to, values] = [array, from].map((name) => this.frame.buffer(name) as number[]);
    for (let i = 0; i < length; i++) to![i] = values![i]!;
  }

  private pack(stmt: Extract<BlockStmt, { kind: 'pack' }>, thread: BlockThread): void {
    const product = this.product(stmt.product);
    const side = product[stmt.side];
    const range = (of: BlockRange): [number, number] => [thread.index(of[0]), thread.index(of[1])];
    const [step, steps] = range(stmt.steps);
    const entry = this.places(product.batch, thread.index(stmt.batch));
    const lines = this.lines(side, stmt.lines.map(range));
    const of = (line: readonly Place[], j: number): number => {
      for (const [name, at] of [...entry, ...line, ...this.places(product.steps, step + j)])
        thread.set(name, at);
      return this.round(thread.value(side.value!));
    };
    this.ready.set(
      `${stmt.product}.${stmt.side}`,
      lines.map((line) =>
        Array.from({ length: steps }, (_, j) => (line === null ? NaN : of(line, j))),
      ),
    );
  }

  /** The variables that lines stand for; null where a line is between the rows of an image. */
  private lines(
    { lines, layout }: BlockSide,
    [first, second]: readonly (readonly [number, number])[],
  ): (readonly Place[] | null)[] {
    if (layout.kind !== 'image')
      return Array.from({ length: first![1] }, (_, i) => this.places(lines, first![0] + i));
    const { pitch, y, x, units } = layout;
    const [[top, height], [left, width]] = [first!, second!];
    return Array.from({ length: (height - 1) * pitch + width }, (_, i) => {
      const column = i % pitch;
      if (column >= width) return null;
      const at: readonly (readonly [string | null, number])[] = [
        ...units.map((unit): Place => [unit, 0]),
        [y.pixel, top + Math.floor(i / pitch)],
        [x.pixel, left + column],
      ];
      return at.filter((place): place is Place => place[0] !== null);
    });
  }

  private multiply(stmt: Extract<BlockStmt, { kind: 'product' }>, thread: BlockThread): void {
    const product = this.product(stmt.product);
    const [rows, columns, steps, at, onto] = [
      stmt.rows,
      stmt.columns,
      stmt.steps,
      stmt.at,
      stmt.onto,
    ].map((index) => thread.index(index));
    const [a, b] = (['a', 'b'] as const).map((name) => {
      const { layout } = product[name];
      if (layout.kind !== 'made') {
        const block = this.ready.get(`${stmt.product}.${name}`)!;
        return (line: number, step: number) => block[line]![step]!;
      }
      const array = this.frame.buffer(layout.array);
      return (line: number, step: number) => Number(array[line * layout.line + step * layout.step]);
    });
    const to = this.frame.buffer(product.to) as number[];
    for (let row = 0; row < rows; row++)
      for (let column = 0; column < columns; column++) {
        const place = at + row * product.row + column;
        let sum = onto === 0 ? 0 : to[place]!;
        for (let step = 0; step < steps; step++) sum += a!(row, step) * b!(column, step);
        to[place] = this.round(sum);
      }
  }

  private product(name: string): NonNullable<ScheduledKernel['products']>[number] {
    return this.scheduled.products!.find((each) => each.name === name)!;
  }

  private round(value: number): number {
    const { kernel } = this.scheduled;
    return 'accDtype' in kernel ? toComputeType(value, kernel.accDtype) : value;
  }

  /** The variables that a position stands for. */
  private places(vars: readonly SizedLoop[], flat: number): Place[] {
    const number = (size: Size): number =>
      typeof size === 'number' ? size : this.frame.size(size);
    let rest = flat;
    return vars.toReversed().map(({ name, size }) => {
      const place = rest % number(size);
      rest = Math.floor(rest / number(size));
      return [name, place];
    });
  }
}
