/**
 * @file Recurrences: a work item runs all steps of a few rows.
 *
 * Each step goes over its rows three times: what is multiplied is made of the states, then multiplied with the weights,
 * some rows and vectors of units at a time, then the results are stored and the states become the next ones. States,
 * vectors and products lie in scratch memory in between, an array of each row after the other. Weights are read at every
 * step, in vectors along units (`capabilities.recurrences`).
 */
import {
  LoopSpace,
  postorder,
  stmtRoots,
  type Expr,
  type RecurrenceKernel,
  type Stmt,
} from '@tessera/inductor-core';
import { sizeCeilDiv, sizeProduct, TesseraError, type Size } from '@tessera/shared';
import { BodyEmitter } from '../body/body-emitter.js';
import { convert } from '../body/convert.js';
import { kindOf, registersPerGroup, type ElementKind } from '../body/element-kind.js';
import { kernelOptions } from '../body/size-slots.js';
import type { Value } from '../body/value.js';
import type { CodeOptions, Reg, Regs } from '../body/vector-builder.js';
import { i32, i32x4, memory, op } from '../emit/code.js';
import type { Local } from '../emit/types.js';
import { WasmFunction } from '../emit/wasm-function.js';
import { elementType, multiplyAdd, type ElementType } from '../matmul/element-type.js';
import { minimum, scaled, sum } from '../matmul/index-code.js';
import { bindBatch } from '../matmul/matmul-space.js';
import { SCRATCH, type WasmKernel } from '../wasm-kernel.js';
import { recurrencePlan, UNITS, type RecurrencePlan } from './recurrence-plan.js';

/** Code of a recurrence kernel. @throws kernel-missing when states have a type without vectors */
export function generateRecurrence(
  kernel: RecurrenceKernel<Size>,
  options: CodeOptions,
): WasmKernel {
  return new RecurrenceEmitter(kernel, options).emit();
}

class RecurrenceEmitter {
  readonly #f: WasmFunction;
  readonly #body: BodyEmitter;
  readonly #type: ElementType;
  readonly #kind: ElementKind;
  readonly #plan: RecurrencePlan;
  readonly #sizes: { readonly list: WasmKernel['sizes'] };
  /** Bytes of an array of a row. */
  readonly #arrayBytes: number;
  readonly #relaxed: boolean;
  /** Variables of which a unit is made: its vector, and its lane there. */
  readonly #block: string;
  readonly #lane: string;
  /** Numbers of the arrays of a row: states first, then vectors, then products. */
  readonly #firstVector: number;
  readonly #firstProduct: number;
  readonly #arrays: number;

