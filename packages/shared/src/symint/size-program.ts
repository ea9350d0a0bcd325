/**
 * @file `SizeProgram`: expressions of symbols as one straight-line program, for evaluating many of them at once.
 *
 * Expressions are made once each (`ExprPool`), so what they have in common is computed once. A choice of values is evaluated
 * when it is new and seldom again: a loop over a list of numbers costs less than closures that the engine has not met, and objects that caches have forgotten. All slots are
 * computed, those too that a condition on another one keeps from being asked, so no slot throws.
 */
import { floorDivNumbers, modNumbers } from './integer-arithmetic.js';
import type { Size } from './size.js';
import type { SymInt } from './sym-int.js';

/** Kinds of expressions that are computed from others. */
const KINDS: readonly SymInt['kind'][] = ['sum', 'floordiv', 'mod', 'product', 'min', 'max'];
const SUM = 0;
const MOD = 2;
const PRODUCT = 3;
const MIN = 4;

/** See the file header. */
export class SizeProgram {
  /** Slots with the numbers that no symbol changes. */
  private readonly initial: number[] = [];
  /**
   * How slots are computed, one after another: the kind, the slot, how many arguments it has, their slots, and of a sum
   * its constant and the factors of its arguments.
   */
  private readonly code: number[] = [];
  private readonly known = new Map<Size, number>();

  /** @param symbols in the order in which values are given; their slots are the first ones */
  constructor(private readonly symbols: readonly SymInt[]) {
    for (const symbol of symbols) this.known.set(symbol, this.initial.push(0) - 1);
  }

  /** The slot of a size, which is computed from now on. */
  slot(size: Size): number {
    const found = this.known.get(size);
    if (found !== undefined) return found;
    if (typeof size === 'number') return this.add(size, size);
    const { kind, coeffs, constant } = size;
    // Of other symbols nothing is known, and no condition on them holds.
    if (kind === 'symbol') return this.add(size, NaN);
    const args = size.args.map((arg) => this.slot(arg));
    const to = this.add(size, 0);
    this.code.push(KINDS.indexOf(kind), to, args.length, ...args);
    if (kind === 'sum') this.code.push(constant, ...coeffs);
    return to;
  }

  /** How many slots there are: what was computed before there were more is that many numbers. */
  get length(): number {
    return this.initial.length;
  }

  private add(size: Size, value: number): number {
    const slot = this.initial.push(value) - 1;
    this.known.set(size, slot);
    return slot;
  }

  /** What all slots are at values of the symbols: NaN, which equals nothing, where one divides by zero. */
  run(values: readonly number[]): readonly number[] {
    const { code } = this;
    const at = this.initial.slice();
    for (let i = 0; i < this.symbols.length; i++) at[i] = values[i]!;
    for (let i = 0; i < code.length;) {
      const kind = code[i]!;
      const to = code[i + 1]!;
      const end = i + 3 + code[i + 2]!;
      i += 3;
      let value = at[code[i]!]!;
      if (kind === SUM) {
        value = code[end]!;
        const factors = end + 1 - i;
        for (; i < end; i++) value += code[i + factors]! * at[code[i]!]!;
        i = end + factors;
      } else if (kind <= MOD) {
        const by = at[code[i + 1]!]!;
        if (by === 0) value = NaN;
        else value = kind === MOD ? modNumbers(value, by) : floorDivNumbers(value, by);
        i = end;
      } else {
        for (i++; i < end; i++) {
          const next = at[code[i]!]!;
          if (kind === PRODUCT) value *= next;
          else value = kind === MIN ? Math.min(value, next) : Math.max(value, next);
        }
      }
      // As small integers: a list with another number is of another kind, as is what is made of it, to the engine's code.
      at[to] = (value | 0) === value ? value | 0 : value;
    }
    return at;
  }
}

/** What a program computed in slots. A loop: it seldom runs, so nothing inlines it. */
export function numbersIn(slots: readonly number[], computed: readonly number[]): number[] {
  const numbers: number[] = [];
  for (let i = 0; i < slots.length; i++) numbers.push(computed[slots[i]!]!);
  return numbers;
}
