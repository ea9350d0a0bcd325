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
  indexSymbols,
  type Lanes,
  loopsByRole,
  type LoopStmt,
  type Routine,
  type ScheduledBody,
  type ScheduledKernel,
  type ScheduledStmt,
} from '@tessera/inductor-core';
import { AccumulatorEmitter } from './accumulators.js';
import { CodeBlock } from './code-block.js';
import { RegisterEmitter } from './emit-registers.js';
import { ExprEmitter } from './expr-emitter.js';
import { givenText } from './given-text.js';
import type { ProgramBuilder } from './program.js';
import { ScheduleNames } from './schedule-names.js';
import type { SeenKernel } from './scheduled-lanes.js';
import { emitStore, type StoreSink } from './store-emitter.js';
import type { WgslTarget } from './target.js';
import { widen } from './value.js';
import { computeType, typeName } from './wgsl-types.js';

/** Where effects go while they are conditional. */
interface Effects {
  readonly updates: CodeBlock;
  readonly stores: StoreSink;
  /** Text of the lanes that count; all do where there is none. */
  readonly valid: string | null;
}

type Effect = 'store' | 'update' | 'settle' | 'share' | 'fetch' | 'merge';
const EFFECTS: ReadonlySet<string> = new Set<Effect>([
  'store',
  'update',
  'settle',
  'share',
  'fetch',
  'merge',
]);

/** See the file header. */
export class ScheduledEmitter {
  private readonly emitter: ExprEmitter;
  private readonly accumulators: AccumulatorEmitter;
  private readonly points = new Map<number, object>();
  private readonly scheduled: ScheduledKernel;
  private readonly names: ScheduleNames;
  private readonly registers: RegisterEmitter;
  private effects: Effects | null = null;

