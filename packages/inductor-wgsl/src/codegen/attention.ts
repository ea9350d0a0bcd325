/**
 * @file Attention and its gradients: tiles of weights are made, used and forgotten.
 *
 * A workgroup makes a tile of rows of the results. It goes through the columns tile by tile: products of `scores` (in
 * slabs, as in matmul.ts), weights of them in registers, the weights into workgroup memory, products with `values`. A
 * softmax keeps the largest logit and the sum of each row, and scales what it has when a larger one comes. Tiles
 * outside of a triangle are not visited.
 */
import {
  isMultiple,
  stmtRoots,
  type AttentionKernel,
  type Expr,
  type SizedLoop,
} from '@tessera/inductor-core';
import { type Size, sizeCeilDiv, sizeHint, sizeMul } from '@tessera/shared';
import {
  attentionPadding,
  chooseAttentionTile,
  resultVectors,
  tileColumns,
  type AttentionNeeds,
  type AttentionTile,
} from './attention-tiles.js';
import { AttentionWeights } from './attention-weights.js';
import { CodeBlock } from './code-block.js';
import { linearGrid } from './dispatch.js';
import { ExprEmitter } from './expr-emitter.js';
import { LaneContext } from './lane-context.js';
import { decompose, extent } from './loop-vars.js';
import {
  addLoadFunction,
  lanesAlong,
  loadOrder,
  operandLanes,
  type LoadOrder,
  type Operand,
} from './matmul-operand.js';
import { isLarge } from './matmul-tiles.js';
import { MatmulSlab, type SlabPlace, type SlabWorkgroup } from './matmul-slab.js';
import { placeThread } from './matmul-threads.js';
import { plus } from './offset-text.js';
import { addStoreFunction } from './product-store.js';
import { ProgramBuilder, type WgslProgram } from './program.js';
import { RegisterBlock } from './register-block.js';
import { RunningSoftmax } from './running-softmax.js';
import { eachRow, walkSlabs } from './slab-walk.js';
import { emitStore } from './store-emitter.js';
import type { WgslTarget } from './target.js';
import type { KernelVariant } from './variant.js';
import { chooseVectorBuffers } from './vector-buffers.js';
import { computeType, typeName, type ScalarType } from './wgsl-types.js';

/** Generates an attention kernel. */
export function generateAttention(
  kernel: AttentionKernel<Size>,
  target: WgslTarget,
  variant: KernelVariant,
  tile?: AttentionTile,
): WgslProgram {
  const needs = needsOf(kernel);
  return new AttentionGenerator(
    kernel,
    target,
    variant,
    tile ?? chooseAttentionTile(needs, target),
    needs,
  ).generate();
}

function needsOf({ batch, m, j, n, scores, values }: AttentionKernel<Size>): AttentionNeeds {
  return {
    width: sizeHint(extent(n)),
    scores: scores.length,
    results: values.length,
    batch: sizeHint(extent(batch)),
    rows: sizeHint(extent(m)),
    columns: sizeHint(extent(j)),
  };
}

/** An operand with the lanes it is loaded in, and where its slabs are. */
interface Loaded {
  readonly operand: Operand;
  readonly order: LoadOrder;
  readonly context: LaneContext;
  readonly place: SlabPlace;
  /** Whether k may end within a slab. */
  readonly checkK: boolean;
}

class AttentionGenerator {
  private readonly body = new CodeBlock();
  private readonly builder: ProgramBuilder;
  private readonly type: ScalarType;
  private readonly vector: string;
  private readonly threads: number;
  private readonly rows: number;
  private readonly columns: number;
  private readonly unrolled: boolean;
  /** Columns that stay as they are while the last ones are gone through, and those. */
  private readonly turns: readonly SizedLoop[];
  private readonly along: readonly SizedLoop[];
  /** Texts of the batch of rows, and of that of columns. */
  private readonly place: string;
  private readonly scoreSlabs: readonly (readonly [MatmulSlab, MatmulSlab])[];
  private readonly valueSlabs: readonly MatmulSlab[];
  private readonly scores: readonly RegisterBlock[];
  private readonly results: readonly RegisterBlock[];
  private readonly weights: AttentionWeights;
  private readonly softmax: RunningSoftmax | null;

