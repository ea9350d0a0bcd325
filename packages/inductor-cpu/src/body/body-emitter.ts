/**
 * @file `BodyEmitter`: emits IR expressions and stores as vector code, for loop kernels and for the
 * prologues and epilogues of matmul.
 *
 * ```ts
 * const body = new BodyEmitter(f, kernel, space, options);
 * body.scope.loop('i0', begin, end, 8, () => {
 *   body.scope.vectorise({ lane: 'i0', across: 'i0', groups: 2, active: 8 }, () => body.store(statement));
 * });
 * ```
 *
 * Each expression is emitted once per scope level and mask, at the outermost level where it can be
 * (see `Scope`). Outside of `vectorise` all values are uniform. Walks are iterative: expressions may be
 * thousands of operations deep.
 */
import {
  checksOf,
  indexValues,
  operands,
  type Expr,
  type GeneratedKernel,
  type LoopSpace,
  type ScalarOp,
  type Stmt,
} from '@tessera/inductor-core';
import type { Size, SymInt } from '@tessera/shared';
import type { DType } from '@tessera/tensor';
import { op } from '../emit/code.js';
import type { Code, Local } from '../emit/types.js';
import type { WasmFunction } from '../emit/wasm-function.js';
import { checksOffset } from '../wasm-kernel.js';
import { AccessCode, type BufferRef } from './access-code.js';
import { conditionOf, emitCheck, type CheckSite } from './check-code.js';
import { convert, wrapTo } from './convert.js';
import { Dependencies, changingBuffers } from './dependencies.js';
import { kindOf } from './element-kind.js';
import { IndexCode } from './index-code.js';
import { KernelArguments } from './kernel-arguments.js';
import { KnownValues, type Masked } from './known-values.js';
import { constantRegs, constantValue } from './leaf-values.js';
import { applyOperator } from './operators.js';
import { emitRandom } from './random.js';
import { Scope, type MaskContext } from './scope.js';
import type { KernelOptions } from './size-slots.js';
import { packedBytes, packedOperation, packedValue } from './packed.js';
import { maskFor, type Value } from './value.js';
import { VectorBuilder, type Regs } from './vector-builder.js';

/**
 * Changes how some expressions are evaluated. An object and no functions of this one's: those that are assigned to a
 * property live among old objects, and what they reach is kept until the next full collection.
 */
export interface Evaluation {
  /** How an expression is evaluated: a cached row, a fused special case. Undefined: the usual way. */
  replaced(expr: Expr): (() => Value) | undefined;
  /** Called after an expression was emitted. */
  emitted(expr: Expr, value: Value): void;
  /** What else may be read and written by name. */
  array(name: string): BufferRef | undefined;
}

/** See the file header. */
export class BodyEmitter {
  readonly scope: Scope;
  readonly vb: VectorBuilder;
  readonly deps: Dependencies;
  readonly index: IndexCode;
  evaluation: Evaluation | null = null;
  readonly #access: AccessCode;
  readonly #arguments: KernelArguments;
  readonly #known: KnownValues;

  /** `f` has the parameter `args`; buffers and scalars are found through it. Emission continues behind the entry code. */
  constructor(
    readonly f: WasmFunction,
    readonly kernel: GeneratedKernel<Size>,
    readonly space: LoopSpace,
    options: KernelOptions,
  ) {
    const entry = f.section();
    this.#arguments = new KernelArguments(f, entry, kernel, options.sizes);
    this.scope = new Scope(f);
    this.vb = new VectorBuilder(f, entry, options);
    this.deps = new Dependencies(space, changingBuffers(kernel));
    this.index = new IndexCode(
      this.scope,
      this.vb,
      this.deps,
      (expr, mask) => this.value(expr, mask),
      (size) => this.size(size),
    );
    this.#known = new KnownValues(this.scope, this.deps, this.vb);
    this.#access = new AccessCode(this.scope, this.vb, this.index);
  }

