/**
 * @file `ScanState`: the running value of one scan in vector registers.
 *
 * Where the scanned variable lies along the lanes, each iteration first scans inside its registers (log₂ of the
 * lanes), then hands the total from register to register, and only then adds what came before: the chain from
 * one iteration to the next is a single operation. Where another variable lies along the lanes, every lane is
 * a scan of its own.
 */
import type { Accumulator, Reduction } from '@tessera/inductor-core';
import { convert, wrapTo } from '../body/convert.js';
import { kindOf, registersPerGroup, type ElementKind } from '../body/element-kind.js';
import { constantRegs } from '../body/leaf-values.js';
import { activeIn } from '../body/places.js';
import type { Lanes } from '../body/scope.js';
import type { Value } from '../body/value.js';
import type { Reg, Regs, VectorBuilder } from '../body/vector-builder.js';
import type { Local } from '../emit/types.js';
import { expand, laneMasks } from './lane-parts.js';
import { reductionValues } from './reduction-values.js';
import { assign, stateRegs } from './state-registers.js';

/** See the file header. */
export class ScanState {
  readonly #kind: ElementKind;
  readonly #state: Local<'v128'>[];

  /** `combine`: the scanned variable lies along the lanes. */
  constructor(
    readonly vb: VectorBuilder,
    readonly accumulator: Accumulator,
    groups: number,
    readonly combine: boolean,
  ) {
    this.#kind = kindOf(this.#register.dtype);
    const count = combine ? 1 : groups * registersPerGroup(this.#kind);
    this.#state = stateRegs(vb, count, `running_${accumulator.reduction.op}`);
  }

  get #register(): Reduction['state'][number] {
    return this.accumulator.reduction.state[0]!;
  }

  /** Sets the state to that of nothing; emitted before the loops. */
  start(): void {
    assign(this.vb, this.#state, this.#identity);
  }

  /** Takes in one vector iteration; the running values at its elements. */
  update(value: Value, lanes: Lanes): Value {
    const { vb } = this;
    vb.hint = this.accumulator.reduction.op;
    const x = expand(convert(vb, value, this.#kind), lanes.groups);
    const running = this.combine ? this.#along(x, lanes) : this.#join(this.#state, x);
    if (!this.combine) running.forEach((reg, i) => vb.f.set(this.#state[i]!, reg));
    const { dtype } = this.accumulator;
    const result = { kind: this.#kind, uniform: false, regs: running };
    return wrapTo(vb, convert(vb, result, kindOf(dtype)), dtype);
  }

  #along(x: Regs, lanes: Lanes): Regs {
    const { vb } = this;
    const perGroup = registersPerGroup(this.#kind);
    const nothing = this.#identity;
    // What lies past the end of the row must not reach the elements of the next.
    let within: Regs = x.map((reg, i) => {
      const active = activeIn(lanes, Math.floor(i / perGroup));
      const mask = laneMasks(vb, this.#kind, active)[i % perGroup];
      return mask === undefined ? reg : vb.select(mask, [reg], nothing)[0]!;
    });
    if (perGroup === 1) within = this.#join(vb.shuffle([0, 4, 5, 6], nothing, within), within);
    within = this.#join(vb.shuffle([0, 1, 4, 5], nothing, within), within);
    const chained: Reg[] = [within[0]!];
    for (const reg of within.slice(1))
      chained.push(this.#join(this.#last(chained.at(-1)!), [reg])[0]!);
    const running = this.#join(this.#state, chained);
    vb.f.set(this.#state[0]!, this.#last(running.at(-1)!)[0]!);
    return running;
  }

  /** The last lane of a register in all lanes. */
  #last(reg: Reg): Regs {
    const isWide = registersPerGroup(this.#kind) === 2;
    return this.vb.shuffle(isWide ? [2, 3, 2, 3] : [3, 3, 3, 3], [reg]);
  }

  #join(a: Regs, b: Regs): Regs {
    const { reduction } = this.accumulator;
    const { name } = this.#register;
    const [joined] = reductionValues(this.vb, reduction, reduction.merge, (operand) => ({
      kind: this.#kind,
      uniform: false,
      regs: operand === name ? a : b,
    }));
    return joined!.regs;
  }

  /** The running value before the first element. */
  get #identity(): Regs {
    const { dtype, identity } = this.#register;
    return constantRegs(this.vb, dtype, identity);
  }
}
