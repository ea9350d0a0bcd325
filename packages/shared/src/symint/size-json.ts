/**
 * @file Sizes as JSON and back, by structure.
 */
import { TesseraError } from '../errors.js';
import { sizeAdd, sizeFloorDiv, sizeMax, sizeMin, sizeMod, sizeMul } from './size.js';
import type { Size } from './size.js';
import type { SymInt, SymIntKind } from './sym-int.js';

/** A size as plain data: a number, a symbol's name, or an operation on sizes. */
export type JsonSize =
  | number
  | string
  | {
      readonly op: Exclude<SymIntKind, 'symbol'>;
      readonly args: readonly JsonSize[];
      readonly coeffs?: readonly number[];
      readonly constant?: number;
    };

/** Writes a size. */
export function encodeSize(size: Size): JsonSize {
  if (typeof size === 'number') return size;
  if (size.kind === 'symbol') return size.name;
  const args = size.args.map(encodeSize);
  if (size.kind !== 'sum') return { op: size.kind, args };
  return { op: 'sum', args, coeffs: size.coeffs, constant: size.constant };
}

/** Reads a size over the given symbols. @throws invalid-argument for a name that is none of them */
export function decodeSize(json: JsonSize, symbols: ReadonlyMap<string, SymInt>): Size {
  if (typeof json === 'number') return json;
  if (typeof json === 'string') {
    const symbol = symbols.get(json);
    if (symbol !== undefined) return symbol;
    throw new TesseraError('invalid-argument', `There is no symbol '${json}'.`, {
      context: { symbols: [...symbols.keys()] },
      hints: ['The text was not written by encodeSize, or with other symbols.'],
    });
  }
  const args = json.args.map((arg) => decodeSize(arg, symbols));
  const [first, second] = args;
  switch (json.op) {
    case 'sum':
      return args.reduce(
        (total: Size, arg, i) => sizeAdd(total, sizeMul(arg, json.coeffs![i]!)),
        json.constant!,
      );
    case 'product':
      return args.reduce(sizeMul);
    case 'floordiv':
      return sizeFloorDiv(first, second);
    case 'mod':
      return sizeMod(first, second);
    case 'min':
      return sizeMin(first, ...args.slice(1));
    case 'max':
      return sizeMax(first, ...args.slice(1));
  }
}
