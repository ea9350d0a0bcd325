/**
 * @file A scheduled kernel as WGSL: statements and variables are spelled, nothing is chosen.
 *
 * Values go where they are known first (`ExprEmitter`). Inside `when` and in vectors of which not all elements count,
 * values are computed beside the others and only their effects are conditional: a load beyond a buffer gives anything.
 * What the first of several threads does it computes alone: the others would wait for the same.
 */
import {
  type Condition,
  extent,
  type IndexExpr,
  indexSymbols,
  type Lanes,
  loopsByRole,
  type LoopStmt,
  type RegisterValue,
  type Routine,
  type ScheduledBody,
  type ScheduledKernel,
  type ScheduledStmt,
} from '@tessera/inductor-core';
import { AccumulatorEmitter } from './accumulators.js';
import { CodeBlock } from '../code-block.js';
import { RegisterEmitter } from './emit-registers.js';
import { type Effects, StatementEmitter } from './emit-statement.js';
import { ExprEmitter } from '../values/expr-emitter.js';
import type { ProgramBuilder } from '../program.js';
import { ScheduleNames } from './schedule-names.js';
import type { SeenKernel } from './scheduled-lanes.js';
import type { WgslTarget } from '../target.js';
import { computeType, typeName, type Width } from '../values/wgsl-types.js';

type Effect = 'store' | 'update' | 'settle' | 'share' | 'fetch' | 'merge';
const EFFECTS: ReadonlySet<string> = new Set<Effect>([
  'store',
  'update',
  'settle',
  'share',
  'fetch',
  'merge',
]);

/** Exponentials are WGSL's own, which may be off by 2|x| units in the last place. */
class QuickEmitter extends ExprEmitter {
  override helper(name: string, width: Width): string {
    return name === 'exp' ? name : super.helper(name, width);
  }
}

/** See the file header. */
export class ScheduledEmitter {
  private readonly emitter: ExprEmitter;
  private readonly points = new Map<number, object>();
  private readonly scheduled: ScheduledKernel;
  private readonly names: ScheduleNames;
  private readonly registers: RegisterEmitter;
  private readonly single: StatementEmitter;
  private effects: Effects | null = null;
  private readonly inlined = new Map<string, (block: CodeBlock, at: readonly string[]) => void>();

  /** Emits a kernel of a program, whose buffers are declared as its accesses want them. */
  constructor(
    private readonly seen: SeenKernel,
    private readonly builder: ProgramBuilder,
    private readonly target: WgslTarget,
  ) {
    const { scheduled, lanes, still, context, roots, inner } = seen;
    this.scheduled = scheduled;
    this.names = new ScheduleNames(scheduled, lanes, builder, target);
    const Emitter = seen.isQuick ? QuickEmitter : ExprEmitter;
    this.emitter = new Emitter(builder, context, roots, inner, still);
    const { reduced } = loopsByRole(scheduled.kernel);
    const accumulators = new AccumulatorEmitter(scheduled, this.emitter, extent(reduced));
    const { shared, registers = 'float32' } = scheduled;
    const place = this.names.place.bind(this.names);
    this.registers = new RegisterEmitter({ shared, registers, place }, builder);
    const { names, emitter } = this;
    this.single = new StatementEmitter({
      seen,
      builder,
      target,
      names,
      emitter,
      accumulators,
      registers: this.registers,
    });
    this.names.registers = this.registers;
  }

  /** Emits the body for the instance whose number is `group`. */
  emit(block: CodeBlock, group: string): void {
    const { grid, body, shared } = this.scheduled;
    for (const { name, width } of shared) if (width !== undefined) this.registers.array(name);
    for (const { seen, routine } of this.seen.routines)
      new ScheduledEmitter(seen, this.builder, this.target).routine(routine);
    this.names.own(grid.name, group);
    this.names.own('lane', 'lane');
    this.within(block, () => this.body(body));
  }

  /** Emits a part of a body; variables that are not of it go by their names. */
  part(block: CodeBlock, body: ScheduledBody): void {
    this.within(block, () => this.body(body));
  }

  /** Has other code write what is done at visits of a routine, of texts of its places. */
  inline(routine: string, write: (block: CodeBlock, at: readonly string[]) => void): void {
    this.inlined.set(routine, write);
  }

  /** Text of a place. */
  place(index: IndexExpr): string {
    return this.names.place(index);
  }

  /** Text of a value in registers. */
  value(value: RegisterValue): string {
    return this.registers.value(value);
  }

  /** Adds the function that a routine is. */
  routine({ name, parameters, results, isSingle, gives, body }: Routine): void {
    const { emitter, builder } = this;
    const type = computeType(this.scheduled.registers!);
    const block = new CodeBlock();
    for (const parameter of parameters) this.names.own(parameter, parameter);
    const width = isSingle ? 1 : 4;
    for (const [id, text] of results.entries())
      emitter.setAcc(id, { text, type, width, atom: true });
    // All is read before anything is written.
    const stores = new CodeBlock();
    const effects: Effects = { updates: block, stores: { full: stores }, valid: null };
    this.within(block, () => this.conditionally(effects, body));
    block.append(stores);
    const given = gives === 'bool' ? 'bool' : (this.seen.loaded?.vector ?? typeName(type, 4));
    const all = [
      ...parameters.map((parameter) => `${parameter}: u32`),
      ...results.map((result) => `${result}: ${typeName(type, width)}`),
    ].join(', ');
    builder.addFunction(`${name}(${all})${gives === undefined ? '' : ` -> ${given}`}`, block);
  }

  /** The block that statements go to. */
  private get block(): CodeBlock {
    return this.emitter.block;
  }

