/**
 * @file `RowCache`: keeps expensive intermediate rows between the passes of one outer point.
 *
 * Softmax computes exp(x - max) once for the sum and once for the store; a normalisation computes its
 * input for every pass. When such an expression contains a transcendental function and the row is
 * short enough to stay in the cache, the first pass writes it to the thread's scratch memory and later
 * passes load it.
 */
import {
  EXPENSIVE_OPS,
  operands,
  postorder,
  type Expr,
  type SizedLoop,
} from '@tessera/inductor-core';
import { itemSize, type DType } from '@tessera/tensor';
import { AccessCode, type BufferRef } from '../body/access-code.js';
import type { BodyEmitter } from '../body/body-emitter.js';
import { kindOf } from '../body/element-kind.js';
import type { Affine } from '../body/loop-space.js';
import type { Value } from '../body/value.js';
import { i32, op } from '../emit/code.js';
import { SCRATCH } from '../wasm-kernel.js';
import type { Pass } from './passes.js';

/** Most scratch memory one kernel uses. */
const LIMIT_BYTES = 1 << 17;

interface Slot {
  readonly buffer: BufferRef;
  /** Number of the pass that computes it. */
  readonly pass: number;
}

/** Dtype that holds values of an expression exactly as they are computed. */
function storageType(expr: Expr): DType | undefined {
  return ({ f32: 'float32', f64: 'float64', i32: 'int32', i64: 'int64', bool: undefined } as const)[
    kindOf(expr.dtype)
  ];
}

/** See the file header. */
export class RowCache {
  readonly #slots = new Map<Expr, Slot>();
  readonly #access: AccessCode;
  /** Scratch memory used, in bytes. */
  readonly bytes: number;

  /** `inner` are the variables of the row, `lane` the one along the lanes, `position` the flattened index over them. */
  constructor(
    readonly body: BodyEmitter,
    passes: readonly Pass[],
    inner: readonly SizedLoop[],
    lane: string,
    readonly position: Affine,
  ) {
    this.#access = new AccessCode(body.scope, body.vb, body.index);
    // A row of any length may be longer than what there is room for.
    const sizes = inner.map(({ size }) => (typeof size === 'number' ? size : Infinity));
    const count = sizes.reduce((product, size) => product * size, 1);
    let bytes = 0;
    for (const [expr, pass] of candidates(body, passes, lane)) {
      const dtype = storageType(expr);
      if (dtype === undefined) continue;
      if (bytes + count * itemSize(dtype) > LIMIT_BYTES) continue;
      const size = (count * itemSize(dtype) + 63) & ~63;
      if (bytes + size > LIMIT_BYTES) continue;
      const pointer = body.f.let('row', op('i32.add', SCRATCH, i32(bytes)));
      this.#slots.set(expr, { buffer: { name: `row.${this.#slots.size}`, dtype, pointer }, pass });
      bytes += size;
    }
    this.bytes = bytes;
  }

  /** Loads a row element that an earlier pass computed; undefined if there is none. */
  load(expr: Expr, pass: number): (() => Value) | undefined {
    const slot = this.#slots.get(expr);
    if (slot === undefined || pass <= slot.pass) return undefined;
    return () =>
      this.#access.load(slot.buffer, this.position, undefined, this.body.scope.innermost);
  }

  /** Stores a row element where it was computed first. */
  keep(expr: Expr, value: Value, pass: number): void {
    const slot = this.#slots.get(expr);
    if (slot !== undefined && slot.pass === pass)
      this.#access.store(slot.buffer, this.position, value);
  }
}

/**
 * Expressions that several inner passes evaluate and that are worth keeping, with the first of those
 * passes; only outermost ones that vary along the lanes. Parts of masked expressions are left alone: their loads are conditional.
 */
function candidates(body: BodyEmitter, passes: readonly Pass[], lane: string): Map<Expr, number> {
  const seen = new Map<Expr, number>();
  const found = new Map<Expr, number>();
  const expensive = new Set<Expr>();
  const conditional = new Set<Expr>();
  passes.forEach((pass, number) => {
    if (pass.kind !== 'inner') return;
    const order = postorder(pass.roots);
    for (const expr of order) {
      if (
        (expr.kind === 'op' && EXPENSIVE_OPS.has(expr.op)) ||
        expr.kind === 'random' ||
        operands(expr).some((operand) => expensive.has(operand))
      )
        expensive.add(expr);
      if (expr.kind === 'masked') for (const part of postorder([expr.body])) conditional.add(part);
    }
    // Users come after operands, so backwards the outermost repeated expression is met first.
    const covered = new Set<Expr>();
    for (const expr of order.reverse()) {
      const isRepeated =
        seen.has(expr) &&
        expensive.has(expr) &&
        body.deps.of(expr).has(lane) &&
        !conditional.has(expr);
      if (covered.has(expr)) for (const operand of operands(expr)) covered.add(operand);
      else if (isRepeated) {
        if (!found.has(expr)) found.set(expr, seen.get(expr) as number);
        for (const operand of operands(expr)) covered.add(operand);
      }
    }
    for (const expr of order) if (!seen.has(expr)) seen.set(expr, number);
  });
  return found;
}
