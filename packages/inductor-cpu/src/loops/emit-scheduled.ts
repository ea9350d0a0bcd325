/**
 * @file A scheduled kernel as WebAssembly: statements and variables are spelled, nothing is chosen.
 *
 * Values go to the outermost loop in which everything that they depend on is known (`Scope`). The instances of the grid
 * are the work items of the function.
 */
import {
  asIndex,
  extent,
  type Expr,
  type GeneratedKernel,
  type IndexExpr,
  type LoopKernel,
  type LoopStmt,
  type ScheduledBody,
  type ScheduledKernel,
  type ScheduledStmt,
} from '@tessera/inductor-core';
import type { Size } from '@tessera/shared';
import type { DType } from '@tessera/tensor';
import type { BufferRef } from '../body/access-code.js';
import { BodyEmitter, type Evaluation } from '../body/body-emitter.js';
import { kindOf, registersPerGroup } from '../body/element-kind.js';
import type { KernelOptions } from '../body/size-slots.js';
import type { Value } from '../body/value.js';
import type { Regs } from '../body/vector-builder.js';
import { i32, op, select } from '../emit/code.js';
import type { Code, Local } from '../emit/types.js';
import { WasmFunction } from '../emit/wasm-function.js';
import { emitFunction } from '../math/vector-program.js';
import type { WasmKernel } from '../wasm-kernel.js';
import { KeptRows } from './kept-rows.js';
import { boundOf, placeCode } from './place-code.js';
import { Reducer } from './reducer.js';
import { ScanState } from './scan-state.js';
import { scheduledSpace } from './scheduled-space.js';

/** The smaller of a local and a limit (unsigned). */
function atMost(local: Local<'i32'>, limit: () => Code<'i32'>): Code<'i32'> {
  return select(limit(), local, op('i32.gt_u', local, limit()));
}

type PassParts = Extract<ScheduledStmt, { kind: 'share' | 'merge' | 'fetch' }>;

/** Statements of a scheduled kernel in a function, which has the parameter `args`. */
export class ScheduledEmitter implements Evaluation {
  readonly #body: BodyEmitter;
  readonly #rows: KeptRows;
  /** Vectors of four that an accumulator is updated with at once. */
  readonly #groups = new Map<string, number>();
  /** Accumulators that have been started. */
  readonly #running = new Map<string, Reducer | ScanState>();
  /** Variables that are no locals: the code of expressions goes by what they are of others. */
  readonly #defined: ReadonlyMap<string, IndexExpr>;

  constructor(
    f: WasmFunction,
    readonly kernel: GeneratedKernel<Size>,
    readonly scheduled: ScheduledKernel,
    readonly options: KernelOptions,
  ) {
    const space = scheduledSpace(scheduled);
    this.#body = new BodyEmitter(f, kernel, space, options);
    this.#rows = new KeptRows(this.#body, scheduled.scratch ?? []);
    this.#defined = space.definitions;
    this.#countGroups(scheduled.body, 1);
    this.#body.evaluation = this;
  }

  /** The statements for each work item from `begin` to below `end`. */
  items(): WasmKernel {
    const { grid, body } = this.scheduled;
    const { f } = this.#body;
    if (body.length > 0) this.emit((emitter, all) => this.eachItem(emitter, all));
    return {
      name: this.kernel.name,
      func: f,
      workItems: grid.extent,
      sizes: this.options.sizes.list,
      costPerItem: grid.nanoseconds ?? 0,
      scratchBytesPerThread: this.#rows.bytes,
      ...(grid.ordered === true && { needsSerial: true }),
    };
  }

  /** Each item, on its own. */
  protected eachItem({ f, scope }: BodyEmitter, all: () => void): void {
    scope.loop(this.scheduled.grid.name, f.param('begin'), f.param('end'), 1, all);
  }

