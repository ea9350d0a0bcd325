/**
 * @file `LoopSpace`: the loop variables of a kernel, as a schedule iterates over them.
 *
 * Two changes are made without touching the kernel's expressions. *Merging*: neighbouring variables
 * `a`, `b` that every index uses as `a·size(b) + b` become one variable: `a` is 0 and `b` runs over both.
 * *Splitting*: a variable that indices use as `v div d` and `v mod d` is replaced by its digits, so that
 * those become plain variables. What a variable then is of others is its definition. `linear` reads an
 * index in terms of the result; loop code and addresses are made from such forms only.
 */
import { type Size, sizeFloorDiv, sizeHint, sizeMul } from '@tessera/shared';
import { IndexBuilder } from '../../ir/index-build.js';
import type { IndexExpr, SizedLoop } from '../../ir/index-expr.js';
import type { LinearForm } from '../../ir/linear-form.js';
import { times, variable, whole } from '../kernel/places.js';

/** See the file header. */
export class LoopSpace {
  /** Expressions in terms of this space's variables are of this builder, which knows their trip counts. */
  readonly #indices = new IndexBuilder();
  readonly #definitions = new Map<string, IndexExpr>();
  #forms = new Map<IndexExpr, LinearForm>();

  constructor(vars: readonly SizedLoop[]) {
    for (const { name, size } of vars) this.#indices.sym(name, size);
  }

  /** Trip count of a variable of this space. */
  size(name: string): Size {
    return this.#indices.sizeOf(name)!;
  }

  /** Trip count of a variable to choose code by: that of the example where it is symbolic. */
  hint(name: string): number {
    return sizeHint(this.size(name));
  }

  /** Adds a variable of trip count one. */
  addUnit(name: string): void {
    this.#indices.sym(name, 1);
  }

  /** What variables are of others. */
  get definitions(): ReadonlyMap<string, IndexExpr> {
    return this.#definitions;
  }

  /** Makes a variable what an index of others is. */
  define(name: string, index: IndexExpr): void {
    this.#definitions.set(name, index);
    this.#forms = new Map();
  }

  /** Makes `outer` 0 and lets `inner` run over both. */
  merge(outer: string, inner: string): void {
    this.#indices.sym(inner, sizeMul(this.size(outer), this.size(inner)));
    this.fix(outer);
  }

  /** Makes a variable 0 (its trip count is one). */
  fix(name: string): void {
    this.define(name, whole(0));
  }

  /** Replaces a variable by digits; `units` descend and each divides the one before. Returns the digits' names. */
  split(name: string, units: readonly Size[]): readonly string[] {
    const total = this.size(name);
    const digits = units.map((unit, i) => ({
      name: `${name}.${String(unit)}`,
      unit,
      size: sizeFloorDiv(units[i - 1] ?? total, unit),
    }));
    for (const digit of digits) this.#indices.sym(digit.name, digit.size);
    const terms = digits.map((digit) => times(variable(digit.name), digit.unit));
    this.define(name, { kind: 'add', terms });
    return digits.map((digit) => digit.name);
  }

  /** An index in terms of this space's variables. */
  linear(index: IndexExpr): LinearForm {
    let form = this.#forms.get(index);
    if (form === undefined) {
      form = this.#indices.linearAt(index, (name) => this.#valueOf(name));
      this.#forms.set(index, form);
    }
    return form;
  }

  /** A number that equal forms, or equal indices in terms of this space's variables, share. */
  numberOf(form: LinearForm | IndexExpr): number {
    return this.#indices.idOf('kind' in form ? form : this.#indices.sum(form));
  }

  /** Whether an index in terms of this space's variables may be less than 0. */
  mayBeNegative(index: IndexExpr): boolean {
    return this.#indices.bounds(index).lo < 0;
  }

  #valueOf(name: string): IndexExpr | undefined {
    const definition = this.#definitions.get(name);
    return definition && this.#indices.sum(this.linear(definition));
  }
}
