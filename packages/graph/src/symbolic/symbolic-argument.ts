/**
 * @file Expressions of symbols among the arguments of nodes.
 */
import { SymInt } from '@tessera/shared';
import { type Argument, Node } from '../ir/node.js';

/** Whether an argument is or holds an expression that `test` accepts; any, without one. */
export function holdsSymbol(arg: Argument, test?: (size: SymInt) => boolean): boolean {
  if (arg instanceof SymInt) return test === undefined || test(arg);
  if (arg instanceof Node || typeof arg !== 'object' || arg === null) return false;
  return Object.values(arg).some((item) => holdsSymbol(item, test));
}

/** An argument with every expression replaced. */
export function mapSymbols(arg: Argument, fn: (size: SymInt) => Argument): Argument {
  if (arg instanceof SymInt) return fn(arg);
  if (arg instanceof Node || typeof arg !== 'object' || arg === null) return arg;
  if (Array.isArray(arg)) return arg.map((item) => mapSymbols(item, fn));
  return Object.fromEntries(
    Object.entries(arg).map(([key, value]) => [key, mapSymbols(value, fn)]),
  );
}
