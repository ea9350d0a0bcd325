/**
 * @file `SizeProgram`: expressions of symbols as one straight-line program, for evaluating many of them at once.
 *
 * Expressions are made once each (`ExprPool`), so what they have in common is computed once. A choice of values is evaluated
 * when it is new and seldom again: a loop over a list costs less than closures that the engine has not met. All slots are
 * computed, those too that a condition on another one keeps from being asked, so no slot throws.
 */
import { floorDivNumbers, modNumbers } from './integer-arithmetic.js';
import type { Size } from './size.js';
import type { SymInt } from './sym-int.js';

/** What a slot is computed from; slots of `args` come before it. */
interface SizeStep extends Pick<SymInt, 'kind' | 'coeffs' | 'constant'> {
  readonly to: number;
  readonly args: readonly number[];
}

/** See the file header. */
export class SizeProgram {
  /** Slots with the numbers that no symbol changes. */
  private readonly initial: number[] = [];
  private readonly steps: SizeStep[] = [];
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
    this.steps.push({ to, kind, args, coeffs, constant });
    return to;
  }

  private add(size: Size, value: number): number {
    const slot = this.initial.push(value) - 1;
    this.known.set(size, slot);
    return slot;
  }

  /** What all slots are at values of the symbols: NaN, which equals nothing, where one divides by zero. */
  run(values: readonly number[]): readonly number[] {
    const { steps } = this;
    const at = this.initial.slice();
    for (let i = 0; i < this.symbols.length; i++) at[i] = values[i]!;
    for (let i = 0; i < steps.length; i++) at[steps[i]!.to] = computed(steps[i]!, at);
    return at;
  }
}

/** What a program computed in slots. A loop: it seldom runs, so nothing inlines it. */
export function numbersIn(slots: readonly number[], computed: readonly number[]): number[] {
  const numbers: number[] = [];
  for (let i = 0; i < slots.length; i++) numbers.push(computed[slots[i]!]!);
  return numbers;
}

function computed({ kind, args, coeffs, constant }: SizeStep, at: readonly number[]): number {
  let value = at[args[0]!]!;
  switch (kind) {
    case 'sum':
      value = constant;
      for (let i = 0; i < args.length; i++) value += coeffs[i]! * at[args[i]!]!;
      return value;
    case 'floordiv':
      return at[args[1]!] === 0 ? NaN : floorDivNumbers(value, at[args[1]!]!);
    case 'mod':
      return at[args[1]!] === 0 ? NaN : modNumbers(value, at[args[1]!]!);
    case 'product':
      for (let i = 1; i < args.length; i++) value *= at[args[i]!]!;
      return value;
    case 'min':
      for (let i = 1; i < args.length; i++) value = Math.min(value, at[args[i]!]!);
      return value;
    default:
      for (let i = 1; i < args.length; i++) value = Math.max(value, at[args[i]!]!);
      return value;
  }
}
