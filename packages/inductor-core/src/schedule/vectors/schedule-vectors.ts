/**
 * @file `scheduleVectors`: loop kernels (pointwise kernels, row and column reductions, scans, transposes) for a machine
 * with short vectors and several cores.
 *
 * The outer loops are cut into items (`core-items.ts`); for each item the kernel's passes run in order (`passes.ts`). In
 * row mode the lanes lie along an inner variable and a pass sweeps over the row; in outer mode they lie along an outer
 * variable and all passes run inside the loop over it. Vector loops have a main part of whole iterations and a tail with
 * the exact number of valid elements, where the size is known (`vector-loops.ts`).
 */
import { type Size, isMultiple, sizeHint, sizeMul, sizeProduct } from '@tessera/shared';
import type { IndexExpr, SizedLoop } from '../../ir/index-expr.js';
import type { LoopKernel } from '../../ir/kernel.js';
import { coefficientOf } from '../../ir/linear-form.js';
import { times, variable, whole } from '../kernel/places.js';
import type {
  Accumulator,
  Lanes,
  ScheduledBody,
  ScheduledKernel,
  ScheduledStmt,
} from '../kernel/scheduled-kernel.js';
import { mustSettle, SETTLE_EVERY } from '../reduction.js';
import { decayingExponentials, inTwoPasses, type ReduceStmt } from '../two-passes.js';
import { CoreItems, type InnerLoops, ITEM } from './core-items.js';
import { KeptRows } from './kept-rows.js';
import { chooseLanes, type LaneChoice } from './lane-choice.js';
import { passesOf, type Pass } from './passes.js';
import { isPlaced, type PreparedSpace, prepareSpace, takesSteps } from './prepare-space.js';
import { blockColumns, reducesColumns, RowBlocks } from './row-blocks.js';
import { VectorAccumulators } from './vector-accumulators.js';
import { define, LANES, loopOver, segments, stepped, type Steps, sweep } from './vector-loops.js';
import type { VectorTarget } from './vector-target.js';

/** Rows up to this many elements take two passes for Welford and online softmax. */
const TWO_PASS_ELEMENTS = 1 << 15;
/** Elements of a row whose length is not known. */
const LONG = 2 ** 31;

class VectorScheduler {
  private readonly prepared: PreparedSpace;
  private readonly choice: LaneChoice;
  private readonly isRow: boolean;
  /** The kernel with reductions in two passes. */
  private readonly split: LoopKernel<Size>;
  private readonly passes: readonly Pass[];
  private readonly rows: KeptRows | null;
  private readonly accumulators: VectorAccumulators;
  private readonly inner: readonly SizedLoop[];
  /** The place of an element in the inner loops. */
  private readonly at: IndexExpr;
  /** Whether lanes take in so many values that sums have to settle. */
  private readonly settles: boolean;
  private readonly blocks: RowBlocks | null;

  constructor(
    private readonly kernel: LoopKernel<Size>,
    private readonly target: VectorTarget,
  ) {
    this.prepared = prepareSpace(kernel);
    this.choice = chooseLanes(kernel, this.prepared);
    const { mode, lane, groups } = this.choice;
    this.isRow = mode === 'row';
    const points = sizeProduct(kernel.inner.map(({ size }) => size));
    const isShort = this.isRow && sizeHint(points) <= TWO_PASS_ELEMENTS;
    this.split = inTwoPasses(kernel, (stmt) => isShort || this.hasSlowRescaling(stmt));
    this.passes = passesOf(this.split);
    const { space } = this.prepared;
    this.inner = this.prepared.inner.map((name) => ({ name, size: space.size(name) }));
    this.at = placeIn(this.inner);
    const { scratchBytes: bytes } = target;
    this.rows = this.isRow
      ? new KeptRows(this.passes, this.inner, { lane, space, bytes }, this.at)
      : null;
    const step = this.isRow ? LANES * groups : 1;
    // What may be long is treated as such.
    this.settles = mustSettle((typeof points === 'number' ? points : LONG) / step);
    const isRagged = this.inner.length > 1 && !isMultiple(space.size(lane), step);
    this.accumulators = new VectorAccumulators(target.arithmetic, {
      settles: this.settles,
      ragged: this.isRow && isRagged,
    });
    this.blocks = kernel.inner.length > 0 ? this.columnBlocks() : null;
  }

