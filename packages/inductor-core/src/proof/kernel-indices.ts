/**
 * @file Indices and integer values of a kernel, as kernels compute them, in expressions of one `IndexBuilder`.
 *
 * A mask that speaks of a place (`i0 - 3 >= 0`) and a load at that place so have the same parts. Nothing is assumed of how
 * the expressions were made: a plan from a file need not be canonical. Kernels add and multiply modulo 2^32 and divide
 * unsigned numbers, so a quotient is taken to be one only where it is certain that the same comes out.
 */
import { type ValueRange, liesWithin } from '@tessera/shared';
import type { Expr } from '../ir/expr.js';
import { divisorOf } from '../ir/index-bounds.js';
import { IndexBuilder } from '../ir/index-build.js';
import type { IndexExpr } from '../ir/index-expr.js';
import { INT32 } from '../ir/integer-ranges.js';
import type { LinearForm } from '../ir/linear-form.js';
import { isFloat } from '../ir/scalar-eval.js';
import { postorder } from '../ir/walk.js';

/** A linear form of numbers: plans that are proven have no symbolic sizes. */
export interface NumberForm extends LinearForm {
  readonly constant: number;
  readonly terms: ReadonlyMap<IndexExpr, number>;
}

/** `a + factor · b`. */
export function plus(a: NumberForm, b: NumberForm, factor: number): NumberForm {
  const terms = new Map(a.terms);
  for (const [part, coefficient] of b.terms) {
    const total = (terms.get(part) ?? 0) + factor * coefficient;
    if (total === 0) terms.delete(part);
    else terms.set(part, total);
  }
  return { constant: a.constant + factor * b.constant, terms };
}

/** A quotient or remainder of what is not known to be in [0, 2^31). */
export interface OpenDivision {
  readonly kind: 'div' | 'mod';
  readonly num: NumberForm;
  readonly by: number;
}

/** Sums of more terms are one part: they are no places, and long chains of them would take quadratic time. */
const MOST_TERMS = 32;
/** Larger numbers are no places, and sums of them might not be exact. */
export const LARGEST: number = 2 ** 45;
/** What a kernel divides without a sign and without wrapping around. */
export const UNSIGNED: ValueRange = { lo: 0, hi: INT32.hi };

/** What bounds a kernel's variables and values wherever it runs. */
export interface IndexFacts {
  readonly sizeOf: (name: string) => number | undefined;
  readonly ofValue: (value: Expr) => ValueRange;
}

/** See the file header. One serves one kernel. */
export class KernelIndices extends IndexBuilder {
  private readonly indices = new Map<IndexExpr, IndexExpr>();
  private readonly values = new Map<Expr, IndexExpr>();
  private readonly open = new Map<IndexExpr, OpenDivision>();

  constructor(private readonly facts: IndexFacts) {
    super();
  }

  protected override boundsOfValue(value: Expr): ValueRange {
    return this.facts.ofValue(value);
  }

  /** The form of an index. */
  ofIndex(index: IndexExpr): NumberForm {
    return this.form(this.read(index));
  }

  /** The form of an integer value. */
  ofValue(value: Expr): NumberForm {
    return this.form(this.placeOf(value));
  }

  /** The form of an expression of this builder. */
  form(index: IndexExpr): NumberForm {
    return this.linear(index) as NumberForm;
  }

  /** What a part stands for, if it is a division that may leave the numbers that kernels divide. */
  openDivision(part: IndexExpr): OpenDivision | undefined {
    return this.open.get(part);
  }

  private read(index: IndexExpr): IndexExpr {
    let found = this.indices.get(index);
    if (found === undefined) this.indices.set(index, (found = this.exact(this.readIndex(index))));
    return found;
  }

  /** An expression, or a part of which nothing is known where numbers are too large. */
  private exact(index: IndexExpr): IndexExpr {
    const { constant, terms } = this.form(index);
    const isExact = [constant, ...terms.values()].every((each) => Math.abs(each) <= LARGEST);
    return isExact ? index : this.unknown();
  }