  constructor(
    readonly kernel: RecurrenceKernel<Size>,
    options: CodeOptions,
  ) {
    const { batch, step, n, k, accDtype, states, vectors, products } = kernel;
    const type = elementType(accDtype);
    if (type === null || n.length > 1 || k.length > 1)
      throw new TesseraError(
        'kernel-missing',
        `Recurrence '${kernel.name}' has states of type ${accDtype} or of several dimensions, for which the CPU has no code.`,
        { context: { kernel: kernel.name, dtype: accDtype } },
      );
    this.#type = type;
    this.#kind = kindOf(accDtype);
    this.#plan = recurrencePlan(kernel);
    this.#relaxed = options.relaxedSimd;
    this.#arrayBytes = (this.#plan.blocks * UNITS * type.bytes + 15) & ~15;
    this.#firstVector = states.length;
    this.#firstProduct = states.length + vectors.length;
    this.#arrays = this.#firstProduct + products.length;
    const own = kernelOptions(kernel, options);
    this.#sizes = own.sizes;
    this.#f = new WasmFunction(kernel.name, { args: 'i32', begin: 'i32', end: 'i32' });
    const unit = { name: n[0]?.name ?? 'unit', size: this.#plan.blocks * UNITS };
    const space = new LoopSpace([...batch, ...step, ...k, unit]);
    [this.#block, this.#lane] = space.split(unit.name, [UNITS, 1]);
    this.#body = new BodyEmitter(this.#f, kernel, space, own);
  }

  emit(): WasmKernel {
    const { kernel } = this;
    const { rowsOfItem, costPerItem, facts } = this.#plan;
    const rows = sizeProduct(kernel.batch.map(({ size }) => size));
    const { scope } = this.#body;
    const f = this.#f;
    scope.bind(this.#lane, f.let('lane', i32(0)));
    scope.loop('item', f.param('begin'), f.param('end'), 1, () => {
      const first = f.let('first', scaled(scope.variable('item'), rowsOfItem));
      const left = op('i32.sub', this.#body.size(rows), first);
      this.#item(first, minimum(f, 'rows', i32(rowsOfItem), left));
    });
    return {
      name: kernel.name,
      func: f,
      workItems: sizeCeilDiv(rows, rowsOfItem),
      sizes: this.#sizes.list,
      costPerItem,
      scratchBytesPerThread: rowsOfItem * this.#rowBytes,
      schedule: () => ({ kernel: kernel.name, facts }),
    };
  }

  get #rowBytes(): number {
    return this.#arrays * this.#arrayBytes;
  }

  /** All steps of the rows from `first` on. */
  #item(first: Local<'i32'>, rows: Local<'i32'>): void {
    const { scope } = this.#body;
    const { states, step, stores, lastStores } = this.kernel;
    const isEarly = (stmt: Stmt): boolean => !this.#readsProducts(stmt);
    this.#forEachUnit(first, rows, (at) => {
      for (const [s, { initial }] of states.entries()) this.#put(at, s, this.#regs(initial));
    });
    const steps = sizeProduct(step.map(({ size }) => size));
    const count = typeof steps === 'number' ? steps : this.#body.sizeLocal(steps);
    scope.loop('step', 0, count, 1, () => {
      bindBatch(this.#body, step, scope.variable('step'));
      this.#forEachUnit(first, rows, (at) => {
        this.#knowStates(at);
        const vectors = this.kernel.vectors.map((vector) => this.#regs(vector));
        this.#store(stores.filter(isEarly));
        for (const [v, regs] of vectors.entries()) this.#put(at, this.#firstVector + v, regs);
      });
      this.#multiply(rows);
      this.#forEachUnit(first, rows, (at) => {
        this.#knowStates(at);
        for (const p of this.kernel.products.keys())
          this.#know(states.length + p, at, this.#firstProduct + p);
        this.#store(stores.filter((stmt) => !isEarly(stmt)));
        const next = states.map((state) => this.#regs(state.next));
        for (const [s, regs] of next.entries()) this.#put(at, s, regs);
      });
    });
    this.#forEachUnit(first, rows, (at) => {
      this.#knowStates(at);
      this.#store(lastStores);
    });
  }

  #readsProducts(stmt: Stmt): boolean {
    const { length } = this.kernel.states;
    for (const expr of postorder(stmtRoots(stmt)))
      if (expr.kind === 'acc' && expr.id >= length) return true;
    return false;
  }

  // ---- rows and units

  /** Runs `emit` for vectors of all units of each row, with where they lie in the first array of the row. */
  #forEachUnit(first: Local<'i32'>, rows: Local<'i32'>, emit: (at: Local<'i32'>) => void): void {
    const { scope } = this.#body;
    const { units, blocks } = this.#plan;
    const whole = Math.floor(units / UNITS);
    const groups = whole % 2 === 0 && whole === blocks ? 2 : 1;
    scope.loop('row', 0, rows, 1, () => {
      const row = scope.variable('row');
      bindBatch(this.#body, this.kernel.batch, this.#f.let('row', sum(first, row)));
      const start = this.#rowAt(row);
      const part = (from: number, to: number, count: number, active: number): void => {
        if (from === to) return;
        scope.loop(this.#block, from, to, count, () => {
          const at = this.#unitAt(start);
          const lanes = { lane: this.#lane, across: this.#block, groups: count, active };
          scope.vectorise(lanes, () => emit(at));
        });
      };
      part(0, whole, groups, UNITS);
      part(whole, blocks, 1, units % UNITS);
    });
  }

  #rowAt(row: Local<'i32'>): Local<'i32'> {
    return this.#f.let('start', sum(SCRATCH, scaled(row, this.#rowBytes)));
  }

  /** Where the present block lies in an array. */
  #unitAt(start: Local<'i32'>): Local<'i32'> {
    const block = this.#body.scope.variable(this.#block);
    return this.#f.let('at', sum(start, scaled(block, UNITS * this.#type.bytes)));
  }

  // ---- values

  /** Registers of a value for all groups of the open vectors. */
  #regs(expr: Expr): Regs {
    const { scope, vb } = this.#body;
    const { regs, uniform } = convert(vb, this.#body.value(expr), this.#kind);
    if (!uniform) return regs;
    const { groups } = scope.lanes!;
    return Array.from({ length: groups * registersPerGroup(this.#kind) }, () => regs[0]!);
  }

  #put(at: Local<'i32'>, array: number, regs: Regs): void {
    for (const [i, reg] of regs.entries())
      this.#f.do(memory('v128.store', array * this.#arrayBytes + 16 * i, at, reg));
  }

  /** Makes an array's elements known as `acc` number `id`. */
  #know(id: number, at: Local<'i32'>, array: number): void {
    const { groups } = this.#body.scope.lanes!;
    const regs = Array.from({ length: groups * registersPerGroup(this.#kind) }, (_, i) =>
      this.#f.let('known', memory('v128.load', array * this.#arrayBytes + 16 * i, at)),
    );
    const value: Value = { kind: this.#kind, uniform: false, regs };
    this.#body.scope.bindAcc(id, value);
  }

  #knowStates(at: Local<'i32'>): void {
    for (const s of this.kernel.states.keys()) this.#know(s, at, s);
  }

  #store(stmts: readonly Stmt[]): void {
    for (const stmt of stmts) if (stmt.kind === 'store') this.#body.store(stmt);
  }

  // ---- products

  /** All products of a step, a tile of rows and blocks of units at a time. */
  #multiply(rows: Local<'i32'>): void {
    const { scope } = this.#body;
    const { blocks, tileRows, tileBlocks } = this.#plan;
    const middle = this.#f.let('middle', op('i32.and', rows, i32(-tileRows)));
    scope.loop(this.#block, 0, blocks, tileBlocks, () => {
      scope.loop('row', 0, middle, tileRows, () => this.#tile(tileRows));
      if (tileRows > 1) scope.loop('row', middle, rows, 1, () => this.#tile(1));
    });
  }

  #tile(rows: number): void {
    const f = this.#f;
    const { scope } = this.#body;
    const { products, k } = this.kernel;
    const { units, tileBlocks } = this.#plan;
    const start = this.#rowAt(scope.variable('row'));
    const count = tileBlocks * registersPerGroup(this.#kind);
    const sums = products.map(() =>
      Array.from({ length: rows }, () =>
        Array.from({ length: count }, () => f.let('sum', i32x4(0))),
      ),
    );
    const other = k[0]?.name ?? 'other';
    scope.loop(other, 0, units, 1, () => {
      const at = f.let('at', sum(start, scaled(scope.variable(other), this.#type.bytes)));
      const lanes = { lane: this.#lane, across: this.#block, groups: tileBlocks, active: UNITS };
      scope.vectorise(lanes, () => this.#addTerms(sums, at));
    });
    const out = this.#unitAt(start);
    for (const [p, ofRows] of sums.entries())
      for (const [r, regs] of ofRows.entries())
        this.#put(out, r * this.#arrays + this.#firstProduct + p, regs);
  }

  /** Adds what one other unit gives, whose element of the first array lies at `at`. */
  #addTerms(sums: readonly (readonly (readonly Reg[])[])[], at: Local<'i32'>): void {
    const f = this.#f;
    const factors = new Map<number, Reg>();
    const factor = (array: number): Reg => {
      let found = factors.get(array);
      if (found === undefined) {
        found = f.let('x', memory(this.#type.splatLoad, array * this.#arrayBytes, at));
        factors.set(array, found);
      }
      return found;
    };
    for (const [p, terms] of this.kernel.products.entries())
      for (const { vector, weight } of terms) {
        const weights = this.#regs(weight);
        for (const [r, regs] of sums[p]!.entries()) {
          const x = factor(r * this.#arrays + this.#firstVector + vector);
          for (const [i, reg] of regs.entries())
            f.set(reg, multiplyAdd(this.#type, this.#relaxed, reg, weights[i]!, x));
        }
      }
  }
}
