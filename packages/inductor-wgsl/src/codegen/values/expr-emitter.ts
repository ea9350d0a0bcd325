/**
 * @file `ExprEmitter`: turns expressions into WGSL statements.
 *
 * Each expression object is emitted once, into the outermost scope in which it is known: what does not
 * depend on the inner loop variables is hoisted out of the loop. What only few threads need is emitted where they are.
 * Expressions used once and short are written in place; all others become `let` variables. Iterative: expressions may be thousands deep.
 */
import {
  dependents,
  operands,
  postorder,
  type Expr,
  type IndexExpr,
  type LaneContext,
} from '@tessera/inductor-core';
import { fromStorage, laneOffset } from './buffer-access.js';
import { emitCheck } from './check-emitter.js';
import type { CodeBlock } from '../code-block.js';
import { emitIndex, type IndexNames, type IndexText, type SymbolText } from './index-emitter.js';
import { literal } from './literals.js';
import { farComparison } from './long-integers.js';
import { emitOp, REPEATS_OPERANDS, type OpSite } from './op-table.js';
import type { ProgramBuilder } from '../program.js';
import { unknownName } from '../unknown-name.js';
import type { BufferAccess } from '../wgsl-program.js';
import { loadedElement } from './loaded-element.js';
import { randomValue } from './random-value.js';
import { sizeQuotient } from './size-quotient.js';
import { type Scope, ValueScopes } from './value-scopes.js';
import { convertIndex, widen, type Value } from './value.js';
import { computeType, typeName, type ScalarType, type Width } from './wgsl-types.js';

/** Longest text that is written in place. */
const INLINE_LIMIT = 56;

/** See the file header. */
export class ExprEmitter {
  private readonly scopes = new ValueScopes();
  private readonly innerDependent: ReadonlySet<Expr>;
  private readonly useCounts = new Map<Expr, number>();
  private readonly known = new Map<number | Expr, Value>();
  /** Names of what several expressions take a part of, by its text, of each scope. */
  private readonly wholes = new WeakMap<Scope['values'], Map<string, string>>();
  private readonly indexNames: IndexNames;
  /** What holds for the threads that effects are for, by name; checks of others do not report. */
  private tests: readonly string[] = [];

  /**
   * @param roots every expression that will be emitted, to count uses and dependences
   * @param innerVariables variables of the inner loop: what depends on them is not hoisted
   * @param still a variable that is always 0
   */
  constructor(
    readonly builder: ProgramBuilder,
    readonly context: LaneContext,
    roots: readonly Expr[],
    innerVariables: ReadonlySet<string> = new Set(),
    readonly still: string | null = null,
  ) {
    for (const root of roots) this.countUse(root);
    for (const expr of postorder(roots)) for (const input of operands(expr)) this.countUse(input);
    this.innerDependent = dependents(roots, innerVariables);
    this.indexNames = {
      symbol: (name) => this.symbol(name),
      size: (size) => builder.size(size),
      value: (expr) => {
        const value = this.value(expr);
        return { text: `${typeName('u32', value.width)}(${value.text})`, width: value.width };
      },
    };
  }

  /**
   * Opens a scope; the first is the outer one, a second the body of the inner loop. Scopes opened with
   * the same `key` share what they computed: the steps of an unrolled loop, from stage to stage.
   */
  enter(block: CodeBlock, symbols: ReadonlyMap<string, SymbolText>, key?: object): void {
    this.scopes.open(block, symbols, false, key);
  }

  /** Opens a scope for what few threads do: they alone compute what they need for it. */
  confine(block: CodeBlock): void {
    this.scopes.open(block, new Map(), true);
  }

  leave(): void {
    this.scopes.close();
  }

  /** Runs `emit` for effects that only happen where tests hold. */
  where(tests: readonly string[], emit: () => void): void {
    const before = this.tests;
    this.tests = [...new Set([...before, ...tests])];
    emit();
    this.tests = before;
  }

  /** The block that statements go to. */
  get block(): CodeBlock {
    return this.scopes.innermost.block;
  }

  /** Makes the result of a reduction known, or a load that was made before. */
  setAcc(id: number | Expr, value: Value): void {
    this.known.set(id, value);
  }

  /** The value of an expression, emitting what is not yet there. */
  value(root: Expr): Value {
    const stack: Expr[] = [root];
    while (stack.length > 0) {
      const expr = stack[stack.length - 1];
      if (this.scopes.find(expr) !== undefined) {
        stack.pop();
        continue;
      }
      const before = stack.length;
      for (const input of operands(expr))
        if (this.scopes.find(input) === undefined) stack.push(input);
      if (stack.length > before) continue;
      stack.pop();
      this.define(expr, this.build(expr));
    }
    return this.scopes.find(root)!;
  }

  /** Like `value`, as a name or literal. */
  atom(value: Value, scope: Scope = this.scopes.innermost): Value {
    if (value.atom) return value;
    const name = this.builder.names.fresh('t');
    scope.block.line(`let ${name} = ${value.text};`);
    return { ...value, text: name, atom: true };
  }

  /** Text of an index at lane 0. */
  indexBase(index: IndexExpr): string {
    return emitIndex(index, this.indexNames, false).text;
  }

  /** Text of an index on all lanes. */
  indexLanes(index: IndexExpr): IndexText {
    return emitIndex(index, this.indexNames, true);
  }

  helper(name: string, width: Width): string {
    return this.builder.helpers.use(name, width);
  }

