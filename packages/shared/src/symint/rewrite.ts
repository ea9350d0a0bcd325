/**
 * @file Walking symbolic sizes: hints, free symbols, rebuilding with replacements.
 *
 * Operands have lower ids than their users, so sorting the reachable nodes by id is a topological
 * order and no walk recurses.
 */
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

/** The hint of a node, from those of its operands. @throws invalid-argument when a divisor is zero */
export function hintOf({
  kind,
  args,
  coeffs,
  constant,
}: Pick<SymInt, 'kind' | 'args' | 'coeffs' | 'constant'>): number {
  const operands = args.map((arg) => (typeof arg === 'number' ? arg : arg.hint));
  switch (kind) {
    case 'symbol':
      return Number.NaN;
    case 'sum':
      return operands.reduce((total, value, i) => total + coeffs[i] * value, constant) + 0;
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
