/**
 * @file Recurrences: a workgroup runs all steps of a row, and its threads keep the weights in registers.
 *
 * `unit` is the element of the states that a thread works at, `member` which terms of its products are the thread's.
 * Each step the vectors go through workgroup memory to all threads and the terms back to the members of each unit, who
 * all know the states. What is computed of them, all compute, one writes.
 */
import {
  type Expr,
  extent,
  LaneContext,
  postorder,
  type RecurrenceKernel,
  type ScheduleFacts,
  stmtRoots,
} from '@tessera/inductor-core';
import type { Size } from '@tessera/shared';
import { CodeBlock } from './code-block.js';
import { linearGrid } from './dispatch.js';
import { ExprEmitter } from './expr-emitter.js';
import type { SymbolText } from './index-emitter.js';
import { decompose } from './loop-vars.js';
import { ProgramBuilder } from './program.js';
import type { WgslProgram } from './wgsl-program.js';
import { emitStore } from './store-emitter.js';
import type { WgslTarget } from './target.js';
import type { KernelVariant } from './variant.js';
import { computeType, typeName, type ScalarType } from './wgsl-types.js';

/** Generates a recurrence kernel. */
export function generateRecurrence(
  kernel: RecurrenceKernel<Size>,
  target: WgslTarget,
  variant: KernelVariant,
): WgslProgram {
  return new RecurrenceGenerator(kernel, target, variant).generate();
}

type Symbols = ReadonlyMap<string, SymbolText>;

class RecurrenceGenerator {
  private readonly builder: ProgramBuilder;
  private readonly context = new LaneContext({}, []);
  private readonly type: ScalarType;
  private readonly vector: string;
  /** Elements of a state, and vectors of four that hold as many. */
  private readonly units: number;
  private readonly chunks: number;
  /** Terms of all products in order, with what they are multiplied with. */
  private readonly terms: RecurrenceKernel<Size>['products'][number];
  /** Threads that share a unit, and how many terms each has. */
  private readonly members: number;
  private readonly rounds: number;
  private readonly body = new CodeBlock();
  private readonly states: readonly string[];
  private readonly vectors: string;
  private readonly parts: string;

  constructor(
    private readonly kernel: RecurrenceKernel<Size>,
    private readonly target: WgslTarget,
    variant: KernelVariant,
  ) {
    this.builder = new ProgramBuilder(kernel, target, variant, new Set());
    this.type = computeType(kernel.accDtype);
    this.vector = typeName(this.type, 4);
    this.units = extent(kernel.n) as number;
    this.chunks = Math.ceil(this.units / 4);
    this.terms = kernel.products.flat();
    const most = Math.floor(target.maxWorkgroupThreads / this.units);
    this.members = Math.max(1, Math.min(this.terms.length, most));
    this.rounds = Math.ceil(this.terms.length / this.members);
    const { names } = this.builder;
    for (const name of ['row', 'unit', 'member', 'start', 'sum']) names.claim(name);
    this.states = kernel.states.map(() => names.fresh('state'));
    const padded = this.chunks * 4;
    this.vectors = this.builder.workgroupArray(
      'vectors',
      this.type,
      kernel.vectors.length * padded,
    );
    this.parts = this.builder.workgroupArray('parts', this.type, this.terms.length * this.units);
  }

  generate(): WgslProgram {
    const { kernel, target, builder, body, units, members } = this;
    const { id, workgroups, hasSurplus } = linearGrid(extent(kernel.batch), target);
    body.line(`let row = ${id};`);
    if (hasSurplus) body.line(`if (row >= ${builder.size(extent(kernel.batch))}) { return; }`);
    body.line(`let unit = lane % ${units}u;`);
    body.line(`let member = lane / ${units}u;`);
    const symbols: Symbols = new Map([
      ...decompose(body, builder, kernel.batch, 'row'),
      ...decompose(body, builder, kernel.n, 'unit'),
    ]);
    this.loadWeights(symbols);
    this.initialise(symbols);
    const step = builder.names.fresh('step');
    const loop = new CodeBlock();
    this.step(loop, new Map([...symbols, ...decompose(loop, builder, kernel.step, step)]));
    const steps = builder.size(extent(kernel.step));
    body.nest(`for (var ${step} = 0u; ${step} < ${steps}; ${step}++)`, loop);
    this.storeLast(symbols);
    const program = builder.finish(units * members, body, workgroups);
    return { ...program, schedule: () => this.facts() };
  }

  private facts(): ScheduleFacts {
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

  private emitter(block: CodeBlock, symbols: Symbols, roots: readonly Expr[]): ExprEmitter {
    const emitter = new ExprEmitter(this.builder, this.context, roots);
    emitter.enter(block, symbols);
    return emitter;
  }

  private know(emitter: ExprEmitter, first: number, texts: readonly string[]): void {
    for (const [i, text] of texts.entries())
      emitter.setAcc(first + i, { text, type: this.type, width: 1, atom: true });
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
    return this.emitter(block, other, [weight]).value(weight).text;
  }

  private initialise(symbols: Symbols): void {
    const { body, kernel, states } = this;
    const roots = kernel.states.map(({ initial }) => initial);
    const emitter = this.emitter(body, symbols, roots);
    for (const [s, root] of roots.entries())
      body.line(`var ${states[s]} = ${emitter.value(root).text};`);
  }

  private step(loop: CodeBlock, symbols: Symbols): void {
    const { kernel, states, builder } = this;
    const nexts = kernel.states.map(({ next }) => next);
    const roots = [...kernel.vectors, ...nexts, ...kernel.stores.flatMap(stmtRoots)];
    const emitter = this.emitter(loop, symbols, roots);
    // What the states have no part in is on its way while the threads wait for each other.
    for (const expr of postorder(roots))
      if (expr.kind === 'load' && postorder([expr]).every(({ kind }) => kind !== 'acc'))
        emitter.value(expr);
    // States change at the end of a step, while what is computed of them goes by their names.
    const present = states.map((state) => builder.names.fresh(`${state}_now`));
    for (const [s, name] of present.entries()) loop.line(`let ${name} = ${states[s]};`);
    this.know(emitter, 0, present);
    const shared = new CodeBlock();
    for (const [v, vector] of kernel.vectors.entries())
      shared.line(
        `${this.vectors}[unit + ${v * this.chunks * 4}u] = ${emitter.value(vector).text};`,
      );
    loop.nest('if (member == 0u)', shared);
    loop.line('workgroupBarrier();');
    this.multiply(loop);
    loop.line('workgroupBarrier();');
    this.know(emitter, states.length, this.products(loop));
    const stores = new CodeBlock();
    for (const stmt of kernel.stores)
      if (stmt.kind === 'store') emitStore(emitter, stmt, { full: stores });
    const following = nexts.map((next) => emitter.atom(emitter.value(next)).text);
    loop.nest('if (member == 0u)', stores);
    for (const [s, text] of following.entries()) loop.line(`${states[s]} = ${text};`);
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
    const emitter = this.emitter(block, symbols, kernel.lastStores.flatMap(stmtRoots));
    this.know(emitter, 0, states);
    for (const stmt of kernel.lastStores)
      if (stmt.kind === 'store') emitStore(emitter, stmt, { full: block });
    body.nest('if (member == 0u)', block);
  }
}