  /** What reduces columns in blocks of rows; null for other kernels. */
  private columnBlocks(): RowBlocks | null {
    const { passes, choice, prepared, accumulators, target } = this;
    if (!reducesColumns(passes, choice, prepared) || this.stepsAlongRows() || this.scatters())
      return null;
    const reductions = passes.flatMap((pass) => pass.reductions);
    const all = reductions.map((stmt) => accumulators.of(stmt));
    const { space, inner } = prepared;
    const columns = blockColumns(space.size(choice.lane), choice);
    return RowBlocks.of(all, { rows: space.size(inner[0]!), columns }, target.scratchBytes);
  }

  schedule(): ScheduledKernel {
    const { kernel, split, prepared, choice, rows, accumulators, inner } = this;
    const outer = prepared.outer.map((name) => this.loop(name));
    const decaying = decayingExponentials(split);
    const schedule = { kernel: split, loops: [...outer, ...inner], shared: [], decaying };
    if (kernel.outer.some(({ size }) => size === 0))
      return { ...schedule, grid: { name: ITEM, extent: 0 }, accumulators: [], body: [] };
    const loops: InnerLoops =
      inner.length === 0
        ? 'none'
        : this.blocks !== null
          ? 'blocks'
          : this.stepsAlongRows()
            ? 'rows'
            : 'other';
    const items = new CoreItems(choice, prepared, loops);
    const body = this.item(items);
    const nanoseconds = choice.nanoseconds / Math.max(sizeHint(items.count), 1);
    const grid = { name: ITEM, extent: items.count, nanoseconds };
    const scratch = [...(rows?.arrays ?? []), ...(this.blocks?.arrays ?? [])];
    return {
      ...schedule,
      grid: this.scatters() ? { ...grid, ordered: true } : grid,
      ...(scratch.length > 0 && { scratch }),
      accumulators: accumulators.list,
      body,
    };
  }

  /** There is no vector form of such an exponential to rescale with. */
  private hasSlowRescaling({ op, dtype }: ReduceStmt): boolean {
    return op === 'online_softmax' && dtype === 'float64' && !this.target.wideFunctions;
  }

  /** Whether some store goes to a computed place, where two items may collide. Inner points meet among themselves. */
  private scatters(): boolean {
    return this.kernel.stages.some(({ kind, body }) => kind === 'outer' && body.some(isPlaced));
  }

  private item(items: CoreItems): ScheduledBody {
    const fixed = this.definitions([...this.kernel.outer, ...this.kernel.inner], true);
    const outer = this.definitions(this.kernel.outer, false);
    const decoded = [...fixed, ...items.decode()];
    if (this.stepsAlongRows()) {
      const steps = this.definitions(this.kernel.inner, false);
      const stores = this.passes.flatMap((pass) => pass.stores);
      return [...decoded, ...this.each(this.lanes(items, [...outer, ...steps, ...stores]))];
    }
    if (this.blocks !== null) return [...decoded, ...this.byBlocks(this.blocks, items, outer)];
    const passes = [...outer, ...this.passes.flatMap((pass, number) => this.pass(pass, number))];
    return [...decoded, ...(this.isRow ? passes : this.lanes(items, passes))];
  }

