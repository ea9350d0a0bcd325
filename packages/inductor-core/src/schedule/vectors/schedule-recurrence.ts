/**
 * @file Recurrences on cores with short vectors: a work item runs all steps of a few rows.
 *
 * Each step goes over its rows three times: what is multiplied is made of the states, then multiplied with the weights,
 * some rows and vectors of units at a time, then the results are stored and the states become the next ones. States,
 * vectors and products lie in scratch memory in between. Weights are read at every step, in vectors along units.
 */
import { type Size, TesseraError, sizeCeilDiv, sizeHint } from '@tessera/shared';
import type { DType } from '@tessera/tensor';
import { IrBuilder } from '../../ir/build.js';
import type { Expr, Stmt } from '../../ir/expr.js';
import type { IndexExpr } from '../../ir/index-expr.js';
import type { RecurrenceKernel } from '../../ir/kernel.js';
import { kernelLoops } from '../../ir/kernel-parts.js';
import { extent } from '../../ir/loop-vars.js';
import { postorder, stmtRoots } from '../../ir/walk.js';
import { minus, over, placesOf, plus, times, variable, whole } from '../kernel/places.js';
import { inPlace, type StoreStmt, storesOf } from '../kernel/scratch-stores.js';
import type {
  Accumulator,
  ScheduledBody,
  ScheduledKernel,
  ScheduledStmt,
  ScratchArray,
} from '../kernel/scheduled-kernel.js';
import { reductionOf } from '../reductions.js';
import { define, LANES, loopOver } from './vector-loops.js';
import type { VectorTarget } from './vector-target.js';

/** Sums that registers hold, beside weights and factors. */
const SUMS = 8;
/** Work items that there should be: enough for the threads of ordinary machines. */
const ITEMS = 8;
/** Rows of a work item at most: their arrays stay in a near cache. */
const MOST_ROWS = 16;
/** Time of a multiplication and addition, and of the rest of a unit at a step, in nanoseconds (measured, one thread). */
const TERM_NS = 0.05;
const UNIT_NS = 12;

const [ROW, BLOCK, LANE] = ['row.', 'block.', 'lane.'];

/** Schedules a recurrence. @throws kernel-missing when states are no floats, or have several dimensions */
export function scheduleRecurrence(
  kernel: RecurrenceKernel<Size>,
  target: VectorTarget,
): ScheduledKernel {
  const { name, n, k, accDtype } = kernel;
  if (!accDtype.startsWith('float') || accDtype === 'float16' || n.length > 1 || k.length > 1)
    throw new TesseraError(
      'kernel-missing',
      `Recurrence '${name}' has states of type ${accDtype} or of several dimensions, for which there are no vectors.`,
      { context: { kernel: name, dtype: accDtype } },
    );
  return new RecurrenceSchedule(kernel, target).schedule();
}

class RecurrenceSchedule {
  private readonly ir = new IrBuilder();
  private readonly arrays: ScratchArray[] = [];
  private readonly accumulators: Accumulator[] = [];
  private readonly units: number;
  /** Vectors that hold the units. */
  private readonly blocks: number;
  /** Rows of an item, and rows and vectors whose sums are in registers together. */
  private readonly rows: number;
  private readonly tileRows: number;
  private readonly tileBlocks: number;
  private readonly dtype: DType;
  private readonly unit: IndexExpr;
  private readonly unitName: string;
  private readonly otherName: string;

  private readonly kernel: RecurrenceKernel<Size>;

  constructor(
    kernel: RecurrenceKernel<Size>,
    private readonly target: VectorTarget,
  ) {
    const { batch, n, k, products, states, vectors } = kernel;
    const { ir } = this;
    for (const { name, size } of kernelLoops(kernel)) ir.sym(name, size);
    this.dtype = kernel.accDtype;
    this.units = extent(n);
    this.blocks = Math.ceil(this.units / LANES);
    const rows = sizeHint(extent(batch));
    this.tileBlocks = products.length === 1 && this.blocks % 2 === 0 ? 2 : 1;
    const most = Math.max(1, Math.floor(SUMS / (products.length * this.tileBlocks)));
    this.tileRows = most >= 4 && rows >= 4 ? 4 : most >= 2 && rows >= 2 ? 2 : 1;
    const share = Math.ceil(rows / ITEMS / this.tileRows) * this.tileRows;
    this.rows = Math.max(this.tileRows, Math.min(MOST_ROWS, share));
    this.unitName = n[0]?.name ?? 'unit.';
    this.otherName = k[0]?.name ?? 'other.';
    this.unit = ir.sym(this.unitName, this.blocks * LANES);
    for (const [role, list] of Object.entries({
      state: states,
      vector: vectors,
      product: products,
    }))
      list.forEach((_, i) => this.declare(`${role}.${i}`));
    this.kernel = this.inArrays(kernel);
  }

