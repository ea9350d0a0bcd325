/**
 * @file `RowSoftmax`: the softmax of a row whose logits come a block at a time.
 *
 * The largest logit so far and Σ exp(logit − largest) of each row are kept in memory between blocks. When a block has a
 * larger logit, what was summed is scaled. A row of nothing but -∞ has weights of 0.
 */
import { reductionOf } from '@tessera/inductor-core';
import type { DType } from '@tessera/tensor';
import type { BodyEmitter } from '../body/body-emitter.js';
import { kindOf } from '../body/element-kind.js';
import { constantValue } from '../body/leaf-values.js';
import { anyTrue } from '../body/places.js';
import type { Value } from '../body/value.js';
import { i32, laneMemory, memory, op } from '../emit/code.js';
import type { Local } from '../emit/types.js';
import { CPU_TARGET } from '../loops/cpu-target.js';
import { Reducer } from '../loops/reducer.js';
import { type ElementType, elementType } from '../matmul/element-type.js';
import { emitFunction } from '../math/vector-program.js';

/** Where things of one row lie. */
export interface RowPlaces {
  /** Its largest logit; the sum follows `apart` bytes later. */
  readonly state: Local<'i32'>;
  readonly apart: number;
  /** Its sums of values, `bytes` of them. */
  readonly sums: Local<'i32'>;
  readonly bytes: number;
}

/** See the file header. */
export class RowSoftmax {
  readonly #type: ElementType;
  readonly #peak: Reducer;
  readonly #total: Reducer;

  constructor(
    private readonly body: BodyEmitter,
    private readonly dtype: DType,
  ) {
    this.#type = elementType(dtype)!;
    this.#peak = this.#reducer('peak');
    this.#total = this.#reducer('sum');
  }

  #reducer(name: 'peak' | 'sum'): Reducer {
    const { dtype, body } = this;
    const reduction = reductionOf({ op: name, dtype, target: CPU_TARGET.arithmetic });
    const count = (): never => {
      throw new TypeError('a softmax counts nothing');
    };
    return new Reducer(
      { name, reduction, ids: [0], dtype },
      { vb: body.vb, groups: 2, combine: true, count },
    );
  }

  /** Begins a row of a block. */
  start(): void {
    this.#peak.start();
    this.#total.start();
  }

  /** Takes in logits. */
  logits(value: Value): void {
    this.#take(this.#peak, value);
  }

  #take(reducer: Reducer, value: Value): void {
    reducer.update(value, { lanes: this.body.scope.lanes!, position: () => [] });
  }

  /** Weights of logits, from the largest logit that `shift` gave. */
  weights(logits: Value, shift: Value): Value {
    const weights = this.#exp(this.#apply('sub', logits, shift));
    this.#take(this.#total, weights);
    return weights;
  }

  /**
   * All logits of the block are known: what is subtracted from them, and the factor of what was summed before.
   * `more`: whether there are earlier blocks of the row.
   */
  shift(
    { state, apart }: RowPlaces,
    more: Local<'i32'>,
  ): { readonly shift: Value; readonly factor: Value } {
    const { dtype } = this;
    const [zero, lowest] = [0, -Infinity].map((x) => constantValue(this.body.vb, dtype, x));
    this.body.f.if(op('i32.eqz', more), () => {
      this.#store(state, 0, lowest!);
      this.#store(state, apart, zero!);
    });
    const before = this.#load(state, 0);
    const peak = this.#apply('maximum', before, this.#result(this.#peak));
    this.#store(state, 0, peak);
    const isEmpty = this.body.apply('eq', 'bool', [peak, lowest!]);
    const shift = this.body.apply('where', dtype, [isEmpty, zero!, peak]);
    return { shift, factor: this.#exp(this.#apply('sub', before, shift)) };
  }

  /** Ends the row's block. `more`: whether there are sums of earlier blocks. */
  finish(factor: Value, { state, apart, sums, bytes }: RowPlaces, more: Local<'i32'>): void {
    const { f } = this.body;
    const before = this.#apply('mul', this.#load(state, apart), factor);
    this.#store(state, apart, this.#apply('add', before, this.#result(this.#total)));
    f.if(more, () => {
      const one = constantValue(this.body.vb, this.dtype, 1);
      const changes = anyTrue(this.body.apply('ne', 'bool', [factor, one]).regs);
      f.if(changes, () => this.#scale(sums, bytes, (x) => this.#apply('mul', x, factor)));
    });
  }

  /** Makes the sums of a row its results. */
  normalise({ state, apart, sums, bytes }: RowPlaces): void {
    const { vb } = this.body;
    const [zero, one] = [0, 1].map((x) => constantValue(vb, this.dtype, x));
    const total = this.#load(state, apart);
    const isEmpty = this.body.apply('eq', 'bool', [total, zero!]);
    const divisor = this.body.apply('where', this.dtype, [isEmpty, one!, total]);
    this.#scale(sums, bytes, (x) => this.#apply('div', x, divisor));
  }

  #scale(sums: Local<'i32'>, bytes: number, change: (x: Value) => Value): void {
    const { f } = this.body;
    f.for('byte', i32(0), bytes, 16, (byte) => {
      const at = f.let('at', op('i32.add', sums, byte));
      const regs = [f.let('sum', memory('v128.load', 0, at))];
      const [changed] = change({ kind: kindOf(this.dtype), uniform: true, regs }).regs;
      f.do(memory('v128.store', 0, at, changed!));
    });
  }

  #result(reducer: Reducer): Value {
    reducer.part();
    reducer.fold();
    return reducer.finish()[0]!;
  }

  #apply(name: 'add' | 'sub' | 'mul' | 'div' | 'maximum', a: Value, b: Value): Value {
    return this.body.apply(name, this.dtype, [a, b]);
  }

  /** Of what is not above zero. */
  #exp(x: Value): Value {
    if (x.kind !== 'f32') return this.body.apply('exp', this.dtype, [x]);
    return { ...x, regs: emitFunction(this.body.vb, 'exp_non_positive', [x.regs]) };
  }

  #load(at: Local<'i32'>, offset: number): Value {
    const regs = [this.body.f.let('kept', memory(this.#type.splatLoad, offset, at))];
    return { kind: kindOf(this.dtype), uniform: true, regs };
  }

  #store(at: Local<'i32'>, offset: number, { regs }: Value): void {
    this.body.f.do(laneMemory(this.#type.storeLane, offset, 0, at, regs[0]!));
  }
}
