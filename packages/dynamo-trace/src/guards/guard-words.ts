/**
 * @file How guards print values and types: as Python does.
 */
import { isTensor } from '@tessera/tensor';

/** A literal as Python prints it. */
export function literal(value: unknown): string {
  if (value === true) return 'True';
  if (value === false) return 'False';
  if (value === null || value === undefined) return 'None';
  return typeof value === 'string' ? `'${value}'` : Object.is(value, -0) ? '-0.0' : String(value);
}

/** What a reason calls the type of a value. */
export function typeName(value: unknown): string {
  if (value === null || value === undefined) return 'None';
  if (isTensor(value)) return 'Tensor';
  if (Array.isArray(value)) return 'list';
  if (typeof value === 'object') return value.constructor?.name ?? 'object';
  return typeof value;
}

/** Why something is no tensor, in PyTorch's words (with its quotation mark). */
export function noTensor(value: unknown, name: string): string {
  return `expected type of '${name}' to be a tensor type, ' but found <class '${pythonType(value)}'>`;
}

function pythonType(value: unknown): string {
  if (value === null || value === undefined) return 'NoneType';
  if (typeof value === 'number') return Number.isInteger(value) ? 'int' : 'float';
  if (typeof value === 'boolean') return 'bool';
  if (typeof value === 'string') return 'str';
  if (value instanceof Map) return 'dict';
  const name = typeName(value);
  return name === 'Object' ? 'dict' : name === 'Set' ? 'set' : name;
}