  /** The statements where `open` calls for `all` of them. */
  emit(open: (body: BodyEmitter, all: () => void) => void): void {
    open(this.#body, () => this.body(this.scheduled.body));
  }

  /** A statement that there are no words for here. */
  protected other(stmt: ScheduledStmt, _body: BodyEmitter): void {
    throw new TypeError(`there is no code for '${stmt.kind}'`);
  }

  replaced(expr: Expr): (() => Value) | undefined {
    return this.#rows.recall(expr) ?? this.#decaying(expr);
  }

  emitted(expr: Expr, value: Value): void {
    this.#rows.keep(expr, value);
  }

  array(name: string): BufferRef | undefined {
    return this.#rows.array(name);
  }

  /** An exponential whose argument is known not to be positive. */
  #decaying(expr: Expr): (() => Value) | undefined {
    if (
      this.scheduled.decaying?.has(expr) !== true ||
      expr.kind !== 'op' ||
      kindOf(expr.dtype) !== 'f32'
    )
      return undefined;
    const body = this.#body;
    return () => {
      const x = body.value(expr.args[0]!);
      body.vb.hint = 'exp';
      return { ...x, regs: emitFunction(body.vb, 'exp_non_positive', [x.regs]) };
    };
  }

  #countGroups(body: ScheduledBody, groups: number): void {
    for (const stmt of body) {
      if (stmt.kind === 'update')
        this.#groups.set(stmt.of, Math.max(this.#groups.get(stmt.of) ?? 0, groups));
      else if (stmt.kind === 'vector') this.#countGroups(stmt.body, stmt.lanes.groups);
      else if ('body' in stmt) this.#countGroups(stmt.body, groups);
    }
  }

  /** Statements. */
  protected body(body: ScheduledBody): void {
    this.#rows.within(body, () => {
      for (const stmt of body) this.#emitStmt(stmt);
    });
  }

  #emitStmt(stmt: ScheduledStmt): void {
    switch (stmt.kind) {
      case 'let':
        return this.#define(stmt);
      case 'loop':
        return this.#loop(stmt);
      case 'vector': {
        const { lane, across, groups, valid } = stmt.lanes;
        const lanes = { lane, across, groups, active: valid as number };
        return this.#body.scope.vectorise(lanes, () => this.body(stmt.body));
      }
      case 'start':
        return this.#start(stmt.of);
      case 'update':
        return this.#update(stmt);
      case 'settle':
        return this.#reducers(stmt.of, (reducer) => reducer.settle());
      case 'part':
        return this.#reducers(stmt.of, (reducer) => reducer.part());
      case 'fold':
        return this.#reducers(stmt.of, (reducer) => reducer.fold());
      case 'finish':
        return this.#reducers(stmt.of, (reducer) => {
          const { ids } = reducer.accumulator;
          reducer.finish().forEach((value, i) => this.#body.scope.bindAcc(ids[i]!, value));
        });
      case 'share':
      case 'merge':
      case 'fetch':
        return this.#passParts(stmt);
      case 'keep':
      case 'recall':
        // They hold for all of their body. A result is loaded at once.
        if (stmt.value.kind === 'acc')
          this.#body.scope.bindAcc(stmt.value.id, this.#rows.take(stmt.array, stmt.at));
        return;
      case 'store':
        return this.#body.store(stmt);
      default:
        this.other(stmt, this.#body);
    }
  }

  #define({ name, index, atMost: most }: Extract<ScheduledStmt, { kind: 'let' }>): void {
    if (this.#defined.has(name)) return;
    const { scope } = this.#body;
    // What follows the sign only tells variables of the schedule apart.
    const [hint] = name.split('@');
    const code = placeCode(this.#body, index);
    if (most === undefined) {
      const local = index.kind === 'size' ? (code as Local<'i32'>) : this.#body.f.let(hint, code);
      return scope.bind(name, local);
    }
    const limit = (): Code<'i32'> => placeCode(this.#body, asIndex(most));
    if (index.kind === 'sym' || index.kind === 'size') {
      scope.bind(name, this.#body.f.let(hint, atMost(code as Local<'i32'>, limit)));
      return;
    }
    const local = this.#body.f.let(hint, code);
    this.#body.f.set(local, atMost(local, limit));
    scope.bind(name, local);
  }

  #loop({ name, begin, ends, pace, body }: LoopStmt): void {
    const { scope } = this.#body;
    const from = boundOf(this.#body, begin);
    const limits = ends.map((end) => boundOf(this.#body, end));
    const step = pace as number;
    const emit = (): void => this.body(body);
    const isOnce = (limit: Local<'i32'> | number): boolean =>
      typeof from === 'number' && typeof limit === 'number' && limit <= from + step;
    const [limit, ...others] = limits.filter((each) => limits.length === 1 || !isOnce(each));
    if (others.length > 0) throw new TypeError(`loop ${name} has several ends`);
    if (limits.length === 1) scope.loop(name, from, limit!, step, emit);
    else this.#once(name, from as number, limit as Local<'i32'>, emit);
  }

  /** A loop that runs once, or not at all. */
  #once(name: string, begin: number, end: Local<'i32'>, body: () => void): void {
    const { scope } = this.#body;
    scope.nest((inside) => {
      this.#body.f.if(op('i32.gt_u', end, i32(begin)), () => {
        const at = this.#body.f.let(name, i32(begin));
        inside(() => {
          scope.bind(name, at);
          body();
        });
      });
    });
  }

  /** Parts of an accumulator go to scratch arrays, or come from there. */
  #passParts({ kind, of, arrays, at }: PassParts): void {
    if (kind === 'fetch') this.#running.set(of, this.#state(of));
    const reducer = this.#running.get(of) as Reducer;
    const { parts } = reducer;
    if (kind === 'share') {
      arrays.forEach((array, i) => this.#rows.put(array, at, parts[i]!));
      return;
    }
    const found = arrays.map((array) => this.#rows.take(array, at));
    if (kind === 'merge') reducer.merge(found);
    else reducer.parts = found;
  }

  #state(name: string): Reducer | ScanState {
    const { vb, scope } = this.#body;
    // Outside of vectors, lanes have parts of one result.
    const combine = scope.lanes === undefined;
    const accumulator = this.scheduled.accumulators.find((each) => each.name === name)!;
    const groups = scope.lanes?.groups ?? this.#groups.get(name)!;
    const count = (dtype: DType): Regs =>
      this.#body.sizeRegs(extent((this.kernel as LoopKernel<Size>).inner), dtype);
    return accumulator.running === true
      ? new ScanState(vb, accumulator, groups, combine)
      : new Reducer(accumulator, { vb, groups, combine, count });
  }

  #start(names: readonly string[]): void {
    // Registers are made in the order of declaration.
    for (const { name } of this.scheduled.accumulators)
      if (names.includes(name)) this.#running.set(name, this.#state(name));
    for (const name of names) this.#running.get(name)!.start();
  }

  #reducers(names: readonly string[], act: (reducer: Reducer) => void): void {
    for (const name of names) act(this.#running.get(name) as Reducer);
  }

  #update({ of, value, at }: Extract<ScheduledStmt, { kind: 'update' }>): void {
    const body = this.#body;
    const lanes = body.scope.lanes!;
    const state = this.#running.get(of)!;
    const { ids, fused } = state.accumulator;
    if (fused && this.options.relaxedSimd && value.kind === 'op' && value.op === 'mul') {
      const [a, b] = value.args.map((factor) => body.value(factor).regs);
      const count = lanes.groups * registersPerGroup(kindOf(value.dtype));
      return (state as Reducer).addProduct(a!, b!, count);
    }
    const taken = body.value(value);
    if (state instanceof ScanState) return body.scope.bindAcc(ids[0]!, state.update(taken, lanes));
    const position = body.space.linear(at);
    state.update(taken, { lanes, position: () => body.index.vector(position, undefined) });
  }
}

/** See the file header. */
export function emitScheduled(
  kernel: GeneratedKernel<Size>,
  scheduled: ScheduledKernel,
  options: KernelOptions,
): WasmKernel {
  const f = new WasmFunction(kernel.name, { args: 'i32', begin: 'i32', end: 'i32' });
  return new ScheduledEmitter(f, kernel, scheduled, options).items();
}