  /** Outer mode: a block of rows after the other, of all columns of an item. */
  private byBlocks(blocks: RowBlocks, items: CoreItems, outer: ScheduledBody): ScheduledBody {
    const { passes, accumulators, choice } = this;
    const { lane, groups } = choice;
    const swept = passes.findIndex(({ kind }) => kind === 'inner');
    const { reductions, stores } = passes[swept]!;
    const reduced = reductions.map((stmt) => ({ stmt, accumulator: accumulators.of(stmt) }));
    const of = reduced.map(({ accumulator }) => accumulator.name);
    const { lets, range } = items.rangeOf(lane);
    const columns = (body: ScheduledBody): ScheduledBody =>
      stepped(this.loop(lane), range, LANES * groups, this.vectors([...outer, ...body]));
    const pass = (kind: 'share' | 'fetch' | 'merge'): ScheduledBody =>
      blocks.pass(kind, lane, range.begin);
    const storesOf = (some: readonly Pass[]): ScheduledBody => some.flatMap((each) => each.stores);
    const [rows] = this.inner;
    const step: ScheduledBody = [
      ...this.definitions(this.kernel.inner, false),
      ...reduced.map((each) => this.update(each)),
      ...stores,
    ];
    return [
      ...lets,
      ...columns([
        ...storesOf(passes.slice(0, swept)),
        { kind: 'start', of },
        { kind: 'part', of },
        ...pass('share'),
      ]),
      ...segments(rows!, blocks.rows, (some) =>
        columns([
          { kind: 'start', of },
          loopOver(rows!.name, some, 1, step),
          { kind: 'part', of },
          ...pass('merge'),
          ...pass('share'),
        ]),
      ),
      ...columns([...pass('fetch'), { kind: 'finish', of }, ...storesOf(passes.slice(swept + 1))]),
    ];
  }

  private update({ stmt, accumulator }: Reduced): ScheduledStmt {
    return { kind: 'update', of: accumulator.name, value: stmt.value, at: this.at };
  }

  /** Whether points that follow each other store to rows along the lanes: a row at a time then, as it lies in memory. */
  private stepsAlongRows(): boolean {
    const { kernel, passes, prepared, choice } = this;
    const places = passes.flatMap(({ stores }) => stores.map(({ index }) => index));
    return (
      takesSteps(kernel) &&
      kernel.stages.length === 1 &&
      places.every((at) => coefficientOf(prepared.space.linear(at), choice.lane) === 1)
    );
  }

  /** A body at each point of the inner loops. */
  private each(body: ScheduledBody, pace: Parameters<typeof sweep>[1] = null): ScheduledBody {
    const { name } = this.inner.at(-1)!;
    return sweep(this.inner, pace, (range) => [loopOver(name, range, 1, body)]);
  }

  /** What variables of the kernel are of those of the schedule: those that are 0, or the others. */
  private definitions(vars: readonly SizedLoop[], areFixed: boolean): ScheduledBody {
    const { definitions } = this.prepared.space;
    const isFixed = (index: IndexExpr | undefined): boolean => index?.kind === 'int';
    const isLeft = (term: IndexExpr): boolean => {
      const [digit] = term.kind === 'mul' ? term.factors : [term];
      return digit?.kind !== 'sym' || !isFixed(definitions.get(digit.name));
    };
    return vars.flatMap(({ name }) => {
      const index = definitions.get(name);
      if (index === undefined || isFixed(index) !== areFixed) return [];
      if (index.kind !== 'add') return [define(name, index)];
      return [define(name, sumOf(index.terms.filter(isLeft)))];
    });
  }

  /** Outer mode: the loop along the lanes (and across them for tiles), with all passes inside. */
  private lanes(items: CoreItems, body: ScheduledBody): ScheduledBody {
    const { lane, across, groups } = this.choice;
    const along = items.rangeOf(lane);
    if (lane === across)
      return [
        ...along.lets,
        ...stepped(this.loop(lane), along.range, LANES * groups, this.vectors(body)),
      ];
    const rows = items.rangeOf(across);
    const tile = (count: number): ScheduledBody =>
      stepped(this.loop(lane), along.range, LANES, (valid) => [
        vector({ lane, across, groups: count, valid }, body),
      ]);
    return [...along.lets, ...rows.lets, ...stepped(this.loop(across), rows.range, LANES, tile)];
  }

