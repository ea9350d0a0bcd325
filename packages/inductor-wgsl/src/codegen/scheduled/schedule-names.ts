/** @file Variables, places and conditions of a scheduled kernel as WGSL text. */
import {
  type Condition,
  indexAt,
  type IndexExpr,
  kernelLoops,
  type Lanes,
  type ScheduledKernel,
} from '@tessera/inductor-core';
import type { RegisterEmitter } from './emit-registers.js';
import type { SymbolText } from '../values/index-emitter.js';
import { placeText, type PlaceNames } from '../values/place-text.js';
import type { ProgramBuilder } from '../program.js';
import type { WgslTarget } from '../target.js';
import type { Width } from '../values/wgsl-types.js';

/** See the file header. */
export class ScheduleNames {
  /** Loop variables of the fused kernel, which expressions name. */
  private readonly kernelVariables: ReadonlySet<string>;
  /** Texts of the schedule's own variables. */
  private readonly texts = new Map<string, string>();
  /** Those that are four values. */
  private readonly wide = new Set<string>();
  /** Values of variables of unrolled loops. */
  private readonly fixed = new Map<string, number>();
  /** What spells conditions on registers, and visits of routines. */
  registers: Pick<RegisterEmitter, 'call' | 'exceeds'> | null = null;
  /** Texts of the kernel's variables, by scope. */
  private readonly symbols: Map<string, SymbolText>[] = [];
  private readonly placeNames: PlaceNames = {
    variable: (name) => this.variable(name),
    size: (size) => this.builder.size(size),
  };

  constructor(
    { kernel }: ScheduledKernel,
    private readonly lanes: Lanes | null,
    private readonly builder: ProgramBuilder,
    private readonly target: WgslTarget,
  ) {
    this.kernelVariables = new Set(kernelLoops(kernel).map(({ name }) => name));
  }

  /** Whether a variable is a loop of the fused kernel. */
  isOfKernel(name: string): boolean {
    return this.kernelVariables.has(name);
  }

  /** Makes a variable of the schedule known under a text. */
  own(name: string, text: string, width: Width = 1): void {
    this.texts.set(name, text);
    if (width === 4) this.wide.add(name);
  }

  /** Whether a variable is four values. */
  isWide(name: string): boolean {
    return this.wide.has(name);
  }

  /** Makes a variable a number; null lets go of it. */
  fix(name: string, value: number | null): void {
    if (value === null) this.fixed.delete(name);
    else this.fixed.set(name, value);
  }

  /** Opens a scope, and gives what is known in it. */
  open(): ReadonlyMap<string, SymbolText> {
    const symbols = new Map<string, SymbolText>();
    this.symbols.push(symbols);
    return symbols;
  }

  close(): void {
    this.symbols.pop();
  }

  private variable(name: string): string {
    const own = this.texts.get(name);
    if (own !== undefined) return own;
    if (name === 'subgroup_size') return this.subgroupSize();
    const symbols = this.symbols.findLast((scope) => scope.has(name));
    return symbols?.get(name)?.text ?? name;
  }

  private subgroupSize(): string {
    const { min, max } = this.target.subgroups!;
    return min === max ? `${min}u` : this.builder.subgroupSize();
  }

  /** Text of a place. */
  place(index: IndexExpr): string {
    const known = this.fixed.size === 0 ? index : indexAt(index, this.fixed);
    return placeText(known, this.placeNames);
  }

  /** A new identifier: schedules mark names to be numbered by a dot, and variables at a point by its number. */
  identifier(name: string): string {
    const { names } = this.builder;
    if (name.includes('.')) return names.fresh(name.slice(0, name.indexOf('.')));
    const [base] = name.split('@');
    return this.isOfKernel(base) ? names.claim(base) : name;
  }

  /** Makes a variable known under a text. */
  know(name: string, text: string, width: Width = 1): void {
    if (width === 4) this.wide.add(name);
    if (!this.isOfKernel(name)) {
      this.texts.set(name, text);
      return;
    }
    const { lanes } = this;
    const steps = (step: number): string => [0, 1, 2, 3].map((i) => `${i * step}u`).join(', ');
    this.symbols.at(-1)!.set(name, {
      text,
      width,
      ...(lanes?.lane === name && { lanes: `(${text} + vec4u(${steps(lanes.step)}))` }),
    });
  }

  condition(condition: Condition): string {
    switch (condition.kind) {
      case 'test':
        return condition.name;
      case 'first':
        return `${this.place(condition.index)} == 0u`;
      case 'below':
        return `${this.place(condition.index)} < ${this.place(condition.limit)}`;
      case 'call':
        return this.registers!.call(condition);
      case 'exceeds':
        return this.registers!.exceeds(condition.value, condition.limit);
      case 'not':
        return this.opposite(condition.of);
      case 'either':
        return `(${condition.of.map((each) => this.condition(each)).join(' || ')})`;
    }
  }

  conditions(all: readonly Condition[]): string {
    return all.map((each) => this.condition(each)).join(' && ');
  }

  /** Text of what holds where a condition does not. */
  opposite(condition: Condition): string {
    switch (condition.kind) {
      case 'first':
        return `${this.place(condition.index)} != 0u`;
      case 'below':
        return `${this.place(condition.index)} >= ${this.place(condition.limit)}`;
      case 'not':
        return this.condition(condition.of);
      default:
        return `!${this.condition(condition)}`;
    }
  }
}
