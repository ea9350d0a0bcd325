/**
 * @file Recurrences: a workgroup runs all steps of a row, and its threads keep the weights in registers, where those are
 * few enough.
 *
 * `unit` is the element of the states that a thread works at, `member` which terms of its products are the thread's.
 * Each step the vectors go through workgroup memory to all threads and the terms back to the first member of each unit,
 * which alone knows the states.
 */
import {
  type Expr,
  extent,
  postorder,
  type RecurrenceKernel,
  type ScheduleFacts,
  stmtRoots,
} from '@tessera/inductor-core';
import type { Size } from '@tessera/shared';
import { CodeBlock } from '../code-block.js';
import type { ExprEmitter } from '../values/expr-emitter.js';
import { decompose } from '../scheduled/loop-vars.js';
import type { ProgramBuilder } from '../program.js';
import { type Symbols, StepValues } from './step-values.js';
import { emitStore } from '../values/store-emitter.js';
import type { WgslTarget } from '../target.js';
import type { Value } from '../values/value.js';
import { computeType, typeName, type ScalarType } from '../values/wgsl-types.js';

/** Threads of a unit: each has some of the terms of its products. */
function membersOf({ n, products }: RecurrenceKernel<Size>, target: WgslTarget): number {
  const most = Math.floor(target.maxWorkgroupThreads / extent(n));
  return Math.max(1, Math.min(products.flat().length, most));
}

/** Threads of a workgroup. */
export function recurrenceThreads(kernel: RecurrenceKernel<Size>, target: WgslTarget): number {
  return extent(kernel.n) * membersOf(kernel, target);
}

/** See the file header. */
export class RecurrenceGenerator {
  private readonly type: ScalarType;
  private readonly values: StepValues;
  private readonly vector: string;
  /** Elements of a state, and vectors of four that hold as many. */
  private readonly units: number;
  private readonly chunks: number;
  /** Terms of all products in order, with what they are multiplied with. */
  private readonly terms: RecurrenceKernel<Size>['products'][number];
  /** Threads that share a unit, and how many terms each has. */
  private readonly members: number;
  private readonly rounds: number;
  private body = new CodeBlock();
  private readonly states: readonly string[];
  private readonly vectors: string;
  private readonly parts: string;

  constructor(
    private readonly kernel: RecurrenceKernel<Size>,
    private readonly builder: ProgramBuilder,
  ) {
    this.type = computeType(kernel.accDtype);
    this.values = new StepValues(builder, this.type);
    this.vector = typeName(this.type, 4);
    this.units = extent(kernel.n);
    this.chunks = Math.ceil(this.units / 4);
    this.terms = kernel.products.flat();
    this.members = membersOf(kernel, builder.target);
    this.rounds = Math.ceil(this.terms.length / this.members);
    const { names } = this.builder;
    this.states = kernel.states.map(() => names.fresh('state'));
    const padded = this.chunks * 4;
    this.vectors = this.builder.workgroupArray(
      'vectors',
      this.type,
      kernel.vectors.length * padded,
    );
    this.parts = this.builder.workgroupArray('parts', this.type, this.terms.length * this.units);
  }

  /** Appends the kernel, for the row of that number. */
  emit(body: CodeBlock, row: string): void {
    const { kernel, builder, units } = this;
    this.body = body;
    body.line(`let row = ${row};`);
    body.line(`let unit = lane % ${units}u;`);
    body.line(`let member = lane / ${units}u;`);
    const symbols: Symbols = new Map([
      ...decompose(body, builder, kernel.batch, 'row'),
      ...decompose(body, builder, kernel.n, 'unit'),
    ]);
    this.loadWeights(symbols);
    this.initialise(symbols);
    this.steps(symbols);
    this.storeLast(symbols);
  }

