/**
 * @file Code for index arithmetic: addresses and loop indices, as scalars and as vectors of four lanes.
 *
 * A scalar index is built up level by level (buffer + outer part, + part of the next loop, …), each
 * partial sum cached at its level, so that an inner loop adds only what it changes. All arithmetic is
 * modulo 2³², as addresses are.
 */
import {
  type Expr,
  type IndexExpr,
  type LinearForm,
  type OtherPart,
  coefficientOf,
  divisorOf,
  isLinear,
  otherParts,
} from '@tessera/inductor-core';
import { type Size, sizeMul } from '@tessera/shared';
import { i32, i32x4, lane, op, select } from '../emit/code.js';
import type { Code, Local } from '../emit/types.js';
import { convert } from './convert.js';
import type { Dependencies } from './dependencies.js';
import type { MaskContext, Scope } from './scope.js';
import type { Value } from './value.js';
import type { Reg, Regs, VectorBuilder } from './vector-builder.js';

/** Gives the value of an expression under a mask. */
export type Evaluate = (expr: Expr, mask: MaskContext | undefined) => Value;

type Division = Extract<OtherPart, { kind: 'div' | 'mod' }>;

/** A part of a sum: the level at which it is known, a text that equal ones share, and its code. */
interface Summand {
  readonly level: number;
  readonly key: string;
  readonly code: () => Code<'i32'>;
}

/** See the file header. */
export class IndexCode {
  constructor(
    readonly scope: Scope,
    readonly vb: VectorBuilder,
    readonly deps: Dependencies,
    readonly evaluate: Evaluate,
    /** Code of a size. */
    readonly size: (size: Size) => Code<'i32'>,
  ) {}

  /** Whether an index differs between lanes or groups. */
  isVarying(form: LinearForm): boolean {
    return this.scope.isVarying(this.deps.ofForm(form));
  }

  /** Whether a part of an index does. */
  isPartVarying(part: IndexExpr): boolean {
    return this.scope.isVarying(this.deps.ofPart(part));
  }

  /**
   * `base + scale · form` as a local, for the first lane where the index varies; only variables may vary.
   * A base is a local of level 0 with a name for caching.
   */
  scalar(
    form: LinearForm,
    scale: number,
    base: { readonly local: Local<'i32'>; readonly name: string } | undefined,
    mask: MaskContext | undefined,
  ): Local<'i32'> {
    const { scope } = this;
    const parts: Summand[] = [];
    for (const [part, coefficient] of form.terms) {
      if (part.kind !== 'sym') continue;
      const { name } = part;
      const level = scope.levelOf([name]);
      parts.push({
        level,
        key: `${String(coefficient)}*${name}`,
        code: () => this.#times(scope.variable(name), sizeMul(coefficient, scale)),
      });
    }
    for (const [part, coefficient] of otherParts(form))
      parts.push(this.#summand(part, coefficient, scale, mask));
    parts.sort((a, b) => a.level - b.level);
    let sum = base?.local;
    let key = `${base?.name ?? ''}*${scale}`;
    if (form.constant !== 0)
      parts.unshift({
        level: 0,
        key: String(form.constant),
        code: () => this.size(sizeMul(form.constant, scale)),
      });
    for (const part of parts) {
      key += `+${part.key}`;
      sum = this.#cached(part.level, key, () =>
        sum === undefined ? part.code() : op('i32.add', sum, part.code()),
      );
    }
    return sum ?? this.#cached(0, '0', () => i32(0));
  }