  private unknown(): IndexExpr {
    return this.sym(`?${this.idOf({})}`);
  }

  private readIndex(index: IndexExpr): IndexExpr {
    switch (index.kind) {
      case 'int':
        return this.int(index.value);
      case 'size':
        return this.unknown();
      case 'sym':
        return this.sym(index.name, this.facts.sizeOf(index.name));
      case 'add':
        return this.reduced(index.terms, (a, b) => this.add(a, b));
      case 'mul':
        return this.reduced(index.factors, (a, b) => this.mul(a, b));
      case 'value': {
        // Kernels compute indices in 32 bits: a value that may not fit is some other number there.
        const { value } = index;
        const place = this.placeOf(value);
        return liesWithin(this.bounds(place), INT32) ? place : this.valuePart(value);
      }
      case 'div':
      case 'mod':
        return this.readDivision(index);
    }
  }

  private reduced(
    list: readonly IndexExpr[],
    join: (a: IndexExpr, b: IndexExpr) => IndexExpr,
  ): IndexExpr {
    return list.map((each) => this.read(each)).reduce((a, b) => this.exact(join(a, b)));
  }

  private readDivision({ kind, num, den }: Extract<IndexExpr, { kind: 'div' | 'mod' }>): IndexExpr {
    const [from, by] = [this.read(num), divisorOf(this.read(den))];
    if (typeof by !== 'number' || by < 1 || by > INT32.hi) return this.unknown();
    if (liesWithin(this.bounds(from), UNSIGNED)) return this[kind](from, by);
    const part = this.sym(`${kind}${by}:${this.idOf(from)}`);
    this.open.set(part, { kind, num: this.form(from), by });
    return part;
  }

  /** An integer value as an index; operands first, as expressions may be deep. */
  private placeOf(root: Expr): IndexExpr {
    const known = this.values.get(root);
    if (known !== undefined) return known;
    for (const value of postorder([root], (each) => this.values.has(each)))
      this.values.set(value, this.readValue(value));
    return this.values.get(root)!;
  }

  /** What arithmetic does not change as long as nothing wraps around; everything else is a part. */
  private readValue(value: Expr): IndexExpr {
    const place = isFloat(value.dtype) ? null : this.arithmetic(value);
    const isShort = place !== null && (place.kind !== 'add' || place.terms.length <= MOST_TERMS);
    return isShort && liesWithin(this.bounds(place), INT32) ? place : this.valuePart(value);
  }

  private valuePart(value: Expr): IndexExpr {
    // Constants and loop indices that do not fit 32 bits would be folded.
    return value.kind === 'const' || value.kind === 'index' ? this.unknown() : this.value(value);
  }

  private arithmetic(value: Expr): IndexExpr | null {
    if (value.kind === 'const') return this.int(value.value);
    if (value.dtype === 'bool') return null;
    if (value.kind === 'index') return this.read(value.index);
    if (value.kind !== 'op' || value.args.some((arg) => isFloat(arg.dtype))) return null;
    const { op, args, dtype } = value;
    const fits = (each: Expr): boolean => liesWithin(this.facts.ofValue(each), INT32);
    if (op === 'cast')
      // A cast that keeps every value that the operand can have.
      return (dtype === 'int32' || dtype === 'int64') && fits(args[0]!)
        ? this.values.get(args[0]!)!
        : null;
    if (!fits(value)) return null;
    const [a, b] = args.map((arg) => this.values.get(arg)!);
    switch (op) {
      case 'add':
        return this.add(a, b);
      case 'sub':
        return this.sub(a, b);
      case 'neg':
        return this.scale(a, -1);
      case 'mul':
        return divisorOf(a) !== null || divisorOf(b) !== null ? this.mul(a, b) : null;
      default:
        return null;
    }
  }
}