  facts(): ScheduleFacts {
    const { kernel, units, members, rounds, chunks } = this;
    return {
      kernel: kernel.name,
      facts: {
        'a workgroup': 'all steps of a row',
        'threads of a workgroup': `${units} units × ${members} members`,
        'terms of a thread': rounds,
        'weights in registers of a thread': rounds * chunks * 4,
      },
    };
  }

  private weight(round: number, chunk: number): string {
    return `w${round}_${chunk}`;
  }

  /** The weights of each member's terms, a register for each four. */
  private loadWeights(symbols: Symbols): void {
    const { body, terms, members, rounds, chunks, vector } = this;
    for (let round = 0; round < rounds; round++)
      for (let chunk = 0; chunk < chunks; chunk++)
        body.line(`var ${this.weight(round, chunk)} = ${vector}();`);
    const cases = new CodeBlock();
    for (let member = 0; member < members; member++) {
      const block = new CodeBlock();
      for (let round = 0; round < rounds; round++) {
        const term = terms[round * members + member];
        for (let chunk = 0; term !== undefined && chunk < chunks; chunk++) {
          const values = [0, 1, 2, 3].map((i) =>
            this.weightAt(block, symbols, term.weight, chunk * 4 + i),
          );
          block.line(`${this.weight(round, chunk)} = ${vector}(${values.join(', ')});`);
        }
      }
      cases.nest(member === members - 1 ? 'default:' : `case ${member}u:`, block);
    }
    body.nest('switch (member)', cases);
  }

  private weightAt(block: CodeBlock, symbols: Symbols, weight: Expr, at: number): string {
    if (at >= this.units) return '0';
    const [k] = this.kernel.k;
    const other: Symbols =
      k === undefined ? symbols : new Map([...symbols, [k.name, { text: `${at}u`, width: 1 }]]);
    return this.values.emitter(block, other, [weight]).value(weight).text;
  }

  private initialise(symbols: Symbols): void {
    const { body, kernel, states } = this;
    const roots = kernel.states.map(({ initial }) => initial);
    const emitter = this.values.emitter(body, symbols, roots);
    for (const [s, root] of roots.entries())
      body.line(`var ${states[s]} = ${emitter.value(root).text};`);
  }

  /** The loop over the steps. What a step reads is asked for a step ahead: memory takes as long to answer as a step. */
  private steps(symbols: Symbols): void {
    const { body, builder, kernel } = this;
    const roots = [
      ...kernel.vectors,
      ...kernel.states.map(({ next }) => next),
      ...kernel.stores.flatMap(stmtRoots),
    ];
    // Not of what the kernel writes, which a step may change, nor where the states have a part in the place.
    const loads = postorder(roots).filter(
      (expr) =>
        expr.kind === 'load' &&
        builder.buffer(expr.buf).param.access === 'read' &&
        postorder([expr]).every(({ kind }) => kind !== 'acc'),
    );
    const symbolsAt = (block: CodeBlock, step: string): Symbols =>
      new Map([...symbols, ...decompose(block, builder, kernel.step, step)]);
    const load = (block: CodeBlock, step: string): Value[] => {
      const emitter = this.values.emitter(block, symbolsAt(block, step), loads);
      return loads.map((expr) => emitter.value(expr));
    };
    const ahead = load(body, '0u').map((value) => {
      const text = builder.names.fresh('ahead');
      body.line(`var ${text} = ${value.text};`);
      return { ...value, text };
    });
    const step = builder.names.fresh('step');
    const steps = builder.size(extent(kernel.step));
    const loop = new CodeBlock();
    const emitter = this.values.emitter(loop, symbolsAt(loop, step), roots);
    for (const [i, value] of ahead.entries())
      emitter.setAcc(loads[i], emitter.atom({ ...value, atom: false }));
    if (loads.length > 0) {
      const next = builder.names.fresh('next');
      loop.line(`let ${next} = min(${step} + 1u, ${steps} - 1u);`);
      for (const [i, { text }] of load(loop, next).entries())
        loop.line(`${ahead[i].text} = ${text};`);
    }
    this.step(loop, emitter);
    body.nest(`for (var ${step} = 0u; ${step} < ${steps}; ${step}++)`, loop);
  }