  schedule(): ScheduledKernel {
    const { kernel, ir } = this;
    const { batch, step, n, states, products, accDtype } = kernel;
    const stores = storesOf(kernel.stores);
    const isEarly = (stmt: Stmt): boolean => !stmtRoots(stmt).some((root) => this.isLate(root));
    const initial = states.map((state, s) => this.set(`state.${s}`, state.initial));
    const vectors = kernel.vectors.map((value, v) => this.set(`vector.${v}`, value));
    const next = inPlace(
      states.map((state, s) => this.set(`state.${s}`, state.next)),
      (array) => this.declare(`next.${array}`),
      ({ buf }) => ir.load(accDtype, buf, this.place()),
    );
    const terms = products.flat().length;
    const stepNs = this.units * (this.units * terms * TERM_NS + UNIT_NS);
    const body: ScheduledBody = [
      define(LANE!, whole(0)),
      define('first', times(variable('item'), this.rows)),
      define('rows', minus(whole(extent(batch)), variable('first')), this.rows),
      ...this.eachUnit(initial),
      loopOver('step.', { begin: whole(0), end: whole(extent(step)) }, 1, [
        ...placesOf(step, variable('step.')),
        ...this.eachUnit([...stores.filter(isEarly), ...vectors]),
        ...this.multiply(),
        ...this.eachUnit([...stores.filter((stmt) => !isEarly(stmt)), ...next]),
      ]),
      ...this.eachUnit(storesOf(kernel.lastStores)),
    ];
    return {
      kernel,
      loops: [
        ...kernelLoops(kernel).filter(({ name }) => name !== n[0]?.name),
        { name: ROW!, size: this.rows },
        { name: BLOCK!, size: this.blocks },
        { name: LANE!, size: LANES },
        ...(kernel.k.length === 0 ? [{ name: this.otherName, size: 1 }] : []),
      ],
      grid: {
        name: 'item',
        extent: sizeCeilDiv(extent(batch), this.rows),
        nanoseconds: this.rows * sizeHint(extent(step)) * stepNs,
      },
      shared: [],
      scratch: this.arrays,
      accumulators: this.accumulators,
      body,
    };
  }

  private declare(name: string): string {
    const length = this.rows * this.blocks * LANES;
    // Long ones do not compete for the same lines of the cache.
    const padding = length % 256 === 0 ? 16 : 0;
    this.arrays.push({ name, dtype: this.dtype, length: length + padding });
    return name;
  }

  private isLate(root: Expr): boolean {
    return postorder([root]).some(
      (expr) => expr.kind === 'load' && expr.buf.startsWith('product.'),
    );
  }

  /** Where a unit of the present row, or of one `behind` it, is in an array. */
  private place(unit: IndexExpr = this.unit, behind = 0): IndexExpr {
    const { ir } = this;
    const pitch = this.blocks * LANES;
    return ir.add(ir.scale(ir.sym(ROW!, this.rows), pitch), unit, ir.int(behind * pitch));
  }

  private set(buf: string, value: Expr, behind = 0): StoreStmt {
    return { kind: 'store', buf, index: this.place(this.unit, behind), value };
  }

  /** A kernel with states and products read from where they lie. */
  private inArrays(kernel: RecurrenceKernel<Size>): RecurrenceKernel<Size> {
    const { ir } = this;
    const { states, vectors, products, stores, lastStores, accDtype } = kernel;
    const memo = new Map<Expr, Expr>();
    const acc = ({ id }: { readonly id: number }): Expr => {
      const product = id - states.length;
      const array = product < 0 ? `state.${id}` : `product.${product}`;
      return ir.load(accDtype, array, this.place());
    };
    const known = (value: Expr): Expr => ir.rewrite([value], { acc }, memo)[0]!;
    return {
      ...kernel,
      states: states.map(({ initial, next }) => ({ initial: known(initial), next: known(next) })),
      vectors: vectors.map(known),
      products: products.map((terms) =>
        terms.map(({ vector, weight }) => ({ vector, weight: ir.cast(known(weight), accDtype) })),
      ),
      stores: storesOf(stores, known),
      lastStores: storesOf(lastStores, known),
    };
  }

