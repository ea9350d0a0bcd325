/**
 * @file Expressions of symbols as functions of numbered values, for evaluating one many times.
 */
import { floorDivNumbers, modNumbers } from './integer-arithmetic.js';
import type { Size } from './size.js';
import type { SymInt } from './sym-int.js';

/** Computes an expression from the values of symbols, by their number. */
export type SizeFunction = (values: readonly (number | undefined)[]) => number;

/** A function that computes `size`; `indexOf` numbers the symbols. */
export function compileSize(size: Size, indexOf: (symbol: SymInt) => number): SizeFunction {
  if (typeof size === 'number') return () => size;
  if (size.kind === 'symbol') {
    const index = indexOf(size);
    return (values) => values[index]!;
  }
  const args = size.args.map((arg) => compileSize(arg, indexOf));
  const { coeffs, constant } = size;
  const [first, second] = args;
  switch (size.kind) {
    case 'sum':
      return (v) => {
        let total = constant;
        for (let i = 0; i < args.length; i++) total += coeffs[i]! * args[i]!(v);
        return total;
      };
    case 'product':
      return (v) => {
        let total = 1;
        for (const arg of args) total *= arg(v);
        return total;
      };
    case 'floordiv':
      return (v) => floorDivNumbers(first(v), second(v));
    case 'mod':
      return (v) => modNumbers(first(v), second(v));
    case 'min':
      return (v) => Math.min(...args.map((arg) => arg(v)));
    case 'max':
      return (v) => Math.max(...args.map((arg) => arg(v)));
  }
}