  /** A step: one member knows the states and makes the next ones, all multiply. */
  private step(loop: CodeBlock, emitter: ExprEmitter): void {
    const { kernel, states, builder } = this;
    // States change at the end of a step, while what is computed of them goes by their names.
    const present = states.map((state) => builder.names.fresh(`${state}_now`));
    for (const [s, name] of present.entries()) loop.line(`let ${name} = ${states[s]};`);
    this.values.know(emitter, 0, present);
    const shared = new CodeBlock();
    for (const [v, vector] of kernel.vectors.entries())
      shared.line(
        `${this.vectors}[unit + ${v * this.chunks * 4}u] = ${emitter.value(vector).text};`,
      );
    loop.nest('if (member == 0u)', shared);
    loop.line('workgroupBarrier();');
    this.multiply(loop);
    loop.line('workgroupBarrier();');
    const last = new CodeBlock();
    emitter.confine(last);
    this.values.know(emitter, states.length, this.products(last));
    for (const stmt of kernel.stores)
      if (stmt.kind === 'store') emitStore(emitter, stmt, { full: last });
    const following = kernel.states.map(({ next }) => emitter.atom(emitter.value(next)).text);
    for (const [s, text] of following.entries()) last.line(`${states[s]} = ${text};`);
    emitter.leave();
    loop.nest('if (member == 0u)', last);
  }

  /** The terms of this thread, into workgroup memory. */
  private multiply(loop: CodeBlock): void {
    const { terms, members, rounds, units, chunks, vector } = this;
    for (let round = 0; round < rounds; round++) {
      const first = round * members;
      const present = terms.slice(first, first + members);
      const starts = present.map(({ vector: v }) => v * chunks * 4);
      const block = new CodeBlock();
      const start = new Set(starts).size === 1 ? `${starts[0]}u` : 'start';
      if (start === 'start') {
        const list = starts.map((at) => `${at}u`).join(', ');
        const spread = starts[1] - starts[0];
        const isEven = starts.every((at, i) => at === starts[0] + i * spread);
        const text = isEven
          ? `member * ${spread}u + ${starts[0]}u`
          : `array<u32, ${starts.length}>(${list})[member]`;
        block.line(`let start = ${text};`);
      }
      block.line(`var sum = ${vector}();`);
      for (let chunk = 0; chunk < chunks; chunk++) {
        const values = [0, 1, 2, 3].map((i) => `${this.vectors}[${start} + ${chunk * 4 + i}u]`);
        block.line(`sum += ${this.weight(round, chunk)} * ${vector}(${values.join(', ')});`);
      }
      const at = first === 0 ? 'lane' : `lane + ${first * units}u`;
      block.line(`${this.parts}[${at}] = (sum.x + sum.y) + (sum.z + sum.w);`);
      const isWhole = present.length === members;
      loop.nest(isWhole ? '' : `if (member < ${present.length}u)`, block);
    }
  }

  /** Names of the products of this unit. */
  private products(loop: CodeBlock): string[] {
    const { kernel, units, builder } = this;
    let term = 0;
    return kernel.products.map((list) => {
      const parts = list.map(() => `${this.parts}[unit + ${units * term++}u]`);
      const name = builder.names.fresh('product');
      loop.line(`let ${name} = ${parts.join(' + ')};`);
      return name;
    });
  }

  private storeLast(symbols: Symbols): void {
    const { body, kernel, states } = this;
    const block = new CodeBlock();
    const emitter = this.values.emitter(block, symbols, kernel.lastStores.flatMap(stmtRoots));
    this.values.know(emitter, 0, states);
    for (const stmt of kernel.lastStores)
      if (stmt.kind === 'store') emitStore(emitter, stmt, { full: block });
    body.nest('if (member == 0u)', block);
  }
}