  /** The names of the four elements that lanes touch at an index, as index texts. */
  laneIndices(index: IndexExpr, buffer: BufferAccess): string[] {
    const shift = buffer.offset === null ? '' : ` + ${buffer.offset}`;
    const { stride } = this.context.access(index);
    const name = this.builder.names.fresh('x');
    if (stride !== null && emitIndex(index, this.indexNames, false).width === 1) {
      this.block.line(`let ${name} = ${this.indexBase(index)}${shift};`);
      return [0, 1, 2, 3].map((lane) => laneOffset(name, lane * stride));
    }
    this.block.line(`let ${name} = ${this.indexLanes(index).text}${shift};`);
    return ['x', 'y', 'z', 'w'].map((component) => `${name}.${component}`);
  }

  private countUse(expr: Expr): void {
    this.useCounts.set(expr, (this.useCounts.get(expr) ?? 0) + 1);
  }

  private scopeOf(expr: Expr): Scope {
    const { innermost, outermost } = this.scopes;
    return innermost.isConfined || this.innerDependent.has(expr) ? innermost : outermost;
  }

  private symbol(name: string): SymbolText {
    const symbol = this.scopes.symbol(name);
    if (symbol !== undefined) return symbol;
    throw unknownName(this.builder.kernel.name, 'loop variable', name);
  }

  private define(expr: Expr, value: Value): void {
    const scope = this.scopeOf(expr);
    const once = (this.useCounts.get(expr) ?? 2) <= 1;
    const inline = value.atom || (expr.kind === 'op' && once && value.text.length <= INLINE_LIMIT);
    scope.values.set(expr, inline ? value : this.atom(value, scope));
  }

  private build(expr: Expr): Value {
    switch (expr.kind) {
      case 'const': {
        const type = computeType(expr.dtype);
        return { text: this.literal(expr.value, type), type, width: 1, atom: true };
      }
      case 'scalar': {
        const scalar = this.builder.scalar(expr.name);
        return { ...scalar, width: 1, atom: true };
      }
      case 'acc':
        return this.acc(expr.id);
      case 'index':
        return this.loopIndex(expr.index, computeType(expr.dtype));
      case 'load':
        return this.known.get(expr) ?? this.load(expr);
      case 'random':
        return randomValue(this, expr);
      case 'check': {
        const [subject, ok, value] = [expr.subject, expr.ok, expr.value].map((part) =>
          this.value(part),
        );
        const { block } = this.scopeOf(expr);
        const site = { block, tests: this.tests, symbol: (name: string) => this.symbol(name) };
        return emitCheck(this.builder, site, expr, { subject, ok, value });
      }
      case 'masked': {
        const mask = this.value(expr.mask);
        const body = this.value(expr.body);
        const width = mask.width === 4 || body.width === 4 ? 4 : 1;
        const other = `${typeName(body.type, width)}(${this.literal(expr.other, body.type)})`;
        return {
          text: `select(${other}, ${widen(body, width)}, ${widen(mask, width)})`,
          type: body.type,
          width,
          atom: false,
        };
      }
      case 'op':
        return this.operation(expr);
    }
  }

  private literal(value: number, type: ScalarType): string {
    return literal(value, type, (name) => `${this.helper(name, 1)}()`);
  }

  private acc(id: number): Value {
    const value = this.known.get(id);
    if (value === undefined) throw unknownName(this.builder.kernel.name, 'result', id);
    return value;
  }

  private operation(expr: Extract<Expr, { kind: 'op' }>): Value {
    const known = farComparison(expr);
    if (known !== null) return { text: `${known}`, type: 'bool', width: 1, atom: true };
    const quotient = sizeQuotient(expr);
    if (quotient !== null)
      return { text: this.builder.quotient(...quotient), type: 'f32', width: 1, atom: true };
    let args = expr.args.map((arg) => this.value(arg));
    if (REPEATS_OPERANDS.has(expr.op)) args = args.map((arg) => this.atom(arg, this.scopeOf(expr)));
    const width: Width = args.some((arg) => arg.width === 4) ? 4 : 1;
    const site: OpSite = {
      op: expr.op,
      dtype: expr.dtype,
      types: args.map((arg) => arg.type),
      from: expr.args[0]!.dtype,
      width,
      helper: (name) => this.helper(name, width),
    };
    const text = emitOp(
      site,
      args.map((arg) => widen(arg, width)),
    );
    return { text, type: computeType(expr.dtype), width, atom: false };
  }

  private loopIndex(index: IndexExpr, type: ScalarType): Value {
    const { stride } = this.context.access(index);
    if (stride === 0)
      return { text: convertIndex(this.indexBase(index), 1, type), type, width: 1, atom: false };
    const lanes = this.indexLanes(index);
    return {
      text: convertIndex(lanes.text, lanes.width, type),
      type,
      width: lanes.width,
      atom: false,
    };
  }

  private load(expr: Extract<Expr, { kind: 'load' }>): Value {
    const buffer = this.builder.buffer(expr.buf);
    const { text, width } = loadedElement(this, expr);
    const type = computeType(buffer.param.dtype);
    return { text: fromStorage(text, buffer, width), type, width, atom: false };
  }

  /**
   * The name of what an expression takes a part of, in the scope where the expression is. Drivers make two accesses of two
   * that read parts of one vector.
   */
  once(expr: Expr, text: string): string {
    const scope = this.scopeOf(expr);
    let names = this.wholes.get(scope.values);
    if (names === undefined) this.wholes.set(scope.values, (names = new Map()));
    let name = names.get(text);
    if (name === undefined) {
      names.set(text, (name = this.builder.names.fresh('t')));
      scope.block.line(`let ${name} = ${text};`);
    }
    return name;
  }

  /** Runs `emit` with statements going to where an expression is emitted. */
  hoisted<T>(expr: Expr, emit: () => T): T {
    return this.scopes.within(this.scopeOf(expr), emit);
  }
}
