/**
 * @file Registers, cells and visits of routines in WGSL. Registers are named one by one: arrays might be kept in memory.
 */
import type {
  Cell,
  IndexExpr,
  RegisterStmt,
  RegisterValue,
  SharedArray,
} from '@tessera/inductor-core';
import type { DType } from '@tessera/tensor';
import type { CodeBlock } from './code-block.js';
import type { ProgramBuilder } from './program.js';
import { computeType, typeName, type ScalarType } from './wgsl-types.js';

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
        const head = this.cleared.has(stmt.register) ? '' : 'let ';
        return block.line(`${head}${stmt.register} = ${this.value(stmt.value)};`);
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
        return block.line(`${this.call(stmt.routine, stmt.at, stmt.of)};`);
    }
  }

  /** Text of a visit. */
  call(routine: string, at: readonly IndexExpr[], of: readonly string[] = []): string {
    return `${routine}(${[...at.map((index) => this.site.place(index)), ...of].join(', ')})`;
  }

  /** Text of a cell. */
  cell({ array, row, at }: Cell): string {
    const places = row === undefined ? [at] : [row, at];
    return `${this.array(array)}${places.map((index) => `[${this.site.place(index)}]`).join('')}`;
  }

  private get vector(): string {
    return typeName(this.type, 4);
  }

  private value(value: RegisterValue): string {
    switch (value.kind) {
      case 'register':
        return value.element === undefined ? value.name : `${value.name}.${'xyzw'[value.element]}`;
      case 'pack':
        return `${this.vector}(${value.of.map((each) => this.value(each)).join(', ')})`;
      case 'read':
        return this.cell(value.from);
      case 'call':
        return this.call(value.routine, value.at);
    }
  }

  /** Text of an array; those of bool are marked by several threads at once. */
  array(name: string, own?: string): string {
    let text = own ?? this.arrays.get(name);
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
