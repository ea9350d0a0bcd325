/**
 * @file `ScanState`: the running value of one scan in vector registers.
 *
 * Where the scanned variable lies along the lanes, each iteration first scans inside its registers (log₂ of the
 * lanes), then hands the total from register to register, and only then adds what came before: the chain from
 * one iteration to the next is a single operation. Where another variable lies along the lanes, every lane is
 * a scan of its own. Sums and products of float32 run in float64, as PyTorch's do on the CPU.
 */
import type { ScalarOp } from '@tessera/inductor-core';
import type { DType } from '@tessera/tensor';
import type { BodyEmitter } from '../body/body-emitter.js';
import { convert, wrapTo } from '../body/convert.js';
import { kindOf, registersPerGroup, type ElementKind } from '../body/element-kind.js';
import { activeIn } from '../body/places.js';
import type { Lanes } from '../body/scope.js';
import type { Value } from '../body/value.js';
import type { Reg, Regs } from '../body/vector-builder.js';
import type { Local } from '../emit/types.js';
import { expand, laneMasks, type ReduceStmt } from './reducer.js';
import { assign, stateRegs } from './state-registers.js';

const JOIN: Readonly<Partial<Record<ReduceStmt['op'], ScalarOp>>> = {
  sum: 'add',
  prod: 'mul',
  max: 'maximum',
  min: 'minimum',
};

/** See the file header. */
export class ScanState {
  readonly #kind: ElementKind;
  readonly #dtype: DType;
  readonly #state: Local<'v128'>[];

  /** `combine`: the scanned variable lies along the lanes. */
  constructor(
    readonly body: BodyEmitter,
    readonly statement: ReduceStmt,
    groups: number,
    readonly combine: boolean,
  ) {
    const { op, dtype } = statement;
    const isWide = kindOf(dtype) === 'f32' && (op === 'sum' || op === 'prod');
    this.#dtype = isWide ? 'float64' : dtype;
    this.#kind = kindOf(this.#dtype);
    const count = combine ? 1 : groups * registersPerGroup(this.#kind);
    this.#state = stateRegs(body.vb, count, `running_${op}`);
  }

  /** Sets the state to that of nothing; emitted before the loops. */
  start(): void {
    assign(this.body.vb, this.#state, this.#identity());
  }

  /** Takes in one vector iteration; the running values at its elements. */
  update(value: Value, lanes: Lanes): Value {
    const { vb } = this.body;
    vb.hint = this.statement.op;
    const x = expand(convert(vb, value, this.#kind), lanes.groups);
    const running = this.combine ? this.#along(x, lanes) : this.#join(this.#state, x);
    if (!this.combine) running.forEach((reg, i) => vb.f.set(this.#state[i]!, reg));
    const { dtype } = this.statement;
    const result = { kind: this.#kind, uniform: false, regs: running };
    return wrapTo(vb, convert(vb, result, kindOf(dtype)), dtype);
  }

  #along(x: Regs, lanes: Lanes): Regs {
    const { vb } = this.body;
    const perGroup = registersPerGroup(this.#kind);
    const nothing = this.#identity();
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
    return this.body.vb.shuffle(isWide ? [2, 3, 2, 3] : [3, 3, 3, 3], [reg]);
  }

  #join(a: Regs, b: Regs): Regs {
    const value = (regs: Regs): Value => ({ kind: this.#kind, uniform: false, regs });
    return this.body.apply(JOIN[this.statement.op]!, this.#dtype, [value(a), value(b)]).regs;
  }

  /** The running value before the first element. */
  #identity(): Regs {
    const { vb } = this.body;
    const { op } = this.statement;
    const sign = op === 'max' ? -1 : 1;
    const isExtreme = op === 'max' || op === 'min';
    switch (this.#kind) {
      case 'f32':
        return vb.f32(sign * Infinity);
      case 'f64':
        return vb.f64(isExtreme ? sign * Infinity : op === 'prod' ? 1 : 0);
      case 'i64':
        return vb.i64(
          isExtreme ? (sign < 0 ? -(2n ** 63n) : 2n ** 63n - 1n) : BigInt(Number(op === 'prod')),
        );
      default:
        return vb.i32(isExtreme ? (sign < 0 ? -(2 ** 31) : 2 ** 31 - 1) : Number(op === 'prod'));
    }
  }
}