  private vector(groups: number, valid: number, body: ScheduledBody): ScheduledStmt {
    const unit = plus(times(variable(BLOCK!), LANES), variable(LANE!));
    const lanes = { lane: LANE!, across: BLOCK!, width: LANES, step: 1, groups, valid };
    return { kind: 'vector', lanes, body: [define(this.unitName, unit), ...body] };
  }

  /** A body for vectors of all units of each row. */
  private eachUnit(body: ScheduledBody): ScheduledBody {
    if (body.length === 0) return [];
    const { units, blocks } = this;
    const full = Math.floor(units / LANES);
    const groups = full % 2 === 0 && full === blocks ? 2 : 1;
    const part = (from: number, to: number, count: number, valid: number): ScheduledBody =>
      from === to
        ? []
        : [
            loopOver(BLOCK!, { begin: whole(from), end: whole(to) }, count, [
              this.vector(count, valid, body),
            ]),
          ];
    return [
      loopOver(ROW!, { begin: whole(0), end: variable('rows') }, 1, [
        ...placesOf(this.kernel.batch, plus(variable('first'), variable(ROW!))),
        ...part(0, full, groups, LANES),
        ...part(full, blocks, 1, units % LANES),
      ]),
    ];
  }

  /** All products of a step, a tile of rows and blocks of units at a time. */
  private multiply(): ScheduledBody {
    const { tileRows, blocks } = this;
    const middle = times(over(variable('rows'), tileRows), tileRows);
    const tiles = (begin: IndexExpr, end: IndexExpr, rows: number): ScheduledStmt =>
      loopOver(ROW!, { begin, end }, rows, this.tile(rows));
    return [
      define('middle', middle),
      loopOver(BLOCK!, { begin: whole(0), end: whole(blocks) }, this.tileBlocks, [
        tiles(whole(0), variable('middle'), tileRows),
        ...(tileRows > 1 ? [tiles(variable('middle'), variable('rows'), 1)] : []),
      ]),
    ];
  }

  private tile(rows: number): ScheduledBody {
    const { ir, kernel } = this;
    const { accDtype: dtype } = kernel;
    const other = ir.sym(this.otherName, this.units);
    const sums = kernel.products.map((_, p) =>
      Array.from({ length: rows }, (__, r) => this.sum(p, r)),
    );
    const updates = kernel.products.flatMap((terms, p) =>
      terms.flatMap(({ vector, weight }) =>
        sums[p]!.map(({ name }, r): ScheduledStmt => {
          const x = ir.load(dtype, `vector.${vector}`, this.place(other, r));
          const value = ir.op('mul', [weight, x]);
          return { kind: 'update', of: name, value, at: other };
        }),
      ),
    );
    const of = sums.flat().map(({ name }) => name);
    const stores = sums.flatMap((ofRows, p) =>
      ofRows.map(({ ids }, r) => this.set(`product.${p}`, ir.acc(dtype, ids[0]!), r)),
    );
    return [
      this.vector(this.tileBlocks, LANES, [
        { kind: 'start', of },
        loopOver(this.otherName, { begin: whole(0), end: whole(this.units) }, 1, updates),
        { kind: 'part', of },
        { kind: 'finish', of },
        ...stores,
      ]),
    ];
  }

  /** The sum of a product in a row of a tile. */
  private sum(p: number, r: number): Accumulator {
    const { accDtype: dtype } = this.kernel;
    const name = `sum${p}.${r}`;
    const known = this.accumulators.find((each) => each.name === name);
    if (known !== undefined) return known;
    const reduction = reductionOf({ op: 'sum', dtype, target: this.target.arithmetic });
    const ids = [this.accumulators.length];
    const made: Accumulator = { name, reduction, ids, dtype, fused: true };
    this.accumulators.push(made);
    return made;
  }
}