  constructor(
    private readonly kernel: AttentionKernel<Size>,
    target: WgslTarget,
    variant: KernelVariant,
    private readonly tile: AttentionTile,
    needs: AttentionNeeds,
  ) {
    const { batch, m, j, k, n } = kernel;
    [this.turns, this.along] = [j.slice(0, -1), j.slice(-1)];
    this.place = this.turns.length === 0 ? 'batch' : 'place';
    const columnBatch = [...batch, ...this.turns];
    this.type = computeType(kernel.accDtype);
    this.vector = typeName(this.type, 4);
    this.columns = tileColumns(tile);
    this.rows = tile.bm / tile.tm;
    this.threads = this.rows * this.columns;
    const { batch: many, rows, columns, width } = needs;
    this.unrolled = !target.software && isLarge({ batch: many, m: rows, n: columns, k: width });
    const groups = resultVectors(tile, width);
    const loaded = (operand: Operand, place: SlabPlace, checkK: boolean): Loaded => {
      const order = loadOrder(operand);
      const context = new LaneContext(operandLanes(operand, order), [operand.expr]);
      return { operand, order, context, place, checkK };
    };
    const checkK = !isMultiple(extent(k), tile.bk);
    const checkJ = !isMultiple(extent(this.along), tile.bn);
    const factors = kernel.scores.map(({ a, b }, p) => [
      loaded(
        { name: `a${p}`, expr: a, batch, x: m, k },
        { extent: tile.bm, bk: tile.bk, batch: 'batch', origin: 'first_m' },
        checkK,
      ),
      loaded(
        { name: `b${p}`, expr: b, batch: columnBatch, x: this.along, k },
        { extent: tile.bn, bk: tile.bk, batch: this.place, origin: 'first_j' },
        checkK,
      ),
    ]);
    const values = kernel.values.map((expr, q) =>
      loaded(
        { name: `v${q}`, expr, batch: columnBatch, x: n, k: this.along },
        { extent: groups * this.columns * 4, bk: tile.bk, batch: this.place, origin: '0u' },
        checkJ,
      ),
    );
    const storing = new LaneContext(
      { ...lanesAlong(n), vectorAccs: true },
      kernel.epilogue.flatMap(stmtRoots),
    );
    const weighing = new LaneContext(
      { ...lanesAlong(this.along), vectorAccs: true },
      kernel.weights,
    );
    const operands = [...factors.flat(), ...values];
    const vectors = chooseVectorBuffers([
      ...operands.map(({ context, operand }) => ({ context, exprs: [operand.expr], stores: [] })),
      { context: weighing, exprs: kernel.weights, stores: [] },
      { context: storing, exprs: [], stores: kernel.epilogue },
      { context: new LaneContext({}, []), exprs: [], stores: kernel.rowStores },
    ]);
    const builder = new ProgramBuilder(
      kernel,
      target,
      variant,
      variant.offsets ? new Set() : vectors,
    );
    this.builder = builder;
    for (const { operand, context, order, checkK: check } of operands)
      addLoadFunction(builder, operand, context, order, this.type, check);
    const padding = attentionPadding(tile, needs, target);
    const slabs = this.slabMaker(padding);
    this.scoreSlabs = factors.map(([a, b]) => [slabs('a', a), slabs('b', b)] as const);
    this.valueSlabs = values.map((value) => slabs('v', value));
    this.scores = factors.map((_, p) => new RegisterBlock(`s${p}_`, tile.tm, tile.tn / 4));
    this.results = values.map((_, q) => new RegisterBlock(`r${q}_`, tile.tm, groups));
    this.weights = new AttentionWeights({
      builder,
      context: weighing,
      kernel,
      along: this.along,
      batch: columnBatch,
      tile,
      padding,
      vector: this.vector,
      scores: this.scores,
    });
    this.softmax = kernel.softmax
      ? new RunningSoftmax(builder, tile, this.scores[0], this.results[0])
      : null;
    if (kernel.epilogue.length > 0)
      addStoreFunction(builder, {
        epilogue: kernel.epilogue,
        context: storing,
        batch,
        m,
        n,
        bm: tile.bm,
        bn: groups * this.columns * 4,
        type: this.type,
        products: this.results.map((_, q) => `product${q}`),
      });
    if (kernel.rowStores.length > 0) this.addRowFunction();
  }

  /** Slabs whose memory is shared by those of a role: they are never needed at once. */
  private slabMaker(padding: 0 | 1): (role: string, loaded: Loaded) => MatmulSlab {
    const { builder, threads, type } = this;
    const arrays = new Map<string, string>();
    return (role, { operand, order, place }) => {
      const workgroup: SlabWorkgroup = {
        builder,
        threads,
        type,
        padding,
        array: (_, row, rows) => {
          const key = `${role} ${row}`;
          let name = arrays.get(key);
          if (name === undefined)
            arrays.set(key, (name = builder.workgroupArray(`slab_${role}`, row, rows)));
          return name;
        },
      };
      return new MatmulSlab(operand, order, place, workgroup);
    };
  }

