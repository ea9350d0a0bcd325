/**
 * @file Code generation for `LoopKernel`: pointwise kernels, row and column reductions, transposes.
 *
 * The outer loops are cut into work items (`work-items.ts`); for each item the kernel's passes run in
 * order (`passes.ts`). In row mode the lanes lie along an inner variable and a pass sweeps over the row;
 * in outer mode they lie along an outer variable and all passes run inside the loop over it. Vector
 * loops have a main part of whole iterations and one tail with the exact number of valid elements,
 * known when the code is generated (`loop-nest.ts`).
 */
import {
  decayingExponentials,
  inTwoPasses,
  isMultiple,
  mustSettle,
  SETTLE_EVERY,
  type LoopKernel,
  type ReduceStmt,
  type ScheduleFacts,
} from '@tessera/inductor-core';
import { type Size, sizeHint, sizeMul, sizeProduct } from '@tessera/shared';
import type { DType } from '@tessera/tensor';
import { BodyEmitter } from '../body/body-emitter.js';
import { kindOf } from '../body/element-kind.js';
import { kernelOptions, type KernelOptions } from '../body/size-slots.js';
import type { Affine } from '../body/loop-space.js';
import type { Lanes } from '../body/scope.js';
import type { CodeOptions } from '../body/vector-builder.js';
import type { Local } from '../emit/types.js';
import { WasmFunction } from '../emit/wasm-function.js';
import type { WasmKernel } from '../wasm-kernel.js';
import { emitFunction } from '../math/vector-program.js';
import { LoopNest } from './loop-nest.js';
import { chooseShape, indicesOf, loopVars, type LoopShape } from './loop-shape.js';
import { passesOf, type Pass } from './passes.js';
import { prepareSpace } from './prepare-space.js';
import { Reducer } from './reducer.js';
import { RowCache } from './row-cache.js';
import { ScanState } from './scan-state.js';
import { WorkItems } from './work-items.js';

/** Rows up to this many elements take two passes for Welford and online softmax. */
const TWO_PASS_ELEMENTS = 1 << 15;
/** Elements of a row whose length is not known. */
const LONG = 2 ** 31;
/** Variable of a kernel that has none: it still needs one along its lanes. */
const UNIT = 'unit';

/** Code of a loop kernel. @throws kernel-missing when an operation has no form, plan-invalid */
export function generateLoopKernel(kernel: LoopKernel<Size>, options: CodeOptions): WasmKernel {
  return new LoopGenerator(kernel, kernelOptions(kernel, options)).generate();
}

function loopFacts(
  kernel: string,
  { mode, lane, across, groups }: LoopShape,
  items: Size,
): ScheduleFacts {
  return {
    kernel,
    facts: {
      'lanes of a vector': `along ${lane}, ${mode === 'row' ? 'parts of a result' : 'a result each'}`,
      ...(across === lane ? {} : { 'vectors of a tile': `along ${across}` }),
      'vectors at a time': groups,
      'work items': String(items),
    },
  };
}

class LoopGenerator {
  readonly #f: WasmFunction;
  readonly #body: BodyEmitter;
  readonly #nest: LoopNest;
  readonly #outer: readonly string[];
  readonly #inner: readonly string[];
  readonly #shape: LoopShape;
  /** The kernel with reductions in two passes. */
  readonly #prepared: LoopKernel<Size>;
  readonly #passes: readonly Pass[];
  #cache: RowCache | undefined;
  #pass = 0;

