/**
 * @file `KeptRows`: values that are kept in scratch memory when they are computed, and recalled later on.
 */
import type {
  Expr,
  IndexExpr,
  KeptStmt,
  ScheduledBody,
  ScratchArray,
} from '@tessera/inductor-core';
import { itemSize } from '@tessera/tensor';
import { AccessCode, type BufferRef } from '../body/access-code.js';
import type { BodyEmitter } from '../body/body-emitter.js';
import type { Value } from '../body/value.js';
import { i32, op } from '../emit/code.js';
import { SCRATCH } from '../wasm-kernel.js';

/** See the file header. */
export class KeptRows {
  /** Scratch memory used, in bytes. */
  readonly bytes: number;
  readonly #access: AccessCode;
  /** Arrays by name, whose addresses are set at the function's entry if something asks for them. */
  readonly #arrays = new Map<string, () => BufferRef>();
  /** What is kept and recalled in the body that is emitted now. */
  #here: readonly KeptStmt[] = [];

  constructor(
    readonly body: BodyEmitter,
    arrays: readonly ScratchArray[],
  ) {
    this.#access = new AccessCode(body.scope, body.vb, body.index);
    const { f } = body;
    const entry = f.section();
    let bytes = 0;
    for (const { name, dtype, length } of arrays) {
      const at = op('i32.add', SCRATCH, i32(bytes));
      let made: BufferRef | undefined;
      this.#arrays.set(
        name,
        () => (made ??= { name, dtype, pointer: f.into(entry, () => f.let(name, at)) }),
      );
      bytes += (Number(length) * itemSize(dtype) + 63) & ~63;
    }
    this.bytes = bytes;
  }

  /** An array by its name. */
  array(name: string): BufferRef | undefined {
    return this.#arrays.get(name)?.();
  }

  /** Stores a value at a place of an array. */
  put(array: string, at: IndexExpr, value: Value): void {
    this.#access.store(this.#arrays.get(array)!(), this.body.space.linear(at), value);
  }

  /** Loads what an array has at a place. */
  take(array: string, at: IndexExpr): Value {
    const { space, scope } = this.body;
    return this.#access.load(
      this.#arrays.get(array)!(),
      space.linear(at),
      undefined,
      scope.innermost,
    );
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
    if (stmt === undefined || expr.kind === 'acc') return undefined;
    return () => this.take(stmt.array, stmt.at);
  }

  /** Stores a value where it was computed, if it is to be kept. */
  keep(expr: Expr, value: Value): void {
    const stmt = this.#find(expr, 'keep');
    if (stmt === undefined) return;
    this.put(stmt.array, stmt.at, value);
  }

  #find(expr: Expr, kind: KeptStmt['kind']): KeptStmt | undefined {
    return this.#here.find((stmt) => stmt.value === expr && stmt.kind === kind);
  }
}
