/**
 * @file Walking symbolic sizes: evaluation, free symbols, rebuilding with replacements.
 *
 * Operands have lower ids than their users, so sorting the reachable nodes by id is a topological
 * order and no walk recurses.
 */
import { TesseraError } from '../errors.js';
import { floorDivSizes, modSizes } from './divide.js';
import { extremumOf } from './extremum.js';
import { floorDivNumbers, modNumbers } from './integer-arithmetic.js';
import { addScaled, constantPolynomial, fromPolynomial, multiplySizes } from './polynomial.js';
import type { Size } from './size.js';
import type { SymInt } from './sym-int.js';

/** All nodes of the expressions, operands before their users. */
export function nodesOf(...roots: readonly Size[]): SymInt[] {
  const seen = new Set<SymInt>();
  const pending = roots.filter((root): root is SymInt => typeof root !== 'number');
  for (let node = pending.pop(); node !== undefined; node = pending.pop()) {
    if (seen.has(node)) continue;
    seen.add(node);
    for (const arg of node.args) if (typeof arg !== 'number') pending.push(arg);
  }
  return [...seen].sort((a, b) => a.id - b.id);
}

/** The symbols of the expressions, in order of creation. */
export function freeSymbols(...roots: readonly Size[]): SymInt[] {
  return nodesOf(...roots).filter((node) => node.kind === 'symbol');
}

/**
 * The value of a size for given symbol values.
 *
 * @throws invalid-argument when a symbol has no value or a divisor is zero.
 */
export function evaluateSize(size: Size, bindings: Readonly<Record<string, number>>): number {
  if (typeof size === 'number') return size;
  const values = new Map<SymInt, number>();
  for (const node of nodesOf(size)) {
    values.set(node, node.kind === 'symbol' ? boundValue(node, bindings) : applyNode(node, values));
  }
  return values.get(size)!;
}

function boundValue(symbol: SymInt, bindings: Readonly<Record<string, number>>): number {
  if (Object.hasOwn(bindings, symbol.name)) return bindings[symbol.name];
  throw new TesseraError('invalid-argument', `The symbol ${symbol.name} has no value.`, {
    context: { symbol: symbol.name, given: Object.keys(bindings) },
    hints: [`Give a value for every symbol of the expression: { ${symbol.name}: … }.`],
  });
}

/** The hint of a node from the hints of its operands; undefined when one of them has none. */
export function hintOf(
  node: Pick<SymInt, 'kind' | 'args' | 'coeffs' | 'constant'>,
): number | undefined {
  const values = new Map<SymInt, number>();
  for (const arg of node.args) {
    if (typeof arg === 'number') continue;
    if (arg.hint === undefined) return undefined;
    values.set(arg, arg.hint);
  }
  return applyNode(node, values);
}

/** Computes one node from the values of its operands. */
function applyNode(
  node: Pick<SymInt, 'kind' | 'args' | 'coeffs' | 'constant'>,
  values: ReadonlyMap<SymInt, number>,
): number {
  const operands = node.args.map((arg) => (typeof arg === 'number' ? arg : values.get(arg)!));
  switch (node.kind) {
    case 'symbol':
      return Number.NaN;
    case 'sum':
      return (
        operands.reduce((total, value, i) => total + node.coeffs[i] * value, node.constant) + 0
      );
    case 'product':
      return operands.reduce((product, value) => product * value, 1) + 0;
    case 'floordiv':
      return floorDivNumbers(operands[0], operands[1]);
    case 'mod':
      return modNumbers(operands[0], operands[1]);
    case 'min':
      return Math.min(...operands) + 0;
    case 'max':
      return Math.max(...operands) + 0;
  }
}

/**
 * Rebuilds an expression bottom-up, asking `replace` for every rebuilt node.
 *
 * Rebuilding runs the simplification rules again, so what became known since then is applied.
 */
export function rebuildSize(size: Size, replace: (node: SymInt) => Size): Size {
  if (typeof size === 'number') return size;
  const rebuilt = new Map<SymInt, Size>();
  for (const node of nodesOf(size)) {
    const built = node.kind === 'symbol' ? node : rebuildNode(node, rebuilt);
    rebuilt.set(node, typeof built === 'number' ? built : replace(built));
  }
  return rebuilt.get(size)!;
}

function rebuildNode(node: SymInt, rebuilt: ReadonlyMap<SymInt, Size>): Size {
  const { env } = node;
  const args = node.args.map((arg) => (typeof arg === 'number' ? arg : rebuilt.get(arg)!));
  switch (node.kind) {
    case 'symbol':
      return node;
    case 'sum': {
      const sum = constantPolynomial(node.constant);
      for (let i = 0; i < args.length; i++) addScaled(sum, args[i], node.coeffs[i]);
      return fromPolynomial(env, sum);
    }
    case 'product':
      return args.reduce((product, factor) => multiplySizes(env, product, factor));
    case 'floordiv':
      return floorDivSizes(env, args[0], args[1]);
    case 'mod':
      return modSizes(env, args[0], args[1]);
    case 'min':
    case 'max':
      return extremumOf(env, node.kind, args);
  }
}