  #cached(level: number, key: string, make: () => Code<'i32'>): Local<'i32'> {
    const { scalars } = this.scope.level(level);
    let found = scalars.get(key);
    if (found === undefined) {
      found = this.scope.at(level, () => this.scope.f.let('at', make()));
      scalars.set(key, found);
    }
    return found;
  }

  /** A multiple of a part that is no variable. */
  #summand(
    part: OtherPart,
    coefficient: Size,
    scale: number,
    mask: MaskContext | undefined,
  ): Summand {
    const { scope } = this;
    const factor = sizeMul(coefficient, scale);
    const level = this.#levelOf(part, mask);
    const own = `#${this.deps.space.numberOf(part)}m${mask?.id ?? 0}`;
    const key = `${String(coefficient)}*${own}`;
    if (part.kind === 'value') {
      const value = this.evaluate(part.value, mask);
      const whole = scope.at(level, () => convert(this.vb, value, 'i32').regs[0]);
      return {
        level,
        key,
        code: () => this.#times(lane('i32x4.extract_lane', 0, whole), factor),
      };
    }
    const inner = (index: IndexExpr): Local<'i32'> =>
      this.scalar(this.deps.space.linear(index), 1, undefined, mask);
    if (part.kind === 'mul') {
      const [a, b, ...rest] = part.factors.map(inner);
      const product = (): Code<'i32'> =>
        rest.reduce<Code<'i32'>>((sum, next) => op('i32.mul', sum, next), op('i32.mul', a, b));
      return { level, key, code: () => op('i32.mul', product(), this.size(factor)) };
    }
    const num = inner(part.num);
    const quotient = this.#cached(level, own, () => this.#divide(part, num));
    return { level, key, code: () => this.#times(quotient, factor) };
  }

  #levelOf(part: IndexExpr, mask: MaskContext | undefined): number {
    return Math.max(this.scope.levelOf(this.deps.ofPart(part)), mask?.level ?? 0);
  }

  /** An index in every lane: registers of i32, one per group, or one if it does not vary. */
  vector(form: LinearForm, mask: MaskContext | undefined): Regs {
    const { scope, vb } = this;
    const level = Math.max(scope.levelOf(this.deps.ofForm(form)), mask?.level ?? 0);
    const key = `${this.deps.space.numberOf(form)}m${isLinear(form) ? 0 : (mask?.id ?? 0)}`;
    const known = scope.level(level).vectors.get(key);
    if (known !== undefined) return known;
    const terms = new Map(form.terms);
    const varying = otherParts(form).filter(([part]) => this.isPartVarying(part));
    for (const [part] of varying) terms.delete(part);
    const plain: LinearForm = { ...form, terms };
    const start = this.scalar(plain, 1, undefined, mask);
    const parts = varying.map(([part, coefficient]) => this.#vectorOf(part, coefficient, mask));
    const made = scope.at(level, () => {
      const splat: Regs = [vb.let(op('i32x4.splat', start))];
      const steps = this.#steps(plain);
      const first = steps === undefined ? splat : vb.bin('i32x4.add', splat, steps);
      return parts.reduce((sum, part) => vb.bin('i32x4.add', sum, part), first);
    });
    scope.level(level).vectors.set(key, made);
    return made;
  }

  /** What each lane of each group adds to the first lane's index; undefined if nothing. */
  #steps(form: LinearForm): Regs | undefined {
    const { lanes } = this.scope;
    const alongLane = lanes === undefined ? 0 : coefficientOf(form, lanes.lane);
    const alongGroups =
      lanes === undefined
        ? 0
        : lanes.across === lanes.lane
          ? sizeMul(4, alongLane)
          : coefficientOf(form, lanes.across);
    if (lanes === undefined || (alongLane === 0 && alongGroups === 0)) return undefined;
    if (typeof alongLane !== 'number' || typeof alongGroups !== 'number')
      return Array.from({ length: lanes.groups }, (_, g) =>
        this.#sizedSteps(sizeMul(g, alongGroups), alongLane),
      );
    return Array.from({ length: lanes.groups }, (_, g) => {
      const first = g * alongGroups;
      return this.vb.constant(
        i32x4(first, first + alongLane, first + 2 * alongLane, first + 3 * alongLane),
      )[0];
    });
  }

  /** `first + k · step` in lane k. */
  #sizedSteps(first: Size, step: Size): Reg {
    const { vb } = this;
    const along = vb.bin('i32x4.mul', vb.constant(i32x4(0, 1, 2, 3)), this.#splat(step));
    return vb.bin('i32x4.add', along, this.#splat(first))[0];
  }

  #splat(size: Size): Regs {
    return typeof size === 'number'
      ? this.vb.i32(size)
      : [this.vb.let(op('i32x4.splat', this.size(size)))];
  }

  #vectorOf(part: OtherPart, coefficient: Size, mask: MaskContext | undefined): Regs {
    const { vb, scope } = this;
    const level = this.#levelOf(part, mask);
    const scaled = (regs: Regs): Regs =>
      coefficient === 1 ? regs : vb.bin('i32x4.mul', regs, this.#splat(coefficient));
    const inner = (index: IndexExpr): Regs => this.vector(this.deps.space.linear(index), mask);
    if (part.kind === 'value') {
      const value = this.evaluate(part.value, mask);
      return scope.at(level, () => scaled(convert(vb, value, 'i32').regs));
    }
    if (part.kind === 'mul') {
      const factors = part.factors.map(inner);
      return scope.at(level, () => scaled(factors.reduce((a, b) => vb.bin('i32x4.mul', a, b))));
    }
    const num = inner(part.num);
    return scope.at(level, () => scaled(this.#divideVector(part, num)));
  }

  #divideVector(part: Division, num: Regs): Regs {
    const { vb } = this;
    const den = divisorOf(part.den);
    const places = typeof den === 'number' ? Math.log2(den) : NaN;
    if (typeof den === 'number' && Number.isInteger(places)) {
      // The arithmetic shift and the mask floor negative numbers too.
      return part.kind === 'div'
        ? vb.shift('i32x4.shr_s', num, places)
        : vb.bin('v128.and', num, vb.i32(den - 1));
    }
    return vb.map([num], (reg) => {
      const quotient = (k: number): Code<'i32'> =>
        this.#divide(part, this.scope.f.let('lane', lane('i32x4.extract_lane', k, reg)));
      let all = op('i32x4.splat', quotient(0));
      for (let k = 1; k < 4; k++) all = lane('i32x4.replace_lane', k, all, quotient(k));
      return all;
    });
  }

  /** i32 times a size. */
  #times(code: Code<'i32'>, factor: Size): Code<'i32'> {
    if (factor === 1) return code;
    const places = typeof factor === 'number' ? Math.log2(factor) : NaN;
    return Number.isInteger(places)
      ? op('i32.shl', code, i32(places))
      : op('i32.mul', code, this.size(factor));
  }

  /** Floor division or remainder of a local by a positive size. */
  #divide({ kind, num: index, den: size }: Division, num: Local<'i32'>): Code<'i32'> {
    const den = this.size(divisorOf(size)!);
    if (!this.deps.space.mayBeNegative(index))
      return kind === 'div' ? op('i32.div_u', num, den) : op('i32.rem_u', num, den);
    const remainder = (): Code<'i32'> => op('i32.rem_s', num, this.size(divisorOf(size)!));
    const negative = (): Code<'i32'> => op('i32.lt_s', remainder(), i32(0));
    if (kind === 'mod') return op('i32.add', remainder(), select(den, i32(0), negative()));
    return op('i32.sub', op('i32.div_s', num, den), negative());
  }
}