  generate(): WgslProgram {
    const { body, tile, kernel, builder, softmax } = this;
    const many = extent(kernel.batch);
    const tiles = sizeCeilDiv(extent(kernel.m), tile.bm);
    const count = sizeMul(tiles, many);
    if (count === 0) return builder.finish(1, body, [0, 1]);
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
    body.line(`let first_m = ${down} * ${tile.bm}u;`);
    placeThread(body, tile, builder.target);
    for (const block of this.results) block.declare(body, this.vector);
    softmax?.declare(body);
    this.visitColumns();
    softmax?.finish(body);
    this.storeResults();
    return builder.finish(this.threads, body, grid.workgroups);
  }

  /** Loops over turns and tiles of columns. */
  private visitColumns(): void {
    const { body, tile, builder, kernel, turns } = this;
    const length = extent(this.along);
    const tiles = builder.size(sizeCeilDiv(length, tile.bn));
    const loop = new CodeBlock();
    loop.line(`let first_j = block * ${tile.bn}u;`);
    this.visitTile(loop);
    const [from, until] = {
      none: ['0u', tiles],
      lower: ['0u', `min(${tiles}, (first_m + ${tile.bm + tile.bn - 1}u) / ${tile.bn}u)`],
      upper: [`first_m / ${tile.bn}u`, tiles],
    }[kernel.triangle];
    const visit = new CodeBlock();
    visit.line(`let end_block = ${until};`);
    visit.nest(`for (var block = ${from}; block < end_block; block++)`, loop);
    if (turns.length === 0) {
      body.append(visit);
      return;
    }
    const count = builder.size(extent(turns));
    const turn = new CodeBlock();
    turn.line(`let place = batch * ${count} + turn;`);
    turn.append(visit);
    body.nest(`for (var turn = 0u; turn < ${count}; turn++)`, turn);
  }

  /** The weights of a tile, and what they give. */
  private visitTile(loop: CodeBlock): void {
    const { tile, builder, kernel, unrolled, rows, columns, softmax, weights } = this;
    const { bk } = tile;
    const steps = sizeCeilDiv(extent(kernel.k), bk);
    for (const [p, [a, b]] of this.scoreSlabs.entries()) {
      this.scores[p].declare(loop, this.vector);
      const scope = new CodeBlock();
      walkSlabs(scope, {
        slabs: [a, b],
        steps: builder.size(steps),
        isOne: steps === 1,
        bk,
        multiply: (inner) =>
          eachRow(inner, { bk, unrolled }, (k) =>
            this.scores[p].addStep(
              (g) => a.vectorAt(k, `row${plus(g * rows)}`),
              (g) => b.vectorAt(k, `column${plus(g * columns)}`),
            ),
          ),
      });
      loop.nest('', scope);
    }
    weights.compute(loop, this.place);
    softmax?.scale(loop);
    const blocks = tile.bn / bk;
    for (const [q, slab] of this.valueSlabs.entries()) {
      if (q > 0) loop.line('workgroupBarrier();');
      weights.publish(loop, q);
      const scope = new CodeBlock();
      walkSlabs(scope, {
        slabs: [slab],
        steps: `${blocks}u`,
        isOne: blocks === 1,
        bk,
        origin: 'first_j',
        multiply: (inner) => {
          inner.line(`let first_k = step * ${bk}u;`);
          eachRow(inner, { bk, unrolled }, (k) =>
            this.results[q].addStep(
              (g) => weights.vectorAt(`first_k + ${k}`, `row${plus(g * rows)}`),
              (g) => slab.vectorAt(k, `column${plus(g * columns)}`),
            ),
          );
        },
      });
      loop.nest('', scope);
    }
  }

  private storeResults(): void {
    const { body, rows, columns, kernel, softmax } = this;
    const down = (i: number): string => `first_m + row * 4u${plus((i >> 2) * rows * 4 + (i & 3))}`;
    if (kernel.epilogue.length > 0)
      for (const [i, names] of this.results[0].names.entries()) {
        for (const g of names.keys()) {
          const products = this.results.map((block) => block.names[i][g]).join(', ');
          const along = `column * 4u${plus(g * columns * 4)}`;
          body.line(`store_c(batch, ${down(i)}, ${along}, ${products});`);
        }
      }
    if (softmax === null || kernel.rowStores.length === 0) return;
    const stores = new CodeBlock();
    for (let i = 0; i < this.tile.tm; i++)
      stores.line(`store_row(batch, ${down(i)}, ${softmax.logSum(i)});`);
    body.nest('if (column == 0u)', stores);
  }

  /** Adds `fn store_row(batch, down, sum)`: what is stored for each row. */
  private addRowFunction(): void {
    const { kernel, builder, type, tile } = this;
    const block = new CodeBlock();
    const height = extent(kernel.m);
    if (!isMultiple(height, tile.bm))
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
