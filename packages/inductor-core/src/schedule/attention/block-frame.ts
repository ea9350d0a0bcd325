/**
 * @file The arrays of attention in blocks, the loops that go over them, and the products that fill them.
 */
import { type Size, TesseraError } from '@tessera/shared';
import { itemSize } from '@tessera/tensor';
import { IrBuilder } from '../../ir/build.js';
import type { Expr } from '../../ir/expr.js';
import type { IndexExpr, SizedLoop } from '../../ir/index-expr.js';
import type { AttentionKernel } from '../../ir/kernel.js';
import { kernelLoops } from '../../ir/kernel-parts.js';
import { extent, moves, rowMajor } from '../../ir/loop-vars.js';
import type { BlockProduct, BlockSide } from '../kernel/blocks.js';
import { over, times, variable, whole } from '../kernel/places.js';
import type { StoreStmt } from '../kernel/scratch-stores.js';
import type { ScheduledBody, ScheduledStmt, ScratchArray } from '../kernel/scheduled-kernel.js';
import {
  inRows,
  known,
  packedLength,
  plainOperand,
  roundUp,
  rowPitch,
} from '../products/block-layouts.js';
import { flatStride, stridesOf } from '../products/flat-stride.js';
import { LoopSpace } from '../vectors/loop-space.js';
import { allOf, define, LANES, loopOver, stepped, vectorsAlong } from '../vectors/vector-loops.js';
import type { VectorTarget } from '../vectors/vector-target.js';
import type { AttentionBlocks } from './attention-blocks.js';

/** Elements of a vector iteration. */
export const STEP = 8;

/** The array that packed columns of one product after another lie in. */
const COLUMNS = 'columns.';
/** The largest logit and Σ exp(logit − largest) of each row, so far. */
export const PEAKS = 'peaks.';
export const TOTALS = 'totals.';

/** See the file header. */
export class BlockFrame {
  readonly ir: IrBuilder = new IrBuilder();
  /** Columns of results. */
  readonly width: number;
  /** Elements from a row of scores, or of sums, to the next. */
  readonly scorePitch: number;
  readonly sumPitch: number;
  readonly products: BlockProduct[] = [];
  /** The last variable of j; blocks do not go from one step of the others to the next. */
  readonly along: SizedLoop;
  /** Where sums of columns begin for the column `first` of a turn. */
  readonly columnPlaces: readonly IndexExpr[];
  private readonly lengths = new Map<string, number>();
  private readonly lanes: number;

  constructor(
    readonly kernel: AttentionKernel<Size>,
    readonly blocks: AttentionBlocks,
    private readonly tile: VectorTarget['tile'],
  ) {
    const { j, n, scores, weights, values, columnSums, softmax, accDtype } = kernel;
    for (const { name, size } of kernelLoops(kernel)) this.ir.sym(name, size);
    this.lanes = 16 / itemSize(accDtype);
    this.width = extent(n) as number;
    this.along = j.at(-1)!;
    this.scorePitch = rowPitch(blocks.columns);
    this.sumPitch = rowPitch(this.width);
    const arrays = Math.max(scores.length, weights.length);
    for (let i = 0; i < arrays; i++) this.declare(`scores.${i}`);
    for (const name of this.sums) this.lengths.set(name, blocks.rows * this.sumPitch);
    for (const name of softmax ? [PEAKS, TOTALS] : []) this.lengths.set(name, blocks.rows);
    scores.forEach((_, p) => this.products.push(this.score(p)));
    values.forEach((_, q) => this.products.push(this.value(q)));
    this.columnPlaces = columnSums.map((_, c) => this.columnSum(c));
  }

  /** Arrays of sums, one for each of the values. */
  get sums(): readonly string[] {
    return this.kernel.values.map((_, q) => `sums.${q}`);
  }

  get arrays(): readonly ScratchArray[] {
    const { accDtype: dtype } = this.kernel;
    return [...this.lengths].map(([name, length]) => ({ name, dtype, length }));
  }

