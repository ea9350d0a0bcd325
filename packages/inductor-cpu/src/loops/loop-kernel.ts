/**
 * @file Code generation for `LoopKernel`: pointwise kernels, row and column reductions, transposes.
 *
 * The outer loops are flattened to work items. An item is one outer point (row mode), or a run of the
 * lane variable at one point of the other outer variables (outer mode); for each, the kernel's passes
 * run in order. Vector loops have a main part of whole iterations and one tail with the exact number of
 * valid elements, known when the code is generated.
 */
import type { LoopKernel } from '@tessera/inductor-core';
import { BodyEmitter } from '../body/body-emitter.js';
import type { Affine } from '../body/loop-space.js';
import type { Lanes } from '../body/scope.js';
import type { CodeOptions } from '../body/vector-builder.js';
import { i32, op, select } from '../emit/code.js';
import type { Code, Local } from '../emit/types.js';
import { WasmFunction } from '../emit/wasm-function.js';
import type { KernelCode } from '../kernel-code.js';
import { emitExpNonPositive } from '../math/exponential.js';
import { chooseShape, indicesOf, loopVars, type LoopShape } from './loop-shape.js';
import { nonPositiveExponentials, passesOf, type Pass } from './passes.js';
import { prepareSpace } from './prepare-space.js';
import type { Reducer } from './reducer.js';
import { RowCache } from './row-cache.js';

/** Elements of a pointwise item: about a microsecond of work. */
const ITEM_ELEMENTS = 2048;
/** Rows up to this many elements take two passes for Welford and online softmax. */
const TWO_PASS_ELEMENTS = 1 << 15;
/** Iterations after which partial sums move to the second level. */
const SETTLE_ITERATIONS = 512;
/** A tile of a transposing kernel: few rows read by lanes, so that their cache lines stay until all is read. */
const TILE_LANE = 16;
const TILE_ACROSS = 128;

/** Code of a loop kernel. @throws kernel-missing when an operation has no form, plan-invalid */
export function generateLoopKernel(kernel: LoopKernel, options: CodeOptions): KernelCode {
  return new LoopGenerator(kernel, options).generate();
}

class LoopGenerator {
  readonly #f: WasmFunction;
  readonly #body: BodyEmitter;
  readonly #outer: readonly string[];
  readonly #inner: readonly string[];
  readonly #shape: LoopShape;
  readonly #passes: readonly Pass[];
  #cache: RowCache | undefined;
  #pass = 0;

