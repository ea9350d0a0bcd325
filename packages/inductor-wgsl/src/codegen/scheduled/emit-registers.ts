/**
 * @file Registers, cells and visits of routines in WGSL. Registers are named one by one: arrays might be kept in memory.
 */
import type {
  Cell,
  IndexExpr,
  RegisterOp,
  RegisterStmt,
  RegisterValue,
  RoutineCall,
  SharedArray,
} from '@tessera/inductor-core';
import type { DType } from '@tessera/tensor';
import type { CodeBlock } from '../code-block.js';
import { literal } from '../values/literals.js';
import type { ProgramBuilder } from '../program.js';
import { computeType, typeName, type ScalarType, type Width } from '../values/wgsl-types.js';

const INFIX = { add: '+', sub: '-', mul: '*', div: '/' } as const;
type Infix = keyof typeof INFIX;

const isSum = (op: RegisterOp): boolean => op === 'add' || op === 'sub';

/** What registers belong to. */
export interface RegisterSite {
  readonly shared: readonly SharedArray[];
  /** Type of the values in registers. */
  readonly registers: DType;
  place(index: IndexExpr): string;
}

/** See the file header. */
export class RegisterEmitter {
  private readonly type: ScalarType;
  private readonly cleared = new Set<string>();
  private readonly arrays = new Map<string, string>();

  constructor(
    private readonly site: RegisterSite,
    private readonly builder: ProgramBuilder,
  ) {
    this.type = computeType(site.registers);
  }

  emit(block: CodeBlock, stmt: Exclude<RegisterStmt, { kind: 'give' | 'mark' | 'agree' }>): void {
    switch (stmt.kind) {
      case 'clear':
        for (const name of stmt.of) {
          this.cleared.add(name);
          block.line(`var ${name} = ${this.vector}(0);`);
        }
        return;
      case 'set': {
        const { register, value, keeps = false } = stmt;
        const head = keeps ? 'var ' : this.cleared.has(register) ? '' : 'let ';
        if (keeps) this.cleared.add(register);
        return block.line(`${head}${register} = ${this.wide(value, 4)};`);
      }
      case 'add':
        return block.line(`${stmt.to} += ${this.value(stmt.value)};`);
      case 'multiply':
        for (const [i, names] of stmt.to.entries())
          for (const [g, name] of names.entries()) {
            const factor = `${stmt.rows[i >> 2]}.${'xyzw'[i & 3]}`;
            block.line(`${name} += ${factor} * ${stmt.columns[g]};`);
          }
        return;
      case 'write':
        return block.line(`${this.cell(stmt.to)} = ${this.value(stmt.value)};`);
      case 'visit':
        return block.line(`${this.call(stmt)};`);
      case 'pair':
        this.builder.requireSubgroups();
        for (const name of stmt.of) {
          const other = `subgroupShuffleXor(${name}, ${stmt.bit}u)`;
          block.line(`${name} = ${this.combined(stmt.by, name, other)};`);
        }
    }
  }

  /** Text of a visit. */
  call({ routine, at, of = [] }: Pick<RoutineCall, 'routine' | 'at' | 'of'>): string {
    const handed = of.map((value) => this.value(value));
    return `${routine}(${[...at.map((index) => this.site.place(index)), ...handed].join(', ')})`;
  }

  /** Text of whether one of four values is greater than its limit. */
  exceeds(value: RegisterValue, limit: RegisterValue): string {
    return `any(${this.wide(value, 4)} > ${this.wide(limit, 4)})`;
  }

  /** Text of a cell. */
  cell({ array, row, at }: Cell): string {
    const places = row === undefined ? [at] : [row, at];
    return `${this.array(array)}${places.map((index) => `[${this.site.place(index)}]`).join('')}`;
  }

  private get vector(): string {
    return typeName(this.type, 4);
  }

  /** Text of four values, or of one. */
  value(value: RegisterValue): string {
    switch (value.kind) {
      case 'register':
        return value.element === undefined ? value.name : `${value.name}.${'xyzw'[value.element]}`;
      case 'pack':
        return `${this.vector}(${value.of.map((each) => this.value(each)).join(', ')})`;
      case 'number':
        return literal(value.value, this.type, (name) => `${this.builder.helpers.use(name, 1)}()`);
      case 'read':
        return this.cell(value.from);
      case 'op':
        return this.operation(value.op, value.of);
      case 'fold':
        return this.fold(value.by, value.of);
      case 'call':
        return this.call(value);
    }
  }

  private width(value: RegisterValue): Width {
    switch (value.kind) {
      case 'number':
      case 'fold':
        return 1;
      case 'register':
        return value.element === undefined ? 4 : 1;
      case 'read':
        return this.site.shared.find(({ name }) => name === value.from.array)!.width!;
      case 'op':
        return value.of.some((each) => this.width(each) === 4) ? 4 : 1;
      default:
        return 4;
    }
  }

  /** Text of a value of at least that width. */
  private wide(value: RegisterValue, width: Width): string {
    const text = this.value(value);
    return width > this.width(value) ? `${typeName(this.type, width)}(${text})` : text;
  }

  private operation(op: RegisterOp, of: readonly RegisterValue[]): string {
    const { helpers } = this.builder;
    const width: Width = of.some((each) => this.width(each) === 4) ? 4 : 1;
    if (op in INFIX) {
      // WGSL takes one value for each of four here.
      const [a, b] = of.map((each, i) => {
        const text = this.value(each);
        const isInfix = each.kind === 'op' && each.op in INFIX;
        const isBound = isSum(op) && (i === 0 || !isSum((each as { op: RegisterOp }).op));
        return isInfix && !isBound ? `(${text})` : text;
      });
      return `${a} ${INFIX[op as Infix]} ${b}`;
    }
    const [a, b, x, y] = of.map((each) => this.wide(each, width));
    switch (op) {
      case 'larger':
        return `max(${a}, ${b})`;
      case 'equal':
        return `select(${y}, ${x}, ${a} == ${b})`;
      case 'greater':
        return `select(${y}, ${x}, ${a} > ${b})`;
      case 'quick exp':
        return `exp(${a})`;
      default:
        return `${helpers.use(op, width)}(${a})`;
    }
  }

  private combined(by: 'add' | 'larger', a: string, b: string): string {
    return by === 'add' ? `${a} + ${b}` : `max(${a}, ${b})`;
  }

  private fold(by: 'add' | 'larger', names: readonly string[]): string {
    const join = (a: string, b: string): string => this.combined(by, a, b);
    if (by === 'add') return `dot(${names.reduce(join)}, ${this.vector}(1))`;
    return names.flatMap((name) => [...'xyzw'].map((lane) => `${name}.${lane}`)).reduce(join);
  }

  /** Text of an array; those of bool are marked by several threads at once. */
  array(name: string): string {
    let text = this.arrays.get(name);
    if (text === undefined) {
      const { dtype, length, width, rows } = this.site.shared.find((each) => each.name === name)!;
      const cell = dtype === 'bool' ? 'atomic<u32>' : typeName(computeType(dtype), width!);
      const element = rows === undefined ? cell : `array<${cell}, ${length}>`;
      const prefix = name.slice(0, name.indexOf('.'));
      text = this.builder.workgroupArray(prefix, element, rows ?? length);
    }
    this.arrays.set(name, text);
    return text;
  }
}