  private loop(name: string): SizedLoop {
    return { name, size: this.prepared.space.size(name) };
  }

  /** Vectors that follow each other along the lanes, as many as are needed. */
  private vectors(body: ScheduledBody): Steps {
    const { lane } = this.choice;
    return (valid) => [
      vector({ lane, across: lane, groups: Math.ceil(valid / LANES), valid }, body),
    ];
  }

  private pass(pass: Pass, number: number): ScheduledBody {
    if (pass.kind === 'outer') return pass.stores;
    const { accumulators } = this;
    const [reductions, scans] = [pass.reductions, pass.scans].map((stmts) =>
      stmts.map((stmt) => ({ stmt, accumulator: accumulators.of(stmt) })),
    );
    const update = (each: Reduced): ScheduledStmt => this.update(each);
    const step: ScheduledBody = [
      ...this.definitions(this.kernel.inner, false),
      ...(this.rows?.recalled(number) ?? []),
      ...scans.map(update),
      ...(this.rows?.kept(number) ?? []),
      ...reductions.map(update),
      ...pass.stores,
    ];
    const names = (reduced: readonly Reduced[]): string[] =>
      reduced.map(({ accumulator }) => accumulator.name);
    const all = names([...scans, ...reductions]);
    return [
      ...(all.length > 0 ? [{ kind: 'start', of: all } as const] : []),
      ...this.sweep(names(reductions), step),
      ...names(reductions).flatMap((name) => this.ending(name)),
    ];
  }

  /** The results of an accumulator, of which lanes have parts in rows. */
  private ending(name: string): ScheduledBody {
    const kinds = this.isRow
      ? (['part', 'fold', 'finish'] as const)
      : (['part', 'finish'] as const);
    return kinds.map((kind) => ({ kind, of: [name] }));
  }

  /** One sweep over the inner loops, with vectors innermost in rows. */
  private sweep(settling: readonly string[], step: ScheduledBody): ScheduledBody {
    const { inner, isRow, choice } = this;
    if (inner.length === 0) return step;
    const { lane, groups } = choice;
    const width = isRow ? LANES * groups : 1;
    const settle: ScheduledBody = settling.length > 0 ? [{ kind: 'settle', of: settling }] : [];
    const pace = this.settles ? { step: width, iterations: SETTLE_EVERY, settle } : null;
    if (isRow) {
      const along = this.loop(lane);
      const loops = [...inner.filter(({ name }) => name !== lane), along];
      const vectors = this.vectors(step);
      return sweep(loops, pace, (range) => stepped(along, range, width, vectors));
    }
    return this.each(step, pace);
  }
}

interface Reduced {
  readonly stmt: ReduceStmt;
  readonly accumulator: Accumulator;
}

function vector(lanes: Omit<Lanes, 'width' | 'step'>, body: ScheduledBody): ScheduledStmt {
  return { kind: 'vector', lanes: { width: LANES, step: 1, ...lanes }, body };
}

function sumOf(terms: readonly IndexExpr[]): IndexExpr {
  if (terms.length === 0) return whole(0);
  return terms.length === 1 ? terms[0]! : { kind: 'add', terms };
}

/** The flattened index over loops, the last of them first. */
function placeIn(loops: readonly SizedLoop[]): IndexExpr {
  let stride: Size = 1;
  const terms: IndexExpr[] = [];
  for (const { name, size } of loops.toReversed()) {
    terms.push(times(variable(name), stride));
    stride = sizeMul(stride, size);
  }
  return sumOf(terms);
}

/** See the file header. */
export function scheduleVectors(kernel: LoopKernel<Size>, target: VectorTarget): ScheduledKernel {
  return new VectorScheduler(kernel, target).schedule();
}
