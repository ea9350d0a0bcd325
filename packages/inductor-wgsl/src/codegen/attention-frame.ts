/**
 * @file What attention kernels have in common, whoever multiplies: operands and how they are loaded, which rows a
 * workgroup makes, which columns it visits, and what is stored.
 */
import {
  stmtRoots,
  type AttentionKernel,
  type Expr,
  type SizedLoop,
  extent,
  LaneContext,
  chooseVectorBuffers,
  lanesAlong,
  loadOrder,
  type LoadOrder,
  loadRoutine,
  type ProductOperand,
  type SharedArray,
  storeRoutine,
} from '@tessera/inductor-core';
import { type Size, isMultiple, sizeCeilDiv, sizeMul } from '@tessera/shared';
import { CodeBlock } from './code-block.js';
import { linearGrid, type Workgroups } from './dispatch.js';
import { ScheduledEmitter } from './emit-scheduled.js';
import { ExprEmitter } from './expr-emitter.js';
import { decompose } from './loop-vars.js';
import { ProgramBuilder } from './program.js';
import { seeKernel, seeRoutine } from './scheduled-lanes.js';
import { emitStore } from './store-emitter.js';
import type { WgslTarget } from './target.js';
import type { KernelVariant } from './variant.js';
import { loadedOperand, type LoadedOperand, wideBuffers, wideLoads } from './wide-halves.js';
import { computeType, typeName, type ScalarType } from './wgsl-types.js';

/** A workgroup makes `bm` rows of results, `covered` wide, from `bn` columns of weights at a time. */
export interface AttentionExtents {
  readonly bm: number;
  readonly bn: number;
  readonly covered: number;
  /** k is loaded in so many values at a time, and so are columns for the products with values. */
  readonly bk: number;
  readonly bj: number;
}

/** An operand, how it is loaded, and texts of its batch and its first x. */
export interface AttentionOperand extends LoadedOperand {
  readonly batch: string;
  readonly origin: string;
  readonly extent: number;
}

/** How operands are loaded, where that is not as they lie in memory and as sums are typed. */
export interface LoadChoices {
  readonly loaded?: 'f16';
  readonly orders?: { readonly factors: LoadOrder; readonly values: LoadOrder };
}

/** See the file header. */
export class AttentionFrame {
  readonly body: CodeBlock = new CodeBlock();
  readonly builder: ProgramBuilder;
  /** Type of the sums. */
  readonly type: ScalarType;
  /** Columns that stay as they are while the last ones are gone through, and those. */
  readonly turns: readonly SizedLoop[];
  readonly along: readonly SizedLoop[];
  readonly columnBatch: readonly SizedLoop[];
  /** Text of the batch of columns. */
  readonly place: string;
  readonly factors: readonly (readonly [AttentionOperand, AttentionOperand])[];
  readonly values: readonly AttentionOperand[];
  /** Whether all operands are read eight halves at a time. */
  readonly isWide: boolean;
  /** Spells parts that are scheduled, with these arrays; variables go by their names. */
  readonly parts: ScheduledEmitter;
  readonly shared: SharedArray[] = [];
  /** Of weights: four along the columns. */
  readonly weighing: LaneContext;

  constructor(
    private readonly kernel: AttentionKernel<Size>,
    target: WgslTarget,
    variant: KernelVariant,
    private readonly extents: AttentionExtents,
    { loaded, orders }: LoadChoices = {},
  ) {
    const { batch, m, j, k, n } = kernel;
    const { bm, bn, covered, bk, bj } = extents;
    [this.turns, this.along] = [j.slice(0, -1), j.slice(-1)];
    this.place = this.turns.length === 0 ? 'batch' : 'place';
    this.columnBatch = [...batch, ...this.turns];
    this.type = computeType(kernel.accDtype);
    const frame = (
      operand: ProductOperand,
      at: Pick<AttentionOperand, 'batch' | 'origin' | 'extent'>,
      order = loadOrder(operand),
    ): AttentionOperand => ({ ...loadedOperand(operand, order), ...at });
    const columns = { batch: this.columnBatch, x: this.along };
    this.factors = kernel.scores.map(({ a, b }, p) => [
      frame(
        { name: `a${p}`, expr: a, batch, x: m, k },
        { batch: 'batch', origin: 'first_m', extent: bm },
        orders?.factors,
      ),
      frame(
        { name: `b${p}`, expr: b, ...columns, k },
        { batch: this.place, origin: 'first_j', extent: bn },
        orders?.factors,
      ),
    ]);
    this.values = kernel.values.map((expr, q) =>
      frame(
        { name: `v${q}`, expr, batch: this.columnBatch, x: n, k: this.along },
        { batch: this.place, origin: '0u', extent: covered },
        orders?.values,
      ),
    );
    const operands = [...this.factors.flat(), ...this.values];
    const checkK = !isMultiple(extent(k), bk);
    const checkJ = !isMultiple(extent(this.along), bj);
    const loads = operands.map(({ operand, order }, i) => {
      const check = i < 2 * this.factors.length ? checkK : checkJ;
      return loadRoutine(operand, order, kernel.accDtype, check);
    });
    const { epilogue } = kernel;
    const products = kernel.values.map((_, q) => `product${q}`);
    const store = storeRoutine({ epilogue, batch, m, n, bm, bn: covered, products });
    const routines = [...loads, ...(epilogue.length > 0 ? [store] : [])];
    const scheduled = {
      kernel,
      grid: { name: 'group', extent: extent(batch) },
      shared: this.shared,
      accumulators: [],
      registers: kernel.accDtype,
      routines,
      body: [],
    };
    const seen = seeKernel(scheduled);
    this.weighing = new LaneContext(
      { ...lanesAlong(this.along), vectorAccs: true },
      kernel.weights,
    );
    const vectors = chooseVectorBuffers([
      ...seen.accesses,
      { context: this.weighing, exprs: kernel.weights, stores: [] },
      { context: new LaneContext({}, []), exprs: [], stores: kernel.rowStores },
    ]);
    const others = [
      ...kernel.weights,
      ...[...kernel.epilogue, ...kernel.rowStores].flatMap(stmtRoots),
    ];
    const wide = loaded === undefined ? [] : wideLoads(operands, others, variant, target);
    this.isWide = wide.length > 0 && !wide.includes(null);
    const builder = new ProgramBuilder(
      kernel,
      target,
      variant,
      variant.offsets ? new Set() : vectors,
      wideBuffers(this.isWide ? wide : []),
    );
    this.builder = builder;
    const halves = seen.routines.map((each, i) => {
      if (loaded === undefined || i >= operands.length) return each;
      const part = this.isWide ? wide[i] : null;
      return seeRoutine(scheduled, each.routine, {
        vector: part === null ? 'vec4h' : 'vec4u',
        wide: part,
      });
    });
    this.parts = new ScheduledEmitter({ ...seen, routines: halves }, builder, target);
    this.parts.emit(new CodeBlock(), 'group.x');
    if (kernel.rowStores.length > 0) this.addRowFunction();
  }