  constructor(
    readonly kernel: LoopKernel,
    options: CodeOptions,
  ) {
    const { space, groups } = prepareSpace(
      { outer: kernel.outer, inner: kernel.inner },
      indicesOf(kernel),
    );
    // A kernel of one point still needs a variable for its lanes.
    if (groups.outer.length + groups.inner.length === 0) space.addUnit(UNIT);
    this.#outer = groups.outer.length + groups.inner.length === 0 ? [UNIT] : groups.outer;
    this.#inner = groups.inner;
    this.#f = new WasmFunction(kernel.name, { args: 'i32', begin: 'i32', end: 'i32' });
    this.#body = new BodyEmitter(this.#f, kernel, space, options);
    this.#shape = chooseShape(kernel, space, this.#outer, this.#inner);
    const innerCount = kernel.inner.reduce((n, { size }) => n * size, 1);
    this.#passes = passesOf(
      kernel,
      this.#shape.mode === 'row' && innerCount <= TWO_PASS_ELEMENTS,
      innerCount,
    );
  }

  generate(): KernelCode {
    const { kernel } = this;
    const isEmpty = kernel.outer.some(({ size }) => size === 0);
    const runs = isEmpty ? [] : this.#runs();
    const workItems = isEmpty ? 0 : runs.reduce((n, run) => n * run.count, 1);
    if (!isEmpty) this.#emit(runs, workItems);
    return {
      name: kernel.name,
      func: this.#f,
      workItems,
      costPerItem: workItems === 0 ? 0 : this.#shape.nanoseconds / workItems,
      scratchBytesPerThread: this.#cache?.bytes ?? 0,
      ...(this.#scatters() ? { needsSerial: true } : {}),
    };
  }

  #emit(runs: readonly Run[], workItems: number): void {
    const { scope } = this.#body;
    if (this.#shape.mode === 'row') {
      this.#cache = new RowCache(
        this.#body,
        this.#passes,
        loopVars(this.#body.space, this.#inner),
        this.#shape.lane,
        this.#position(),
      );
    }
    this.#overrideExpressions();
    scope.nest((inside) => {
      this.#f.for('item', this.#f.param('begin'), this.#f.param('end'), 1, (item) => {
        inside(() => {
          const starts = this.#decode(item, runs, workItems);
          if (this.#shape.mode === 'row') this.#emitPasses();
          else this.#emitOuter(runs, starts);
        });
      });
    });
  }

  /** Whether some store goes to a computed place, where two items may collide. */
  #scatters(): boolean {
    return this.kernel.stages.some((stage) =>
      stage.body.some(
        (stmt) =>
          stmt.kind === 'store' &&
          this.#body.space.affine(stmt.index).atoms.some((atom) => atom.kind === 'value'),
      ),
    );
  }

  /** How each outer variable is cut into items, outermost first. */
  #runs(): Run[] {
    const { mode, lane, across, groups } = this.#shape;
    const { space } = this.#body;
    const points = this.#outer.reduce((n, name) => n * space.size(name), 1);
    return this.#outer.map((name): Run => {
      const size = space.size(name);
      if (mode === 'row' || (name !== lane && name !== across))
        return { name, size, length: 1, count: size };
      let length = size;
      if (across !== lane) length = name === lane ? TILE_LANE : TILE_ACROSS;
      else if (this.#inner.length > 0) length = 4 * groups;
      else if (size > 2 * ITEM_ELEMENTS || points / size < 16)
        length = Math.ceil(ITEM_ELEMENTS / (4 * groups)) * 4 * groups;
      return { name, size, length, count: Math.ceil(size / length) };
    });
  }

  /** Binds the outer variables of an item; for those cut into longer runs gives the number of the run. */
  #decode(
    item: Local<'i32'>,
    runs: readonly Run[],
    workItems: number,
  ): ReadonlyMap<string, Local<'i32'>> {
    const starts = new Map<string, Local<'i32'>>();
    let below = workItems;
    for (const run of runs) {
      if (run.count === 1 && run.length > 1) continue;
      const above = below;
      below /= run.count;
      const quotient = (): Code<'i32'> => (below === 1 ? item : op('i32.div_u', item, i32(below)));
      const number = above === workItems ? quotient() : op('i32.rem_u', quotient(), i32(run.count));
      const local = this.#f.let(run.name, run.count === 1 ? i32(0) : number);
      if (run.length === 1) this.#body.scope.bind(run.name, local);
      else starts.set(run.name, local);
    }
    return starts;
  }

  /** Outer mode: the loop along the lanes (and across them for tiles), with all passes inside. */
  #emitOuter(runs: readonly Run[], starts: ReadonlyMap<string, Local<'i32'>>): void {
    const { lane, across, groups } = this.#shape;
    const run = (name: string): Run => runs.find((each) => each.name === name) as Run;
    const bounds = (name: string): readonly [Local<'i32'> | number, Local<'i32'> | number] => {
      const { size, length, count } = run(name);
      if (count === 1) return [0, size];
      const start = this.#f.let(
        `${name}.start`,
        op('i32.mul', starts.get(name) as Local<'i32'>, i32(length)),
      );
      const end = this.#f.let(`${name}.end`, op('i32.add', start, i32(length)));
      if (size % length !== 0)
        this.#f.set(end, select(i32(size), end, op('i32.gt_u', end, i32(size))));
      return [start, end];
    };
    const [begin, end] = bounds(lane);
    if (lane === across) {
      this.#vectorLoop(lane, begin, end, groups, (lanes) =>
        this.#vectorise(lanes, () => this.#emitPasses()),
      );
      return;
    }
    const [beginAcross, endAcross] = bounds(across);
    this.#steppedLoop(across, beginAcross, endAcross, 4, (rows) => {
      this.#steppedLoop(lane, begin, end, 4, (active) => {
        this.#vectorise({ lane, across, groups: rows, active }, () => this.#emitPasses());
      });
    });
  }

  #vectorise(lanes: Lanes, body: () => void): void {
    this.#body.scope.vectorise(lanes, body);
  }

  /** A loop in whole vector iterations, and its tail. */
  #vectorLoop(
    name: string,
    begin: Local<'i32'> | number,
    end: Local<'i32'> | number,
    groups: number,
    body: (lanes: Lanes) => void,
  ): void {
    this.#steppedLoop(name, begin, end, 4 * groups, (active) => {
      body({ lane: name, across: name, groups: Math.ceil(active / 4), active });
    });
  }

  /** Loops by `step`, the body told how many steps are valid: all, or in the tail what is left of the variable's size. */
  #steppedLoop(
    name: string,
    begin: Local<'i32'> | number,
    end: Local<'i32'> | number,
    step: number,
    body: (valid: number) => void,
  ): void {
    const { scope, space } = this.#body;
    const size = space.size(name);
    const rest = size % step;
    const whole = size - rest;
    if (whole > 0) {
      const isStatic = typeof end === 'number';
      const stop = isStatic
        ? whole
        : rest === 0
          ? end
          : this.#f.let('stop', select(i32(whole), end, op('i32.gt_u', end, i32(whole))));
      scope.loop(name, begin, stop, step, () => body(step));
    }
    if (rest === 0) return;
    scope.nest((inside) => {
      const tail = (): void => {
        const at = this.#f.let(name, i32(whole));
        inside(() => {
          scope.bind(name, at);
          body(rest);
        });
      };
      if (typeof end === 'number') tail();
      else this.#f.if(op('i32.gt_u', end, i32(whole)), tail);
    });
  }

  #emitPasses(): void {
    this.#passes.forEach((pass, number) => {
      this.#pass = number;
      if (pass.kind === 'outer') for (const stmt of pass.stores) this.#body.store(stmt);
      else this.#emitInner(pass);
    });
  }

  /** One sweep over the inner loops. */
  #emitInner(pass: Pass): void {
    const { vb, scope, space } = this.#body;
    const { mode, lane, groups } = this.#shape;
    const isRow = mode === 'row';
    const iterations =
      this.#inner.reduce((n, name) => n * space.size(name), 1) / (isRow ? 4 * groups : 1);
    const settles = iterations > SETTLE_ITERATIONS;
    const lanesOutside = scope.lanes;
    const ragged = this.#inner.length > 1 && space.size(lane) % (4 * groups) !== 0;
    const context = {
      vb,
      groups: isRow ? groups : (lanesOutside as Lanes).groups,
      combine: isRow,
      settles,
      ragged,
    };
    const reducers = pass.reductions.map((reduction) => reduction.reducer(context));
    for (const reducer of reducers) reducer.start();
    const step = (lanes: Lanes): void => {
      pass.reductions.forEach((reduction, i) => {
        const value = reduction.value(this.#body);
        (reducers[i] as Reducer).update(value, {
          lanes,
          position: () => this.#body.index.vector(this.#position(), undefined),
        });
      });
      for (const stmt of pass.stores) this.#body.store(stmt);
    };
    const settle = (): void => {
      if (settles) for (const reducer of reducers) reducer.settle();
    };
    const others = this.#inner.filter((name) => name !== lane);
    this.#nested(
      others,
      () => {
        if (!isRow) {
          step(lanesOutside as Lanes);
          return;
        }
        const vectors = (begin: Local<'i32'> | number, end: Local<'i32'> | number): void =>
          this.#vectorLoop(lane, begin, end, groups, (lanes) =>
            this.#vectorise(lanes, () => step(lanes)),
          );
        this.#inSegments(
          lane,
          settles ? SETTLE_ITERATIONS * 4 * groups : Infinity,
          vectors,
          settle,
        );
      },
      isRow ? undefined : settle,
    );
    pass.reductions.forEach((reduction, i) =>
      reduction.bind(this.#body, (reducers[i] as Reducer).finish()),
    );
  }

  /** Runs a loop over a variable in segments of some length, with `between` after each. */
  #inSegments(
    name: string,
    length: number,
    loop: (begin: Local<'i32'> | number, end: Local<'i32'> | number) => void,
    between: () => void,
  ): void {
    const size = this.#body.space.size(name);
    if (size <= length) {
      loop(0, size);
      between();
      return;
    }
    const { scope } = this.#body;
    scope.loop(`${name}.segment`, 0, size, length, () => {
      const begin = scope.variable(`${name}.segment`);
      const end = this.#f.let('end', op('i32.add', begin, i32(length)));
      this.#f.set(end, select(i32(size), end, op('i32.gt_u', end, i32(size))));
      loop(begin, end);
      between();
    });
  }

  /** Scalar loops over variables, outermost first; `between` runs after each loop of the last one, in segments. */
  #nested(names: readonly string[], body: () => void, between: (() => void) | undefined): void {
    const [name, ...rest] = names;
    const { scope, space } = this.#body;
    if (name === undefined) {
      body();
      return;
    }
    if (rest.length > 0 || between === undefined) {
      scope.loop(name, 0, space.size(name), 1, () => this.#nested(rest, body, between));
      return;
    }
    this.#inSegments(
      name,
      SETTLE_ITERATIONS,
      (begin, end) => scope.loop(name, begin, end, 1, body),
      between,
    );
  }

  /** The flattened index over the inner loops. */
  #position(): Affine {
    let stride = 1;
    const terms = new Map<string, number>();
    for (const name of [...this.#inner].reverse()) {
      terms.set(name, stride);
      stride *= this.#body.space.size(name);
    }
    return { constant: 0, terms, atoms: [] };
  }

  /** Cached rows, and exponentials whose argument is known not to be positive. */
  #overrideExpressions(): void {
    const body = this.#body;
    const exponentials = nonPositiveExponentials(this.kernel);
    body.override = (expr) => {
      const cached = this.#cache?.load(expr, this.#pass);
      if (cached !== undefined) return cached;
      if (!exponentials.has(expr) || expr.kind !== 'op') return undefined;
      return () => {
        const x = body.value(expr.args[0] as NonNullable<(typeof expr.args)[0]>);
        body.vb.hint = 'exp';
        return { ...x, regs: emitExpNonPositive(body.vb, x.regs) };
      };
    };
    body.onValue = (expr, value) => this.#cache?.keep(expr, value, this.#pass);
  }
}

const UNIT = 'unit';

/** How an outer variable is cut: runs of `length`, `count` of them. */
interface Run {
  readonly name: string;
  readonly size: number;
  readonly length: number;
  readonly count: number;
}
