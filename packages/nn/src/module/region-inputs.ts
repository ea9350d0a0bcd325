/**
 * @file The arguments of a module's call as the inputs of a trusted region.
 */
import { isTensor } from '@tessera/tensor';

/** Inputs of a region, and whether they are the arguments themselves. */
export interface CallInputs {
  readonly inputs: Readonly<Record<string, unknown>>;
  readonly direct: boolean;
}

/**
 * Tensors, nothing, and lists of them are inputs as they are. Choices in records of options are written
 * into a text that a replay compares. Null for anything else: numbers vary, and functions and class
 * instances are not seen through, so such a call is matched op by op.
 *
 * @param key what the call depends on besides
 */
export function callInputs(args: readonly unknown[], key: string): CallInputs | null {
  if (args.every(isPlain)) return { inputs: key === '' ? { args } : { args, key }, direct: true };
  const tensors: unknown[] = [];
  const text = args.map((arg) => describe(arg, tensors));
  return text.includes(null)
    ? null
    : { inputs: { tensors, key: `${key}(${text.join()})` }, direct: false };
}

function isPlain(value: unknown): boolean {
  return value == null || isTensor(value) || (Array.isArray(value) && value.every(isPlain));
}

function describe(value: unknown, tensors: unknown[]): string | null {
  if (isTensor(value)) return `t${tensors.push(value) - 1}`;
  if (value == null || typeof value === 'boolean') return String(value);
  if (typeof value === 'string') return JSON.stringify(value);
  if (typeof value !== 'object') return null;
  if (Array.isArray(value)) {
    const items = value.map((item) => describe(item, tensors));
    return items.includes(null) ? null : `[${items.join()}]`;
  }
  const prototype: unknown = Object.getPrototypeOf(value);
  if (prototype !== Object.prototype && prototype !== null) return null;
  const entries = Object.entries(value).map(([name, item]) => {
    const text = describe(item, tensors);
    return text === null ? null : `${JSON.stringify(name)}:${text}`;
  });
  return entries.includes(null) ? null : `{${entries.join()}}`;
}