  /** Finds the workgroup's rows: `batch`, `first_m`. Gives the grid; null where there are no results. */
  placeTile(): Workgroups | null {
    const { body, builder, kernel, extents } = this;
    const many = extent(kernel.batch);
    const tiles = sizeCeilDiv(extent(kernel.m), extents.bm);
    const count = sizeMul(tiles, many);
    if (count === 0) return null;
    const grid = linearGrid(count, builder.target);
    if (grid.hasSurplus) body.line(`if (${grid.id} >= ${builder.size(count)}) { return; }`);
    const batches = builder.size(many);
    body.line(`let tile = ${grid.id};`);
    body.line(`let batch = tile % ${batches};`);
    // The longest rows first: what begins last should be short.
    const down =
      kernel.triangle === 'lower'
        ? `(${builder.size(tiles)} - 1u - tile / ${batches})`
        : `(tile / ${batches})`;
    body.line(`let first_m = ${down} * ${extents.bm}u;`);
    return grid.workgroups;
  }

  /**
   * Loops over turns and tiles of columns: `visit` appends what becomes of the tile at `first_j`, number `block` of
   * those until `end_block`; `prepare` what is done before the first of a turn, at a text.
   */
  visitColumns(
    visit: (loop: CodeBlock) => void,
    prepare?: (walk: CodeBlock, first: string) => void,
  ): void {
    const { body, builder, kernel, turns } = this;
    const { bm, bn } = this.extents;
    const tiles = builder.size(sizeCeilDiv(extent(this.along), bn));
    const loop = new CodeBlock();
    loop.line(`let first_j = block * ${bn}u;`);
    visit(loop);
    const [from, until] = {
      none: ['0u', tiles],
      lower: ['0u', `min(${tiles}, (first_m + ${bm + bn - 1}u) / ${bn}u)`],
      upper: [`first_m / ${bn}u`, tiles],
    }[kernel.triangle];
    const walk = new CodeBlock();
    walk.line(`let end_block = ${until};`);
    prepare?.(walk, from === '0u' ? from : `(${from}) * ${bn}u`);
    walk.nest(`for (var block = ${from}; block < end_block; block++)`, loop);
    if (turns.length === 0) {
      body.append(walk);
      return;
    }
    const count = builder.size(extent(turns));
    const turn = new CodeBlock();
    turn.line(`let place = batch * ${count} + turn;`);
    turn.append(walk);
    body.nest(`for (var turn = 0u; turn < ${count}; turn++)`, turn);
  }

  /** Adds `fn store_row(batch, down, sum)`: what is stored for each row. */
  private addRowFunction(): void {
    const { kernel, builder, type, extents } = this;
    const block = new CodeBlock();
    const height = extent(kernel.m);
    if (!isMultiple(height, extents.bm))
      block.line(`if (down >= ${builder.size(height)}) { return; }`);
    const roots: Expr[] = kernel.rowStores.flatMap(stmtRoots);
    const emitter = new ExprEmitter(builder, new LaneContext({}, roots), roots);
    emitter.enter(
      block,
      new Map([
        ...decompose(block, builder, kernel.batch, 'batch'),
        ...decompose(block, builder, kernel.m, 'down'),
      ]),
    );
    emitter.setAcc(0, { text: 'sum', type, width: 1, atom: true });
    for (const stmt of kernel.rowStores)
      if (stmt.kind === 'store') emitStore(emitter, stmt, { full: block });
    builder.addFunction(`store_row(batch: u32, down: u32, sum: ${typeName(type, 1)})`, block);
  }
}
