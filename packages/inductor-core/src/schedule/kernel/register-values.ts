/**
 * @file Values and statements of registers, as they are written.
 */
import type { IndexExpr } from '../../ir/index-expr.js';
import type { RegisterOp, RegisterStmt, RegisterValue } from './registers.js';

/** A register, or an element of it. */
export function register(name: string, element?: number): RegisterValue {
  return { kind: 'register', name, ...(element !== undefined && { element }) };
}

/** A number. */
export function number(value: number): RegisterValue {
  return { kind: 'number', value };
}

/** What an operation gives. */
export function apply(op: RegisterOp, ...of: readonly RegisterValue[]): RegisterValue {
  return { kind: 'op', op, of };
}

/** A cell's values. */
export function read(array: string, row: IndexExpr, at: IndexExpr): RegisterValue {
  return { kind: 'read', from: { array, row, at } };
}

/** Sets a register. */
export function set(name: string, value: RegisterValue): RegisterStmt {
  return { kind: 'set', register: name, value };
}

/** A new register that keeps what it is set to. */
export function begin(name: string, value: RegisterValue): RegisterStmt {
  return { kind: 'set', register: name, value, keeps: true };
}

/** Writes to a cell. */
export function write(
  array: string,
  row: IndexExpr,
  at: IndexExpr,
  value: RegisterValue,
): RegisterStmt {
  return { kind: 'write', to: { array, row, at }, value };
}
