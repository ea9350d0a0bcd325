/**
 * @file What an expression depends on: loop variables, finished reductions, memory.
 *
 * From this follows where its code goes (outside every loop whose variable it does not use) and whether
 * its lanes differ.
 */
import {
  indexSymbols,
  indexValues,
  operands,
  type Expr,
  type GeneratedKernel,
  type IndexExpr,
  type LinearForm,
  type LoopSpace,
} from '@tessera/inductor-core';
import type { Size } from '@tessera/shared';

/** Marks expressions that read memory; they may not be evaluated where a mask forbids it. */
export const READS_MEMORY = '!';

/** Name of a reduction's result as a dependency. */
export function accName(id: number): string {
  return `#${id}`;
}

type Names = ReadonlySet<string>;
const NONE: Names = new Set();

/** Dependencies of expressions over one loop space, each computed once. */
export class Dependencies {
  readonly #known = new Map<Expr, Names>();
  readonly #parts = new Map<IndexExpr, Names>();

  /** `changing`: buffers whose elements may be others at each point of some variables, by name. */
  constructor(
    readonly space: LoopSpace,
    readonly changing: ReadonlyMap<string, readonly IndexExpr[]> = new Map(),
  ) {}

  /** Names of the loop variables, results (`#id`) and {@link READS_MEMORY} that an expression uses. */
  of(root: Expr): Names {
    const known = this.#known.get(root);
    if (known !== undefined) return known;
    const stack: Expr[] = [root];
    while (stack.length > 0) {
      const expr = stack[stack.length - 1];
      const missing = this.#known.has(expr)
        ? []
        : operands(expr).filter((operand) => !this.#known.has(operand));
      if (missing.length > 0) {
        stack.push(...missing);
      } else {
        stack.pop();
        if (!this.#known.has(expr)) this.#known.set(expr, this.#direct(expr));
      }
    }
    return this.#known.get(root)!;
  }

  #direct(expr: Expr): Names {
    const own: string[] = [];
    if (expr.kind === 'acc') own.push(accName(expr.id));
    if (expr.kind === 'load') own.push(READS_MEMORY);
    let names: Names = own.length === 0 ? NONE : new Set(own);
    if (expr.kind === 'load' || expr.kind === 'index' || expr.kind === 'random')
      names = union(names, this.ofForm(this.space.linear(expr.index)));
    if (expr.kind === 'load')
      for (const variable of this.changing.get(expr.buf) ?? [])
        names = union(names, this.ofForm(this.space.linear(variable)));
    for (const operand of operands(expr)) names = union(names, this.of(operand));
    return names;
  }

  /** Dependencies of an index in terms of the space's variables. */
  ofForm(form: LinearForm): Names {
    let names: Names = NONE;
    for (const part of form.terms.keys()) names = union(names, this.ofPart(part));
    return names;
  }

  /** Dependencies of a part of such a form, or of an index inside one. */
  ofPart(part: IndexExpr): Names {
    let names = this.#parts.get(part);
    if (names !== undefined) return names;
    names = indexSymbols(part);
    for (const value of indexValues(part)) names = union(names, this.of(value));
    this.#parts.set(part, names);
    return names;
  }
}

/** Shares a set that contains the other, so that long chains do not copy. */
function union(a: Names, b: Names): Names {
  if (b.size === 0 || a === b) return a;
  if (a.size === 0) return b;
  const [large, small] = a.size >= b.size ? [a, b] : [b, a];
  for (const name of small) if (!large.has(name)) return new Set([...large, ...small]);
  return large;
}

/** Buffers that inner points store to, each with the inner variables. */
export function changingBuffers(kernel: GeneratedKernel<Size>): Map<string, readonly IndexExpr[]> {
  const changing = new Map<string, readonly IndexExpr[]>();
  if (kernel.kind !== 'loop') return changing;
  const steps = kernel.inner.map(({ name }): IndexExpr => ({ kind: 'sym', name }));
  for (const { kind, body } of kernel.stages)
    for (const stmt of body)
      if (kind === 'inner' && stmt.kind === 'store') changing.set(stmt.buf, steps);
  return changing;
}
