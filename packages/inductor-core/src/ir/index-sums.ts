/**
 * @file Hash-consing constructors of index expressions: constants, variables, sums and products.
 *
 * Every expression is kept in one canonical form: a constant plus a sum of `coefficient · part`, where a part is a
 * variable, a run-time value, a product of parts, or a quotient or remainder (`index-build.ts`). Constants and
 * coefficients are sizes: numbers, or expressions of symbolic sizes, with the arithmetic of `symint`. Equal expressions
 * of one builder are the same object.
 */
import { type Size, sizeAdd, sizeMul } from '@tessera/shared';
import type { Expr } from './expr.js';
import { divisorOf } from './index-bounds.js';
import type { IndexExpr } from './index-expr.js';
import type { LinearForm } from './linear-form.js';

/** A form under construction. */
export interface Sum {
  constant: Size;
  readonly terms: Map<IndexExpr, Size>;
}

/** See the file header. */
export abstract class IndexSums {
  private readonly table = new Map<string, IndexExpr>();
  private readonly ids = new Map<object, number>();
  private readonly sizes = new Map<string, Size>();

  /** Joins what is one again when all terms are there. */
  protected abstract rejoin(sum: Sum): void;

  /** Called when a variable gets another trip count. */
  protected abstract resized(): void;

  /** The number of an interned object, for structural keys. */
  idOf(object: object): number {
    let id = this.ids.get(object);
    if (id === undefined) {
      id = this.ids.size;
      this.ids.set(object, id);
    }
    return id;
  }

  protected intern(key: string, make: () => IndexExpr): IndexExpr {
    let found = this.table.get(key);
    if (found === undefined) {
      found = make();
      this.table.set(key, found);
      this.idOf(found);
    }
    return found;
  }

  int(value: number): IndexExpr {
    const whole = value === 0 ? 0 : value;
    return this.intern(`${whole}`, () => ({ kind: 'int', value: whole }));
  }

  /** A size as an index. */
  size(size: Size): IndexExpr {
    if (typeof size === 'number') return this.int(size);
    return this.intern(`s${this.idOf(size)}`, () => ({ kind: 'size', size }));
  }

  /** A loop variable; `size` (exclusive upper bound) is remembered by name. */
  sym(name: string, size?: Size): IndexExpr {
    if (size !== undefined && this.sizes.get(name) !== size) {
      if (this.sizes.has(name)) this.resized();
      this.sizes.set(name, size);
    }
    return this.intern(`$${name}`, () => ({ kind: 'sym', name }));
  }

  /** Trip count under which a variable was declared, if any. */
  sizeOf(name: string): Size | undefined {
    return this.sizes.get(name);
  }

  /** A run-time integer as part of an index. Constants and loop indices fold. */
  value(value: Expr): IndexExpr {
    if (value.kind === 'const') return this.int(Math.trunc(value.value));
    if (value.kind === 'index') return value.index;
    return this.intern(`@${this.idOf(value)}`, () => ({ kind: 'value', value }));
  }

  add(...terms: readonly IndexExpr[]): IndexExpr {
    const sum: Sum = { constant: 0, terms: new Map() };
    for (const term of terms) this.accumulate(sum, term, 1);
    return this.finish(sum);
  }

  sub(a: IndexExpr, b: IndexExpr): IndexExpr {
    return this.add(a, this.scale(b, -1));
  }

  /** `e · factor`. */
  scale(e: IndexExpr, factor: Size): IndexExpr {
    const sum: Sum = { constant: 0, terms: new Map() };
    this.accumulate(sum, e, factor);
    return this.finish(sum);
  }

  mul(a: IndexExpr, b: IndexExpr): IndexExpr {
    const [left, right] = [divisorOf(a), divisorOf(b)];
    if (left !== null) return this.scale(b, left);
    if (right !== null) return this.scale(a, right);
    const factors = [...productFactors(a), ...productFactors(b)];
    let constant: Size = 1;
    for (const f of factors) constant = sizeMul(constant, divisorOf(f) ?? 1);
    const rest = factors
      .filter((f) => divisorOf(f) === null)
      .sort((x, y) => this.idOf(x) - this.idOf(y));
    const product = this.intern(`*${rest.map((f) => this.idOf(f)).join(',')}`, () => ({
      kind: 'mul',
      factors: rest,
    }));
    return this.scale(product, constant);
  }

  /** An index as a constant and multiples of its parts. */
  linear(e: IndexExpr): LinearForm {
    const sum: Sum = { constant: 0, terms: new Map() };
    this.accumulate(sum, e, 1);
    return sum;
  }

  /** The index that a form stands for. */
  sum({ constant, terms }: LinearForm): IndexExpr {
    return this.finish({ constant, terms: new Map(terms) });
  }

  protected accumulate(sum: Sum, e: IndexExpr, factor: Size): void {
    if (factor === 0) return;
    const known = divisorOf(e);
    const first = e.kind === 'mul' ? divisorOf(e.factors[0]!) : null;
    if (known !== null) {
      sum.constant = sizeAdd(sum.constant, sizeMul(known, factor));
    } else if (e.kind === 'add') {
      for (const term of e.terms) this.accumulate(sum, term, factor);
    } else if (e.kind === 'mul' && first !== null) {
      const rest = e.factors.slice(1);
      const atom =
        rest.length === 1
          ? rest[0]!
          : this.intern(`*${rest.map((f) => this.idOf(f)).join(',')}`, () => ({
              kind: 'mul',
              factors: rest,
            }));
      this.accumulate(sum, atom, sizeMul(factor, first));
    } else {
      const total = sizeAdd(sum.terms.get(e) ?? 0, factor);
      if (total === 0) sum.terms.delete(e);
      else sum.terms.set(e, total);
    }
  }

  /** Interned canonical expression of a sum, after rejoining split digits. */
  protected finish(sum: Sum): IndexExpr {
    this.rejoin(sum);
    if (sum.terms.size === 0) return this.size(sum.constant);
    const terms: IndexExpr[] = [];
    for (const [atom, coefficient] of sum.terms)
      terms.push(coefficient === 1 ? atom : this.scaled(atom, coefficient));
    terms.sort((x, y) => this.idOf(x) - this.idOf(y));
    if (sum.constant !== 0) terms.push(this.size(sum.constant));
    if (terms.length === 1) return terms[0]!;
    return this.intern(`+${terms.map((t) => this.idOf(t)).join(',')}`, () => ({
      kind: 'add',
      terms: this.displayOrder(terms),
    }));
  }

  /** Largest coefficient first, so that printed indices read like strides; the constant stays last. */
  private displayOrder(terms: readonly IndexExpr[]): IndexExpr[] {
    const weight = (t: IndexExpr): number => {
      if (divisorOf(t) !== null) return -1;
      const factor = t.kind === 'mul' ? divisorOf(t.factors[0]!) : null;
      return factor === null ? 1 : typeof factor === 'number' ? Math.abs(factor) : Infinity;
    };
    return [...terms].sort((a, b) => Math.sign(weight(b) - weight(a)) || 0);
  }

  private scaled(atom: IndexExpr, coefficient: Size): IndexExpr {
    const factors = [this.size(coefficient), ...(atom.kind === 'mul' ? atom.factors : [atom])];
    return this.intern(`*${factors.map((f) => this.idOf(f)).join(',')}`, () => ({
      kind: 'mul',
      factors,
    }));
  }
}

function productFactors(e: IndexExpr): readonly IndexExpr[] {
  return e.kind === 'mul' ? e.factors : [e];
}
