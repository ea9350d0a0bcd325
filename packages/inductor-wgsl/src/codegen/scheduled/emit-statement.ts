/**
 * @file Statements of a scheduled kernel that hold no others, as WGSL.
 */
import { asIndex, indexSymbols, type ScheduledStmt } from '@tessera/inductor-core';
import type { AccumulatorEmitter } from './accumulators.js';
import { CodeBlock } from '../code-block.js';
import type { RegisterEmitter } from './emit-registers.js';
import type { ExprEmitter } from '../values/expr-emitter.js';
import { givenText } from '../values/given-text.js';
import type { ProgramBuilder } from '../program.js';
import type { ScheduleNames } from './schedule-names.js';
import type { SeenKernel } from './scheduled-lanes.js';
import { emitStore, type StoreSink } from '../values/store-emitter.js';
import type { WgslTarget } from '../target.js';
import { widen } from '../values/value.js';
import { typeName } from '../values/wgsl-types.js';

/** Where effects go while they are conditional. */
export interface Effects {
  readonly updates: CodeBlock;
  readonly stores: StoreSink;
  /** Text of the lanes that count; all do where there is none. */
  readonly valid: string | null;
}

/** A statement that holds no others. */
export type SingleStmt = Exclude<ScheduledStmt, { kind: 'loop' | 'when' | 'vector' | 'point' }>;

/** What the emitters of a kernel share. */
export interface EmitterParts {
  readonly seen: SeenKernel;
  readonly builder: ProgramBuilder;
  readonly target: WgslTarget;
  readonly names: ScheduleNames;
  readonly emitter: ExprEmitter;
  readonly accumulators: AccumulatorEmitter;
  readonly registers: RegisterEmitter;
}

/** Emits single statements to the block that the kernel's emitter has open. */
export class StatementEmitter {
  constructor(private readonly parts: EmitterParts) {}

  /** Emits a statement; its effects go where `effects` says, if they are conditional. */
  emit(stmt: SingleStmt, effects: Effects | null): void {
    const { seen, names, emitter, accumulators, registers } = this.parts;
    const { block } = emitter;
    const updates = effects?.updates ?? block;
    switch (stmt.kind) {
      case 'let':
        return this.let(stmt);
      case 'test':
        return block.line(`let ${stmt.name} = ${names.conditions(stmt.all)};`);
      case 'exit':
        return block.line(
          `if (${stmt.unless.map((each) => names.opposite(each)).join(' || ')}) { return; }`,
        );
      case 'start':
        for (const name of stmt.of)
          accumulators.start(seen.scheduled.accumulators.find((each) => each.name === name)!);
        return;
      case 'settle':
        for (const name of stmt.of) accumulators.settle(name, updates);
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
        return this.update(stmt, updates, effects?.valid ?? null);
      case 'share':
      case 'fetch':
      case 'merge':
        return accumulators[stmt.kind](stmt.of, updates, stmt.arrays, names.place(stmt.at));
      case 'exchange':
        return this.exchange(stmt);
      case 'barrier':
        return block.line('workgroupBarrier();');
      case 'ask':
        for (const each of stmt.of) emitter.value(each);
        return;
      case 'mark': {
        const cell = registers.cell(stmt.cell);
        return block.line(`if (${names.condition(stmt.where)}) { atomicStore(&${cell}, 1u); }`);
      }
      case 'agree': {
        const cell = registers.cell(stmt.cell);
        return block.line(`let ${stmt.name} = workgroupUniformLoad(&${cell}) != 0u;`);
      }
      case 'give':
        for (const line of givenText(stmt, emitter, names, seen.loaded).split('\n'))
          block.line(line);
        return;
      case 'clear':
      case 'set':
      case 'add':
      case 'multiply':
      case 'write':
      case 'visit':
      case 'pair':
        return registers.emit(block, stmt);
      case 'keep':
      case 'recall':
        throw new TypeError('threads keep values in registers');
      case 'store':
        return emitStore(emitter, stmt, effects?.stores ?? { full: block });
    }
  }

  /** A variable that is another one, or a number, goes by its text, unless it is one of the schedule's own. */
  private let({ name, index, atMost }: Extract<ScheduledStmt, { kind: 'let' }>): void {
    const { names, emitter } = this.parts;
    const text = names.place(index);
    const isPlain = index.kind === 'sym' || index.kind === 'int';
    const isOwn = !names.isOfKernel(name.split('@')[0]!);
    if (isPlain && !isOwn && atMost === undefined) return names.know(name, text);
    const identifier = names.identifier(name);
    const width = [...indexSymbols(index)].some((symbol) => names.isWide(symbol)) ? 4 : 1;
    const bounded = atMost === undefined ? text : `min(${text}, ${names.place(asIndex(atMost))})`;
    emitter.block.line(`let ${identifier} = ${bounded};`);
    names.know(name, identifier, width);
  }

  /** Sums are one instruction of a whole subgroup; others are written out where the number of threads is known. */
  private exchange({ of, among }: Extract<ScheduledStmt, { kind: 'exchange' }>): void {
    const { accumulators, target, names, builder, emitter } = this.parts;
    const { block } = emitter;
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
    const mask = builder.names.fresh('mask');
    const content = new CodeBlock();
    step(content, mask);
    const head = `var ${mask} = 1u; ${mask} < ${names.place(among)}; ${mask} = ${mask} << 1u`;
    block.nest(`for (${head})`, content);
  }

  private update(
    { of, value, at }: Extract<ScheduledStmt, { kind: 'update' }>,
    block: CodeBlock,
    valid: string | null,
  ): void {
    const { emitter, accumulators } = this.parts;
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
    accumulators.update(of, block, x, { text: position, type: 'i32', width, atom: false }, valid);
  }
}
