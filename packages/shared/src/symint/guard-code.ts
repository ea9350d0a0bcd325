/**
 * @file The shape guards of a capture as generated code, and as an interpreter where code generation
 * is forbidden (content security policy).
 *
 * Both check the same things in the same order: fixed sizes, sizes that share a symbol, declared
 * ranges, recorded relations. A divisor's guard is recorded before any relation that divides by it.
 */
import { compareNumbers } from './integer-arithmetic.js';
import { printRelation } from './relation.js';
import { printSize } from './print.js';
import { evaluateSize, nodesOf } from './rewrite.js';
import type { ShapeEnv } from './shape-env.js';
import type { SymInt } from './sym-int.js';
import { inRange } from './value-range.js';
import type { ValueRange } from './value-range.js';

/** One check of a generated guard function. */
export interface ShapeCheck {
  /** JavaScript expression that is true when the guard holds. */
  readonly code: string;
  /** The same relation over source names, for messages. */
  readonly text: string;
}

/** Source text for a generated guard function. */
export interface ShapeGuardCode {
  /** `const` statements that read the symbols and compute shared subexpressions. */
  readonly prelude: readonly string[];
  readonly checks: readonly ShapeCheck[];
}

/** Emits the checks; `access` gives the JavaScript expression that reads a source. */
export function emitShapeGuards(env: ShapeEnv, access: (source: string) => string): ShapeGuardCode {
  const prelude: string[] = [];
  const checks: ShapeCheck[] = [];
  for (const { source, value } of env.constants) {
    checks.push({ code: `${access(source)} === ${value}`, text: `${source} === ${value}` });
  }
  for (const { symbol, sources, range } of env.symbols) {
    if (sources.length === 0) continue;
    const [first, ...others] = sources;
    prelude.push(`const ${symbol.name} = ${access(first)};`);
    for (const other of others) {
      checks.push({ code: `${access(other)} === ${symbol.name}`, text: `${other} === ${first}` });
    }
    const inside = rangeText(range, symbol.name);
    if (inside !== '') checks.push({ code: inside, text: rangeText(range, first) });
  }
  const shared = sharedNodes(env);
  for (const [node, name] of shared) {
    const nameOf = (operand: SymInt): string | undefined =>
      operand === node ? undefined : nameIn(operand, shared);
    prelude.push(`const ${name} = ${printSize(node, nameOf)};`);
  }
  const namer = sourceNamer(env);
  for (const { relation } of env.guards) {
    checks.push({
      code: printRelation(relation, (node) => nameIn(node, shared)),
      text: printRelation(relation, namer),
    });
  }
  return { prelude, checks };
}

/** Checks without generated code: the text of the first guard that fails, or undefined. */
export function checkShapeGuards(
  env: ShapeEnv,
  read: (source: string) => number,
): string | undefined {
  for (const { source, value } of env.constants) {
    if (read(source) !== value) return `${source} === ${value}`;
  }
  const bindings: Record<string, number> = {};
  for (const { symbol, sources, range } of env.symbols) {
    if (sources.length === 0) continue;
    const [first, ...others] = sources;
    const value = read(first);
    bindings[symbol.name] = value;
    for (const other of others) if (read(other) !== value) return `${other} === ${first}`;
    if (!inRange(range, value)) return rangeText(range, first);
  }
  for (const { relation } of env.guards) {
    const holds = compareNumbers(
      evaluateSize(relation.base, bindings),
      relation.op,
      relation.bound,
    );
    if (!holds) return printRelation(relation, sourceNamer(env));
  }
  return undefined;
}

function rangeText({ lo, hi }: ValueRange, name: string): string {
  const parts: string[] = [];
  if (lo !== -Infinity) parts.push(`${name} >= ${lo}`);
  if (hi !== Infinity) parts.push(`${name} <= ${hi}`);
  return parts.join(' && ');
}

/** Names a symbol by the place its value comes from. */
function sourceNamer(env: ShapeEnv): (node: SymInt) => string | undefined {
  const names = new Map(
    env.symbols.map(({ symbol, sources }) => [symbol, sources[0] ?? symbol.name]),
  );
  return (node) => names.get(node);
}

function nameIn(node: SymInt, shared: ReadonlyMap<SymInt, string>): string | undefined {
  return node.kind === 'symbol' ? node.name : shared.get(node);
}

/** Divisions and extrema used more than once get a name, so the text stays linear in the nodes. */
function sharedNodes(env: ShapeEnv): Map<SymInt, string> {
  const bases = env.guards.map(({ relation }) => relation.base);
  const uses = new Map<SymInt, number>();
  const nodes = nodesOf(...bases);
  for (const used of [...bases, ...nodes.flatMap((node) => node.args)]) {
    if (typeof used !== 'number') uses.set(used, (uses.get(used) ?? 0) + 1);
  }
  const shared = new Map<SymInt, string>();
  for (const node of nodes) {
    if (['floordiv', 'mod', 'min', 'max'].includes(node.kind) && uses.get(node)! > 1) {
      shared.set(node, `t${shared.size}`);
    }
  }
  return shared;
}