  /** Makes room for scores or weights. */
  declare(name: string): string {
    this.lengths.set(name, this.blocks.rows * this.scorePitch);
    return name;
  }

  /** The element of a row of a block, `column` elements behind its begin. */
  at(array: string, column: IndexExpr | null): Expr {
    return this.ir.load(this.kernel.accDtype, array, this.place(array, column));
  }

  set(array: string, column: IndexExpr | null, value: Expr): StoreStmt {
    return { kind: 'store', buf: array, index: this.place(array, column), value };
  }

  private place(array: string, column: IndexExpr | null): IndexExpr {
    const { ir } = this;
    const row = ir.sym('down', this.blocks.rows);
    if (column === null) return row;
    const pitch = array.startsWith('scores') ? this.scorePitch : this.sumPitch;
    return ir.add(ir.scale(row, pitch), column);
  }

  private score(p: number): BlockProduct {
    const { kernel, blocks } = this;
    const { batch, m, j, k: depth, params, accDtype, triangle } = kernel;
    const { a, b } = kernel.scores[p]!;
    const steps = extent(depth) as number;
    const space = new LoopSpace([...batch, ...m, ...j, ...depth]);
    const plain = plainOperand(a, [m, depth], params, accDtype, space);
    // What is adjacent along k can be read in place at nearly the speed of a packed block.
    const isInPlace = plain !== null && plain.stepStride === 1 && plain.lineStride >= 0;
    const [rows, columns] = [
      { array: `rows.${p}`, lines: blocks.rows, steps },
      { array: COLUMNS, lines: blocks.columns, steps, anywhere: true },
    ] as const;
    const loops = { batch, depth };
    return {
      name: `score${p}`,
      a: isInPlace
        ? { lines: m, value: a, layout: { kind: 'in place', from: plain } }
        : this.sized(inRows(loops, { side: 'a', expr: a, lines: m }, rows)),
      b: this.sized(inRows(loops, { side: 'b', expr: b, lines: j }, columns)),
      batch,
      steps: depth,
      tile: this.tile,
      // Those of a triangle begin and end anywhere.
      ends: [extent(m), triangle === 'none' ? known(this.along.size) : null],
      to: `scores.${p}`,
      row: this.scorePitch,
    };
  }

  private value(q: number): BlockProduct {
    const { kernel, blocks } = this;
    const { batch, m, j, n } = kernel;
    const made = { kind: 'made', array: `scores.${q}`, line: this.scorePitch, step: 1 } as const;
    return {
      name: `value${q}`,
      a: { lines: m, layout: made },
      b: this.values(kernel.values[q]!, j, { array: COLUMNS, steps: blocks.columns }),
      batch,
      steps: j,
      tile: this.tile,
      ends: [extent(m), extent(n)],
      to: this.sums[q]!,
      row: this.sumPitch,
    };
  }

  /** Sums over rows are added to where they are stored. @throws kernel-missing where that is no rows of vectors */
  private columnSum(c: number): IndexExpr {
    const { kernel, blocks, ir } = this;
    const { m, j, n, batch, columnSums, columnStores, triangle } = kernel;
    const { weight, value } = columnSums[c]!;
    const stmt = columnStores[c];
    const space = new LoopSpace([...batch, ...j, ...n, ...m]);
    const index =
      stmt?.kind === 'store' && stmt.value.kind === 'acc' ? stridesOf(space, stmt.index) : null;
    const row = index === null ? null : flatStride(index, [this.along]);
    if (
      stmt?.kind !== 'store' ||
      triangle === 'lower' ||
      index === null ||
      typeof row !== 'number' ||
      flatStride(index, n) !== 1 ||
      this.width % this.lanes !== 0
    )
      throw new TesseraError(
        'kernel-missing',
        `Attention '${kernel.name}' stores sums of columns in another way than vectors of rows, for which there are no blocks.`,
        { context: { kernel: kernel.name } },
      );
    const array = `scores.${weight}`;
    this.products.push({
      name: `column${c}`,
      a: { lines: j, layout: { kind: 'made', array, line: 1, step: this.scorePitch } },
      b: this.values(value, m, { array: `values.${c}`, steps: blocks.rows }),
      batch,
      steps: m,
      tile: this.tile,
      // Blocks begin at multiples of whole tiles.
      ends: [known(this.along.size), extent(n)],
      to: stmt.buf,
      row,
    });
    const first = ir.sym('first', this.along.size);
    const names = new Set(n.map(({ name }) => name));
    return ir.substituteIndex(stmt.index, (name) =>
      name === this.along.name ? first : names.has(name) ? ir.int(0) : undefined,
    );
  }