  constructor(
    readonly kernel: LoopKernel<Size>,
    private readonly options: KernelOptions,
  ) {
    const vars = { outer: kernel.outer, inner: kernel.inner };
    const { space, groups } = prepareSpace(vars, indicesOf(kernel));
    const isPoint = groups.outer.length + groups.inner.length === 0;
    if (isPoint) space.addUnit(UNIT);
    this.#outer = isPoint ? [UNIT] : groups.outer;
    this.#inner = groups.inner;
    this.#f = new WasmFunction(kernel.name, { args: 'i32', begin: 'i32', end: 'i32' });
    this.#body = new BodyEmitter(this.#f, kernel, space, options);
    this.#nest = new LoopNest(this.#body);
    this.#shape = chooseShape(kernel, space, this.#outer, this.#inner);
    const isShort = sizeHint(this.#points) <= TWO_PASS_ELEMENTS;
    const isSplit = ({ op, dtype }: ReduceStmt): boolean =>
      (this.#shape.mode === 'row' && isShort) ||
      // There is no vector form of a float64 exponential to rescale with.
      (op === 'online_softmax' && kindOf(dtype) === 'f64');
    this.#prepared = inTwoPasses(kernel, isSplit);
    this.#passes = passesOf(this.#prepared);
  }

  generate(): WasmKernel {
    const { kernel } = this;
    const isEmpty = kernel.outer.some(({ size }) => size === 0);
    const items = new WorkItems(this.#shape, this.#body.space, this.#outer, this.#inner.length > 0);
    if (!isEmpty) this.#emit(items);
    const shape = this.#shape;
    return {
      name: kernel.name,
      func: this.#f,
      workItems: isEmpty ? 0 : items.count,
      sizes: this.options.sizes.list,
      costPerItem: isEmpty ? 0 : this.#shape.nanoseconds / Math.max(sizeHint(items.count), 1),
      scratchBytesPerThread: this.#cache?.bytes ?? 0,
      ...(this.#scatters() ? { needsSerial: true } : {}),
      schedule: () => loopFacts(kernel.name, shape, items.count),
    };
  }

  #emit(items: WorkItems): void {
    const { scope, space } = this.#body;
    const isRow = this.#shape.mode === 'row';
    if (isRow) {
      const row = loopVars(space, this.#inner);
      const { lane } = this.#shape;
      this.#cache = new RowCache(this.#body, this.#passes, row, lane, this.#position());
    }
    this.#overrideExpressions();
    scope.nest((inside) => {
      this.#f.for('item', this.#f.param('begin'), this.#f.param('end'), 1, (item) => {
        inside(() => {
          const numbers = items.decode(this.#body, item);
          if (isRow) this.#emitPasses();
          else this.#emitOuter(items, numbers);
        });
      });
    });
  }

  /** Whether some store goes to a computed place, where two items may collide. */
  #scatters(): boolean {
    const { space } = this.#body;
    return this.kernel.stages.some((stage) =>
      stage.body.some(
        (stmt) =>
          stmt.kind === 'store' &&
          space.affine(stmt.index).atoms.some((atom) => atom.kind === 'value'),
      ),
    );
  }

  /** Outer mode: the loop along the lanes (and across them for tiles), with all passes inside. */
  #emitOuter(items: WorkItems, numbers: ReadonlyMap<string, Local<'i32'>>): void {
    const { lane, across, groups } = this.#shape;
    const [begin, end] = items.bounds(this.#nest, lane, numbers);
    if (lane === across) {
      this.#nest.vectors(lane, begin, end, groups, () => this.#emitPasses());
      return;
    }
    const [first, last] = items.bounds(this.#nest, across, numbers);
    this.#nest.stepped(across, first, last, 4, (rows) => {
      this.#nest.stepped(lane, begin, end, 4, (active) => {
        const lanes = { lane, across, groups: rows, active };
        this.#body.scope.vectorise(lanes, () => this.#emitPasses());
      });
    });
  }

  #emitPasses(): void {
    this.#passes.forEach((pass, number) => {
      this.#pass = number;
      if (pass.kind === 'outer') for (const stmt of pass.stores) this.#body.store(stmt);
      else this.#emitInner(pass);
    });
  }

  /** Points of the inner loops. */
  get #points(): Size {
    return sizeProduct(this.kernel.inner.map(({ size }) => size));
  }

  /** One sweep over the inner loops. */
  #emitInner(pass: Pass): void {
    const { vb, scope, space } = this.#body;
    const { mode, lane, groups } = this.#shape;
    const isRow = mode === 'row';
    const points = this.#points;
    // What may be long is treated as such.
    const settles = mustSettle(
      (typeof points === 'number' ? points : LONG) / (isRow ? 4 * groups : 1),
    );
    const outside = scope.lanes as Lanes;
    const context = {
      vb,
      groups: isRow ? groups : outside.groups,
      combine: isRow,
      settles,
      ragged: this.#inner.length > 1 && !isMultiple(space.size(lane), 4 * groups),
      count: (dtype: DType) => this.#body.sizeRegs(points, dtype),
    };
    const reducers = pass.reductions.map((reduction) => new Reducer(reduction, context));
    const scans = pass.scans.map((scan) => new ScanState(vb, scan, context.groups, isRow));
    for (const state of [...scans, ...reducers]) state.start();
    const step = (lanes: Lanes): void => {
      const position = this.#position();
      for (const scan of scans) {
        const { value, ids } = scan.statement;
        scope.bindAcc(ids[0]!, scan.update(this.#body.value(value), lanes));
      }
      for (const reducer of reducers)
        reducer.update(this.#body.value(reducer.statement.value), {
          lanes,
          position: () => this.#body.index.vector(position, undefined),
        });
      for (const stmt of pass.stores) this.#body.store(stmt);
    };
    const settle = settles
      ? (): void => reducers.forEach((reducer) => reducer.settle())
      : undefined;
    if (isRow) this.#sweepRow(settle, step);
    else this.#sweepColumn(settle, () => step(outside));
    for (const reducer of reducers) {
      const { ids } = reducer.statement;
      reducer.finish().forEach((result, i) => scope.bindAcc(ids[i]!, result));
    }
  }

  /** Scalar loops over the other inner variables, vectors along the lanes innermost. */
  #sweepRow(settle: (() => void) | undefined, step: (lanes: Lanes) => void): void {
    const { lane, groups } = this.#shape;
    const names = [...this.#inner.filter((name) => name !== lane), lane];
    this.#nest.sweep(names, { step: 4 * groups, iterations: SETTLE_EVERY, settle }, (begin, end) =>
      this.#nest.vectors(lane, begin, end, groups, step),
    );
  }

  /** Scalar loops over all inner variables. */
  #sweepColumn(settle: (() => void) | undefined, step: () => void): void {
    const last = this.#inner.at(-1);
    if (last === undefined) step();
    else
      this.#nest.sweep(this.#inner, { step: 1, iterations: SETTLE_EVERY, settle }, (begin, end) =>
        this.#body.scope.loop(last, begin, end, 1, step),
      );
  }

  /** The flattened index over the inner loops. */
  #position(): Affine {
    let stride: Size = 1;
    const terms = new Map<string, Size>();
    for (const name of [...this.#inner].reverse()) {
      terms.set(name, stride);
      stride = sizeMul(stride, this.#body.space.size(name));
    }
    return { constant: 0, terms, atoms: [] };
  }

  /** Cached rows, and exponentials whose argument is known not to be positive. */
  #overrideExpressions(): void {
    const body = this.#body;
    const exponentials = decayingExponentials(this.#prepared);
    body.override = (expr) => {
      const cached = this.#cache?.load(expr, this.#pass);
      if (cached !== undefined) return cached;
      if (!exponentials.has(expr) || expr.kind !== 'op' || kindOf(expr.dtype) !== 'f32')
        return undefined;
      return () => {
        const x = body.value(expr.args[0] as NonNullable<(typeof expr.args)[0]>);
        body.vb.hint = 'exp';
        return { ...x, regs: emitFunction(body.vb, 'exp_non_positive', [x.regs]) };
      };
    };
    body.onValue = (expr, value) => this.#cache?.keep(expr, value, this.#pass);
  }
}