  /** A buffer parameter, or an array, with its address in a local. */
  buffer(name: string): BufferRef {
    return this.evaluation?.array(name) ?? this.#arguments.buffer(name);
  }

  /** A size: a constant, or a local that is set at entry. */
  size(size: Size): Code<'i32'> {
    return this.#arguments.size(size);
  }

  /** A symbolic size in a local. */
  sizeLocal(size: SymInt): Local<'i32'> {
    return this.#arguments.sizeLocal(size);
  }

  /** A size as a value of a type in all lanes. */
  sizeRegs(size: Size, dtype: DType): Regs {
    if (typeof size === 'number') return constantRegs(this.vb, dtype, size);
    const regs = [this.vb.let(op('i32x4.splat', this.sizeLocal(size)))];
    return convert(this.vb, { kind: 'i32', uniform: true, regs }, kindOf(dtype)).regs;
  }

  /** The value of an expression, in lanes; see the file header. */
  value(root: Expr, mask?: MaskContext): Value {
    this.#ensure(root, mask);
    return this.#known.get({ expr: root, mask });
  }

  /** Emits what is not known of an expression. */
  #ensure(root: Expr, mask?: MaskContext): void {
    const stack: Masked[] = [{ expr: root, mask }];
    while (stack.length > 0) {
      const top = stack[stack.length - 1];
      const isKnown = this.#known.find(top) !== undefined;
      const needed = isKnown ? [] : this.#missing(top);
      if (needed.length > 0) {
        stack.push(...needed.toReversed());
        continue;
      }
      stack.pop();
      if (!isKnown) this.#emit(top);
    }
  }

  /** One operation on values, emitted here. */
  apply(name: ScalarOp, dtype: DType, args: readonly Value[]): Value {
    return applyOperator(this.vb, { kind: 'op', dtype, op: name, args: [] }, args);
  }

  /** Emits a store statement here. */
  store(statement: Extract<Stmt, { kind: 'store' }>): void {
    const buffer = this.buffer(statement.buf);
    for (const index of indexValues(statement.index)) this.value(index);
    // 16-bit floats that are only moved keep their bits, as integers.
    const source = statement.value;
    const isMoved =
      source.kind === 'load' && source.dtype === buffer.dtype && source.dtype.endsWith('float16');
    const dtype = isMoved ? 'int16' : buffer.dtype;
    const stored = isMoved ? { ...source, dtype } : roundedByStore(source);
    this.#ensure(stored);
    const value = this.#known.find({ expr: stored, mask: undefined })!;
    this.vb.hint = 'out';
    const isPacked = packedBytes(value) !== undefined && stored.dtype === dtype;
    this.#access.store(
      { ...buffer, dtype },
      this.space.linear(statement.index),
      isPacked ? value : wrapTo(this.vb, convert(this.vb, value, kindOf(dtype)), dtype),
    );
  }

  /** Operands that are not emitted yet. */
  #missing({ expr, mask }: Masked): Masked[] {
    if (this.evaluation?.replaced(expr) !== undefined) return [];
    const pending = (operand: Expr): Masked => ({ expr: operand, mask });
    if (expr.kind !== 'masked')
      return operands(expr)
        .map(pending)
        .filter((each) => this.#known.find(each) === undefined);
    const condition = pending(expr.mask);
    if (this.#known.find(condition) === undefined) return [condition];
    const inside = { expr: expr.body, mask: this.#known.inside(condition) };
    return this.#known.find(inside) === undefined ? [inside] : [];
  }

  #emit(wanted: Masked): void {
    const mask = this.#known.effective(wanted);
    const level = this.#known.levelOf({ expr: wanted.expr, mask });
    this.vb.hint = wanted.expr.kind === 'op' ? wanted.expr.op : wanted.expr.kind;
    const replaced = this.evaluation?.replaced(wanted.expr);
    const value =
      replaced === undefined
        ? this.#valueOf(wanted.expr, mask, wanted.mask, level)
        : this.scope.at(level, replaced);
    this.#known.keep(wanted, value);
    this.evaluation?.emitted(wanted.expr, value);
  }

  /** `mask` is the effective context of the expression itself, `outer` that of its operands. */
  #valueOf(
    expr: Expr,
    mask: MaskContext | undefined,
    outer: MaskContext | undefined,
    level: number,
  ): Value {
    const { vb, scope } = this;
    const operand = (each: Expr): Value => this.#known.get({ expr: each, mask: outer });
    switch (expr.kind) {
      case 'const':
        return constantValue(vb, expr.dtype, expr.value);
      case 'scalar':
        return scope.at(0, () => this.#arguments.scalar(vb, expr));
      case 'acc':
        return scope.acc(expr.id);
      case 'load':
        return this.#access.load(
          this.#movedBuffer(expr),
          this.space.linear(expr.index),
          mask,
          level,
        );
      case 'index': {
        const form = this.space.linear(expr.index);
        const whole: Value = {
          kind: 'i32',
          uniform: !this.index.isVarying(form),
          regs: this.index.vector(form, mask),
        };
        return scope.at(level, () => convert(vb, whole, kindOf(expr.dtype)));
      }
      case 'masked': {
        const context = this.#known.inside({ expr: expr.mask, mask: outer });
        const body = this.#known.get({ expr: expr.body, mask: context });
        const own = operand(expr.mask);
        return scope.at(level, () => {
          const other = constantRegs(vb, expr.dtype, expr.other);
          return {
            kind: body.kind,
            uniform: body.uniform && own.uniform,
            regs: vb.select(maskFor(vb, own, body.kind), body.regs, other),
          };
        });
      }
      case 'check': {
        const subject = operand(expr.subject);
        const ok = conditionOf(expr.ok, operand);
        scope.at(level, () => emitCheck(vb, this.#site(expr), scope.lanes, subject, ok));
        return operand(expr.value);
      }
      case 'random': {
        const form = this.space.linear(expr.index);
        const index = this.index.vector(form, mask);
        const [seed, offset] = [operand(expr.seed), operand(expr.offset)];
        return scope.at(level, () => {
          const regs = emitRandom(
            vb,
            expr.distribution,
            convert(vb, seed, 'i32').regs,
            convert(vb, offset, 'i32').regs,
            index,
          );
          return convert(
            vb,
            { kind: 'f32', uniform: regs.length === 1 && !this.index.isVarying(form), regs },
            kindOf(expr.dtype),
          );
        });
      }
      case 'op': {
        const args = expr.args.map((each) => this.#known.find({ expr: each, mask: outer })!);
        const inFull = (): Value => scope.at(level, () => applyOperator(vb, expr, args));
        const bytes = scope.at(level, () => packedOperation(vb, expr, args));
        return bytes === undefined
          ? inFull()
          : packedValue(kindOf(expr.dtype), bytes, () => inFull().regs);
      }
    }
  }

  /** The buffer of a load: what is only moved is loaded as integers, see `store`. */
  #movedBuffer({ buf, dtype }: Extract<Expr, { kind: 'load' }>): BufferRef {
    const buffer = this.buffer(buf);
    return dtype === 'int16' && buffer.dtype.endsWith('float16') ? { ...buffer, dtype } : buffer;
  }

  #site(expr: Extract<Expr, { kind: 'check' }>): CheckSite {
    const { kernel, f } = this;
    const offset = checksOffset(kernel.params.length, kernel.scalars.length);
    return { f, offset, number: checksOf(kernel).numberOf(expr) };
  }
}

/** What a store converts: a cast to 16-bit floats would round what the store rounds again. */
function roundedByStore(value: Expr): Expr {
  const isHalf = value.dtype === 'float16' || value.dtype === 'bfloat16';
  return value.kind === 'op' && value.op === 'cast' && isHalf ? value.args[0]! : value;
}