  /** Emits a kernel of a program, whose buffers are declared as its accesses want them. */
  constructor(
    private readonly seen: SeenKernel,
    private readonly builder: ProgramBuilder,
    private readonly target: WgslTarget,
  ) {
    const { scheduled, lanes, still, context, roots, inner } = seen;
    this.scheduled = scheduled;
    this.names = new ScheduleNames(scheduled, lanes, builder, target);
    this.emitter = new ExprEmitter(builder, context, roots, inner, still);
    const { reduced } = loopsByRole(scheduled.kernel);
    this.accumulators = new AccumulatorEmitter(scheduled, this.emitter, extent(reduced));
    const { shared, registers = 'float32' } = scheduled;
    const place = this.names.place.bind(this.names);
    this.registers = new RegisterEmitter({ shared, registers, place }, builder);
    this.names.call = ({ routine, at }) => this.registers.call(routine, at);
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

  /** Text of an array of cells, which is declared if it is not; or which other code has declared as `own`. */
  array(name: string, own?: string): string {
    return this.registers.array(name, own);
  }

  /** Adds the function that a routine is. */
  routine({ name, parameters, results, gives, body }: Routine): void {
    const { emitter, builder } = this;
    const type = computeType(this.scheduled.registers!);
    const block = new CodeBlock();
    for (const parameter of parameters) this.names.own(parameter, parameter);
    for (const [id, text] of results.entries())
      emitter.setAcc(id, { text, type, width: 4, atom: true });
    // All is read before anything is written.
    const stores = new CodeBlock();
    const effects: Effects = { updates: block, stores: { full: stores }, valid: null };
    this.within(block, () => this.conditionally(effects, body));
    block.append(stores);
    const vector = typeName(type, 4);
    const given = gives === 'bool' ? 'bool' : (this.seen.loaded?.vector ?? vector);
    const all = [
      ...parameters.map((parameter) => `${parameter}: u32`),
      ...results.map((result) => `${result}: ${vector}`),
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
    const { block, accumulators } = this;
    const effectBlock = this.effects?.updates ?? block;
    switch (stmt.kind) {
      case 'let':
        return this.let(stmt);
      case 'test':
        return block.line(`let ${stmt.name} = ${this.names.conditions(stmt.all)};`);
      case 'exit':
        return block.line(
          `if (${stmt.unless.map((each) => this.names.opposite(each)).join(' || ')}) { return; }`,
        );
      case 'loop':
        return this.loop(stmt);
      case 'when':
        return this.when(stmt);
      case 'vector':
        return this.vector(stmt.lanes, stmt.body);
      case 'point': {
        let key = this.points.get(stmt.number);
        if (key === undefined) this.points.set(stmt.number, (key = {}));
        return this.within(block, () => this.body(stmt.body), key);
      }
      case 'start':
        for (const name of stmt.of)
          accumulators.start(this.scheduled.accumulators.find((each) => each.name === name)!);
        return;
      case 'settle':
        for (const name of stmt.of) accumulators.settle(name, effectBlock);
        return;
      case 'part':
        for (const name of stmt.of) accumulators.part(name);
        return;
      case 'fold':
        for (const name of stmt.of) accumulators.fold(name);
        return;
      case 'finish':
        return accumulators.finish(stmt.of);
      case 'update':
        return this.update(stmt, effectBlock);
      case 'share':
      case 'fetch':
      case 'merge':
        return accumulators[stmt.kind](
          stmt.of,
          effectBlock,
          stmt.arrays,
          this.names.place(stmt.at),
        );
      case 'exchange':
        return this.exchange(stmt);
      case 'barrier':
        return block.line('workgroupBarrier();');
      case 'mark': {
        const cell = this.registers.cell(stmt.cell);
        const where = this.names.condition(stmt.where);
        return block.line(`if (${where}) { atomicStore(&${cell}, 1u); }`);
      }
      case 'agree': {
        const cell = this.registers.cell(stmt.cell);
        return block.line(`let ${stmt.name} = workgroupUniformLoad(&${cell}) != 0u;`);
      }
      case 'give':
        for (const line of givenText(stmt, this.emitter, this.names, this.seen.loaded).split('\n'))
          block.line(line);
        return;
      case 'clear':
      case 'set':
      case 'add':
      case 'multiply':
      case 'write':
      case 'visit':
        return this.registers.emit(block, stmt);
      case 'keep':
      case 'recall':
        throw new TypeError('threads keep values in registers');
      case 'store':
        return emitStore(this.emitter, stmt, this.effects?.stores ?? { full: block });
    }
  }

  /** A variable that is another one, or a number, goes by its text, unless it is one of the schedule's own. */
  private let({ name, index, atMost }: Extract<ScheduledStmt, { kind: 'let' }>): void {
    const text = this.names.place(index);
    const isPlain = index.kind === 'sym' || index.kind === 'int';
    const isOwn = !this.names.isOfKernel(name.split('@')[0]!);
    if (isPlain && !isOwn && atMost === undefined) return this.names.know(name, text);
    const { block } = this;
    const identifier = this.names.identifier(name);
    const width = [...indexSymbols(index)].some((symbol) => this.names.isWide(symbol)) ? 4 : 1;
    const bounded = atMost === undefined ? text : `min(${text}, ${this.builder.size(atMost)})`;
    block.line(`let ${identifier} = ${bounded};`);
    this.names.know(name, identifier, width);
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
  }

  /** Sums are one instruction of a whole subgroup; others are written out where the number of threads is known. */
  private exchange({ of, among }: Extract<ScheduledStmt, { kind: 'exchange' }>): void {
    const { block, accumulators, target } = this;
    const { min, max } = target.subgroups!;
    const isSubgroup =
      among.kind === 'int' ? among.value === min && min === max : among.kind === 'sym';
    const rest = of.filter((name) => !isSubgroup || !accumulators.addUp(name, block));
    const step = (to: CodeBlock, mask: string): void => {
      for (const name of rest) accumulators.exchange(name, to, mask);
    };
    if (rest.length === 0) return;
    if (among.kind === 'int') {
      for (let mask = 1; mask < among.value; mask *= 2) step(block, `${mask}u`);
      return;
    }
    const mask = this.builder.names.fresh('mask');
    const content = new CodeBlock();
    step(content, mask);
    const head = `var ${mask} = 1u; ${mask} < ${this.names.place(among)}; ${mask} = ${mask} << 1u`;
    block.nest(`for (${head})`, content);
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
    const defines = (stmt: ScheduledStmt): boolean =>
      stmt.kind === 'let' && indexSymbols(stmt.index).has(lane);
    if (this.names.isOfKernel(lane) || !body.some(defines)) return;
    this.block.line(`let ${lane}_lanes = ${lane} + vec4u(0u, 1u, 2u, 3u);`);
    this.names.own(lane, `${lane}_lanes`, 4);
  }

  private update(
    { of, value, at }: Extract<ScheduledStmt, { kind: 'update' }>,
    block: CodeBlock,
  ): void {
    const { emitter } = this;
    const { width } = emitter.context;
    const found = emitter.value(value);
    const isWide = found.width === width;
    const x = emitter.atom({
      ...found,
      text: widen(found, width),
      width,
      atom: found.atom && isWide,
    });
    const place = emitter.indexLanes(at);
    const places = place.width === width ? place.text : `vec4u(${place.text})`;
    const position = `${typeName('i32', width)}(${places})`;
    this.accumulators.update(
      of,
      block,
      x,
      { text: position, type: 'i32', width, atom: false },
      this.effects?.valid ?? null,
    );
  }
}