  /** Opens a scope around what is emitted to a block. */
  private within(block: CodeBlock, emit: () => void, key?: object): void {
    this.emitter.enter(block, this.names.open(), key);
    emit();
    this.emitter.leave();
    this.names.close();
  }

  private body(body: ScheduledBody): void {
    for (const stmt of body) this.stmt(stmt);
  }

  private stmt(stmt: ScheduledStmt): void {
    switch (stmt.kind) {
      case 'loop':
        return this.loop(stmt);
      case 'when':
        return this.when(stmt);
      case 'vector':
        return this.vector(stmt.lanes, stmt.body);
      case 'visit': {
        const own = this.inlined.get(stmt.routine);
        if (own === undefined) return this.single.emit(stmt, this.effects);
        return own(
          this.block,
          stmt.at.map((index) => this.names.place(index)),
        );
      }
      case 'point': {
        let key = this.points.get(stmt.number);
        if (key === undefined) this.points.set(stmt.number, (key = {}));
        return this.within(this.block, () => this.body(stmt.body), key);
      }
      default:
        return this.single.emit(stmt, this.effects);
    }
  }

  private loop(stmt: LoopStmt): void {
    if (stmt.unrolled) return this.unroll(stmt);
    const { name, begin, ends, pace, only, body } = stmt;
    const { block } = this;
    const from = this.names.place(begin);
    const limits = ends.map((end) => this.names.place(end));
    if (only !== undefined)
      limits.push(`select(0u, ${limits.pop()}, ${this.names.condition(only)})`);
    const limit = limits.length === 1 ? limits[0]! : `min(${limits.join(', ')})`;
    const i = this.names.identifier(name);
    const content = new CodeBlock();
    this.where(only === undefined ? [] : [only], () =>
      this.within(content, () => {
        this.names.know(name, i);
        this.body(body);
      }),
    );
    const head =
      pace === 'halve' ? `${i} > 0u; ${i} = ${i} >> 1u` : `${i} < ${limit}; ${i} += ${pace}u`;
    block.nest(`for (var ${i} = ${from}; ${head})`, content);
  }

  /** A copy of the body for each step. */
  private unroll({ name, begin, ends, pace, body }: LoopStmt): void {
    const [from, to] = [begin, ends[0]!].map((end) => (end as { readonly value: number }).value);
    for (let i = from!; i < to!; i += pace as number) {
      this.names.fix(name, i);
      const copy = new CodeBlock();
      this.within(copy, () => this.body(body));
      this.block.nest('', copy);
    }
    this.names.fix(name, null);
  }

  private when({ all, body, otherwise }: Extract<ScheduledStmt, { kind: 'when' }>): void {
    const { block } = this;
    const condition = `if (${this.names.conditions(all)})`;
    const inner = new CodeBlock();
    this.where(all, () => {
      if (body.every(({ kind }) => EFFECTS.has(kind))) {
        const isForFew = all.some(({ kind }) => kind === 'first');
        if (isForFew) this.emitter.confine(inner);
        this.conditionally({ updates: inner, stores: { full: inner }, valid: null }, body);
        if (isForFew) this.emitter.leave();
      } else this.within(inner, () => this.body(body));
    });
    block.nest(condition, inner);
    if (otherwise === undefined) return;
    const other = new CodeBlock();
    this.within(other, () => this.body(otherwise));
    block.nest('else', other);
  }

  /** Emits what only happens where conditions hold. */
  private where(all: readonly Condition[], emit: () => void): void {
    const tests = all.flatMap((each) => (each.kind === 'test' ? [each.name] : []));
    this.emitter.where(tests, emit);
  }

  private conditionally(effects: Effects, body: ScheduledBody): void {
    const before = this.effects;
    this.effects = effects;
    this.body(body);
    this.effects = before;
  }

  private vector({ lane, valid, step }: Lanes, body: ScheduledBody): void {
    const { block, builder } = this;
    if (typeof valid === 'number') {
      this.widen(lane, body);
      return this.body(body);
    }
    const [index, limit] = [this.names.place(valid.index), builder.size(valid.limit)];
    const [updates, full, partial] = [new CodeBlock(), new CodeBlock(), new CodeBlock()];
    const condition = (lane: number): string => `${index} + ${lane * step}u < ${limit}`;
    const hasUpdates = body.some(({ kind }) => kind === 'update');
    const mask = hasUpdates ? builder.names.fresh('valid') : null;
    if (mask !== null) {
      const all = this.emitter.indexLanes(valid.index).text;
      block.line(`let ${mask} = ${all} < vec4u(${limit});`);
    }
    this.within(block, () => {
      this.widen(lane, body);
      this.conditionally(
        { updates, stores: { full, partial: { block: partial, condition } }, valid: mask },
        body,
      );
    });
    block.append(updates);
    // Contiguous vectors are written as such where they are whole.
    if (step === 1) {
      block.nest(`if (${condition(3)})`, full);
      block.nest('else', partial);
    } else block.append(partial);
  }

  /** Gives a variable of the schedule its four values, where a vector along it defines others by them. */
  private widen(lane: string, body: ScheduledBody): void {
    const isOf = (index: IndexExpr): boolean => indexSymbols(index).has(lane);
    const asks = (stmt: ScheduledStmt): boolean =>
      stmt.kind === 'let'
        ? isOf(stmt.index)
        : stmt.kind === 'give' && stmt.where?.kind === 'below' && isOf(stmt.where.index);
    if (this.names.isOfKernel(lane) || !body.some(asks)) return;
    this.block.line(`let ${lane}_lanes = ${lane} + vec4u(0u, 1u, 2u, 3u);`);
    this.names.own(lane, `${lane}_lanes`, 4);
  }
}