  /** Values that are multiplied with so many weights at once. */
  private values(
    expr: Expr,
    depth: readonly SizedLoop[],
    { array, steps }: { readonly array: string; readonly steps: number },
  ): BlockSide {
    const { batch, n, params, accDtype } = this.kernel;
    const space = new LoopSpace([...batch, ...n, ...depth]);
    const packed = { array, lines: this.width, steps };
    const from = plainOperand(expr, [n, depth], params, accDtype, space);
    if (from === null)
      return this.sized(inRows({ batch, depth }, { side: 'b', expr, lines: n }, packed));
    return this.sized({ lines: n, value: expr, layout: { kind: 'panels', ...packed, from } });
  }

  /** Makes room for a side that is packed. */
  private sized(side: BlockSide): BlockSide {
    const { layout } = side;
    if (layout.kind !== 'rows' && layout.kind !== 'panels') return side;
    const needed = packedLength(side, this.tile.vectors * this.lanes, this.kernel.accDtype);
    this.lengths.set(layout.array, Math.max(this.lengths.get(layout.array) ?? 0, needed));
    return side;
  }

  /** The variables of n that are not along vectors, at a point of loops over them. */
  eachResult(body: (place: IndexExpr) => ScheduledBody): ScheduledBody {
    const { n } = this.kernel;
    const lane = n.findLast(moves) ?? n.at(-1)!;
    const along = alongRow(lane as SizedLoop<number>, body(rowMajor(this.ir, n)));
    return n
      .filter((loop) => loop !== lane)
      .reduceRight<ScheduledBody>(
        (inside, { name, size }) => [loopOf(name, whole(size), inside)],
        along,
      );
  }

  /** Whole vectors over a row of sums, padding included. */
  eachSum(store: (array: string, column: IndexExpr) => StoreStmt): ScheduledBody {
    const length = roundUp(this.width, STEP);
    const element = this.ir.sym('element', length);
    const body = this.sums.map((array) => store(array, element));
    return alongRow({ name: 'element', size: length }, body);
  }
}

/** A loop from 0 on. */
export function loopOf(name: string, end: IndexExpr, body: ScheduledBody): ScheduledStmt {
  return loopOver(name, { begin: whole(0), end }, 1, body);
}

/** A body at all elements of a row of known length. */
function alongRow(loop: SizedLoop<number>, body: ScheduledBody): ScheduledBody {
  return stepped(loop, allOf(loop), STEP, (valid) => vectorsAlong(loop.name, valid, body));
}

/** A body at the columns of a block, `along` from its begin. */
export function alongColumns(body: ScheduledBody): ScheduledBody {
  const cols = variable('cols');
  const [eights, fours] = ['along.8', 'along.4'].map(variable);
  const part = (begin: IndexExpr, end: IndexExpr, pace: number): ScheduledStmt =>
    loopOver('along', { begin, end }, pace, vectorsAlong('along', pace, body));
  return [
    define('along.8', times(over(cols, STEP), STEP)),
    define('along.4', times(over(cols, LANES), LANES)),
    part(whole(0), eights, STEP),
    part(eights, fours, LANES),
    part(fours, cols, 1),
  ];
}
