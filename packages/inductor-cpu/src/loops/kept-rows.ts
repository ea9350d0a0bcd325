/**
 * @file `KeptRows`: values that are kept in scratch memory when they are computed, and recalled later on.
 */
import type { Expr, KeptStmt, ScheduledBody, ScratchArray } from '@tessera/inductor-core';
import { type DType, itemSize } from '@tessera/tensor';
import { AccessCode, type BufferRef } from '../body/access-code.js';
import type { BodyEmitter } from '../body/body-emitter.js';
import type { Value } from '../body/value.js';
import { i32, op } from '../emit/code.js';
import type { Section } from '../emit/wasm-function.js';
import { SCRATCH } from '../wasm-kernel.js';

/** See the file header. */
export class KeptRows {
  /** Scratch memory used, in bytes. */
  readonly bytes: number;
  readonly #access: AccessCode;
  /** Arrays by name, with their place in scratch memory. */
  readonly #places = new Map<string, { readonly dtype: DType; readonly offset: number }>();
  readonly #arrays = new Map<string, BufferRef>();
  /** Addresses are set here. */
  readonly #entry: Section;
  /** What is kept and recalled in the body that is emitted now. */
  #here: readonly KeptStmt[] = [];

  constructor(
    readonly body: BodyEmitter,
    arrays: readonly ScratchArray[],
  ) {
    this.#access = new AccessCode(body.scope, body.vb, body.index);
    this.#entry = body.f.section();
    let bytes = 0;
    for (const { name, dtype, length } of arrays) {
      this.#places.set(name, { dtype, offset: bytes });
      bytes += (Number(length) * itemSize(dtype) + 63) & ~63;
    }
    this.bytes = bytes;
    body.arrays = (name) => this.array(name);
  }

  /** An array of this name, if there is one. */
  array(name: string): BufferRef | undefined {
    const known = this.#arrays.get(name);
    const place = this.#places.get(name);
    if (known !== undefined || place === undefined) return known;
    const { f } = this.body;
    const pointer = f.into(this.#entry, () =>
      f.let(name.split('.')[0]!, op('i32.add', SCRATCH, i32(place.offset))),
    );
    const array = { name, dtype: place.dtype, pointer };
    this.#arrays.set(name, array);
    return array;
  }

  /** Emits a body in which its statements about kept values hold. */
  within(statements: ScheduledBody, emit: () => void): void {
    const before = this.#here;
    const own = statements.filter(
      (stmt): stmt is KeptStmt => stmt.kind === 'keep' || stmt.kind === 'recall',
    );
    if (own.length > 0) this.#here = [...before, ...own];
    emit();
    this.#here = before;
  }

  /** Loads a value that was kept before; undefined if it was not. */
  recall(expr: Expr): (() => Value) | undefined {
    const stmt = this.#find(expr, 'recall');
    if (stmt === undefined) return undefined;
    const { space, scope } = this.body;
    const array = this.array(stmt.array)!;
    return () => this.#access.load(array, space.linear(stmt.at), undefined, scope.innermost);
  }

  /** Stores a value where it was computed, if it is to be kept. */
  keep(expr: Expr, value: Value): void {
    const stmt = this.#find(expr, 'keep');
    if (stmt === undefined) return;
    this.#access.store(this.array(stmt.array)!, this.body.space.linear(stmt.at), value);
  }

  #find(expr: Expr, kind: KeptStmt['kind']): KeptStmt | undefined {
    return this.#here.find((stmt) => stmt.value === expr && stmt.kind === kind);
  }
}
