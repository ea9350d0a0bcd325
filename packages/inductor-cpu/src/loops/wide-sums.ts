/**
 * @file `WideSums`: the second level of float32 partial sums, in float64.
 *
 * A sum that only ever adds to one float32 loses what its elements have below the sum's last bit, and on
 * millions of equal elements it loses the same each time. So the registers that the loop adds to are
 * emptied into float64 every few iterations, before that loss shows; the loop itself stays as it is.
 */
import { convert } from '../body/convert.js';
import type { Value } from '../body/value.js';
import type { Reg, Regs, VectorBuilder } from '../body/vector-builder.js';
import type { Local } from '../emit/types.js';
import { assign, stateRegs } from './state-registers.js';

/** See the file header. */
export class WideSums {
  readonly #sums: Local<'v128'>[];

  /** For `count` registers of four float32 sums. */
  constructor(
    readonly vb: VectorBuilder,
    count: number,
  ) {
    this.#sums = stateRegs(vb, 2 * count, 'wide');
  }

  /** Two registers for each of the four float32 sums. */
  get regs(): Regs {
    return this.#sums;
  }

  /** The sums as float32, rounded once. */
  get rounded(): Regs {
    return convert(this.vb, { kind: 'f64', uniform: false, regs: this.#sums }, 'f32').regs;
  }

  /** Sets all sums to zero. */
  start(): void {
    assign(this.vb, this.#sums, this.vb.i32(0));
  }

  /** Adds float32 partial sums, which start again from zero. */
  take(partial: readonly Local<'v128'>[]): void {
    assign(this.vb, this.#sums, this.vb.bin('f64x2.add', this.#sums, this.#widen(partial)));
    assign(this.vb, partial, this.vb.i32(0));
  }

  /** Multiplies the sums of the first registers by float32 factors, one for each of the four. */
  scale(factors: Regs): void {
    const sums = this.#sums.slice(0, 2 * factors.length);
    assign(this.vb, sums, this.vb.bin('f64x2.mul', sums, this.#widen(factors)));
  }

  #widen(regs: readonly Reg[]): Regs {
    const value: Value = { kind: 'f32', uniform: false, regs };
    return convert(this.vb, value, 'f64').regs;
  }
}
