/**
 * @file Recurrences whose weights are too many for registers: a workgroup runs all steps of a row and reads the weights
 * at every step.
 *
 * Threads stride over the units: a thread keeps the states of its own, and the sums of its products. What is multiplied
 * goes through workgroup memory, so many units at a time as it holds: there is no width that does not fit.
 */
import {
  type Expr,
  extent,
  LaneContext,
  type RecurrenceKernel,
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
import { computeType, type ScalarType } from './wgsl-types.js';

/** Generates such a kernel. */
export function generateWideRecurrence(
  kernel: RecurrenceKernel<Size>,
  target: WgslTarget,
  variant: KernelVariant,
): WgslProgram {
  return new WideRecurrence(kernel, target, variant).generate();
}

type Symbols = ReadonlyMap<string, SymbolText>;

const ELEMENT_BYTES = 4;
/** Terms of a sum whose loads are under way together. */
const TOGETHER = 4;

class WideRecurrence {
  private readonly builder: ProgramBuilder;
  private readonly context = new LaneContext({}, []);
  private readonly type: ScalarType;
  private readonly units: number;
  private readonly threads: number;
  /** Units of a thread, and of how many of them vectors lie in workgroup memory together. */
  private readonly own: number;
  private readonly slice: number;
  private readonly states: readonly string[];
  private readonly sums: readonly string[];
  private readonly vectors: readonly string[];
  private readonly body = new CodeBlock();

  constructor(
    private readonly kernel: RecurrenceKernel<Size>,
    private readonly target: WgslTarget,
    variant: KernelVariant,
  ) {
    this.builder = new ProgramBuilder(kernel, target, variant, new Set());
    this.type = computeType(kernel.accDtype);
    this.units = extent(kernel.n) as number;
    this.own = Math.ceil(this.units / target.maxWorkgroupThreads);
    this.threads = Math.ceil(this.units / this.own);
    const bytes = kernel.vectors.length * this.threads * ELEMENT_BYTES;
    this.slice = Math.max(1, Math.min(this.own, Math.floor(target.maxWorkgroupBytes / bytes)));
    const { names } = this.builder;
    this.states = kernel.states.map(() => names.fresh('state'));
    this.sums = kernel.products.map(() => names.fresh('sum'));
    this.vectors = kernel.vectors.map(() =>
      this.builder.workgroupArray('vector', this.type, this.slice * this.threads),
    );
  }

  generate(): WgslProgram {
    const { kernel, target, builder, body, threads, own, slice } = this;
    const { id, workgroups, hasSurplus } = linearGrid(extent(kernel.batch), target);
    body.line(`let row = ${id};`);
    if (hasSurplus) body.line(`if (row >= ${builder.size(extent(kernel.batch))}) { return; }`);
    const symbols: Symbols = new Map(decompose(body, builder, kernel.batch, 'row'));
    for (const state of this.states) body.line(`var ${state}: ${this.perUnit};`);
    this.forEachUnit(body, symbols, (block, inside) => {
      const roots = kernel.states.map(({ initial }) => initial);
      const emitter = this.emitter(block, inside, roots);
      for (const [s, root] of roots.entries())
        block.line(`${this.states[s]}[mine] = ${emitter.value(root).text};`);
    });
    const step = builder.names.fresh('step');
    const loop = new CodeBlock();
    this.step(loop, new Map([...symbols, ...decompose(loop, builder, kernel.step, step)]));
    const steps = builder.size(extent(kernel.step));
    body.nest(`for (var ${step} = 0u; ${step} < ${steps}; ${step}++)`, loop);
    this.forEachUnit(body, symbols, (block, inside) => {
      const emitter = this.emitter(block, inside, kernel.lastStores.flatMap(stmtRoots));
      this.know(emitter, 0, this.states);
      this.store(emitter, kernel.lastStores, block);
    });
    const facts = {
      'a workgroup': 'all steps of a row',
      'threads of a workgroup': threads,
      'units of a thread': own,
      'units multiplied at a time': slice * threads,
      weights: 'read at every step',
    };
    const program = builder.finish(threads, body, workgroups);
    return { ...program, schedule: () => ({ kernel: kernel.name, facts }) };
  }

  /** Type of an array with an element for each unit of a thread. */
  private get perUnit(): string {
    return `array<${this.type}, ${this.own}>`;
  }

  private emitter(block: CodeBlock, symbols: Symbols, roots: readonly Expr[]): ExprEmitter {
    const emitter = new ExprEmitter(this.builder, this.context, roots);
    emitter.enter(block, symbols);
    return emitter;
  }

  /** Makes this unit's elements of arrays known as accumulators from `first` on. */
  private know(emitter: ExprEmitter, first: number, arrays: readonly string[]): void {
    for (const [i, array] of arrays.entries()) {
      const value = { text: `${array}[mine]`, type: this.type, width: 1, atom: false } as const;
      emitter.setAcc(first + i, emitter.atom(value));
    }
  }

  private store(
    emitter: ExprEmitter,
    stmts: RecurrenceKernel<Size>['stores'],
    full: CodeBlock,
  ): void {
    for (const stmt of stmts) if (stmt.kind === 'store') emitStore(emitter, stmt, { full });
  }

  /** Code for each unit of this thread, or those from number `first` up to `end`. */
  private forEachUnit(
    block: CodeBlock,
    symbols: Symbols,
    emit: (block: CodeBlock, symbols: Symbols) => void,
    [first, end] = ['0u', `${this.own}u`],
  ): void {
    const { threads, own, units, builder } = this;
    const loop = new CodeBlock();
    loop.line(`let unit = mine * ${threads}u + lane;`);
    const inside = new CodeBlock();
    emit(inside, new Map([...symbols, ...decompose(inside, builder, this.kernel.n, 'unit')]));
    if (inside.isEmpty) return;
    if (own * threads === units) loop.append(inside);
    else loop.nest(`if (unit < ${units}u)`, inside);
    block.nest(`for (var mine = ${first}; mine < ${end}; mine++)`, loop);
  }

  private step(loop: CodeBlock, symbols: Symbols): void {
    const { kernel, own, slice, sums, states } = this;
    for (const sum of sums) loop.line(`var ${sum} = ${this.perUnit}();`);
    const part = new CodeBlock();
    this.share(part, symbols);
    part.line('workgroupBarrier();');
    this.forEachUnit(part, symbols, (block, inside) => this.multiply(block, inside));
    part.line('workgroupBarrier();');
    loop.nest(`for (var begin = 0u; begin < ${own}u; begin += ${slice}u)`, part);
    this.forEachUnit(loop, symbols, (block, inside) => {
      const nexts = kernel.states.map(({ next }) => next);
      const roots = [...nexts, ...kernel.stores.flatMap(stmtRoots)];
      const emitter = this.emitter(block, inside, roots);
      this.know(emitter, 0, states);
      this.know(emitter, states.length, sums);
      const stores = new CodeBlock();
      this.store(emitter, kernel.stores, stores);
      const following = nexts.map((next) => emitter.atom(emitter.value(next)).text);
      block.append(stores);
      for (const [s, text] of following.entries()) block.line(`${states[s]}[mine] = ${text};`);
    });
  }

  /** Puts the vectors of units from number `begin` of each thread on into workgroup memory. */
  private share(part: CodeBlock, symbols: Symbols): void {
    const { kernel, threads, own, slice } = this;
    const end = own % slice === 0 ? `begin + ${slice}u` : `min(begin + ${slice}u, ${own}u)`;
    this.forEachUnit(
      part,
      symbols,
      (block, inside) => {
        const emitter = this.emitter(block, inside, kernel.vectors);
        this.know(emitter, 0, this.states);
        const place = `(mine - begin) * ${threads}u + lane`;
        for (const [v, vector] of kernel.vectors.entries())
          block.line(`${this.vectors[v]}[${place}] = ${emitter.value(vector).text};`);
      },
      ['begin', end],
    );
  }

  /** Adds to the sums of a unit what the shared vectors give it. */
  private multiply(block: CodeBlock, symbols: Symbols): void {
    const { kernel, threads, own, slice, units } = this;
    const length = slice * threads;
    const isWhole = own * threads === units && own % slice === 0;
    const end = isWhole ? `${length}u` : `min(${length}u, ${units}u - start)`;
    block.line(`let start = begin * ${threads}u;`);
    for (const p of kernel.products.keys()) block.line(`var total${p} = ${this.sums[p]}[mine];`);
    const loop = new CodeBlock();
    const together = length % TOGETHER === 0 && units % TOGETHER === 0 ? TOGETHER : 1;
    const adds: string[] = [];
    for (let i = 0; i < together; i++) this.addTerms(loop, symbols, `at + ${i}u`, adds);
    for (const line of adds) loop.line(line);
    block.nest(`for (var at = 0u; at < ${end}; at += ${together}u)`, loop);
    for (const p of kernel.products.keys()) block.line(`${this.sums[p]}[mine] = total${p};`);
  }

  /** Loads the weights of one other unit; `adds` get the lines that add its terms. */
  private addTerms(loop: CodeBlock, symbols: Symbols, at: string, adds: string[]): void {
    const { kernel, builder } = this;
    const other = builder.names.fresh('other');
    loop.line(`let ${other} = start + ${at};`);
    const terms = kernel.products.flat();
    const emitter = this.emitter(
      loop,
      new Map([...symbols, ...decompose(loop, builder, kernel.k, other)]),
      terms.map(({ weight }) => weight),
    );
    for (const [p, list] of kernel.products.entries())
      for (const { vector, weight } of list) {
        const { text } = emitter.atom(emitter.value(weight));
        adds.push(`total${p} += ${text} * ${this.vectors[vector]}[${at}];`);
      }
  }
}
