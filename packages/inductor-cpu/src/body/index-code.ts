/**
 * @file Code for index arithmetic: addresses and loop indices, as scalars and as vectors of four lanes.
 *
 * A scalar index is built up level by level (buffer + outer part, + part of the next loop, …), each
 * partial sum cached at its level, so that an inner loop adds only what it changes. All arithmetic is
 * modulo 2³², as addresses are.
 */
import {
  affineKey,
  constantAffine,
  type Affine,
  type AffineAtom,
  type Expr,
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
  isVarying(form: Affine): boolean {
    return this.scope.isVarying(this.deps.ofAffine(form));
  }

  /**
   * `base + scale · form` as a local, for the first lane where the index varies; only variables may vary.
   * A base is a local of level 0 with a name for caching.
   */
  scalar(
    form: Affine,
    scale: number,
    base: { readonly local: Local<'i32'>; readonly name: string } | undefined,
    mask: MaskContext | undefined,
  ): Local<'i32'> {
    const { scope } = this;
    const parts: { level: number; key: string; code: () => Code<'i32'> }[] = [];
    for (const [name, coefficient] of form.terms) {
      const level = scope.levelOf([name]);
      parts.push({
        level,
        key: `${String(coefficient)}*${name}`,
        code: () => this.#times(scope.variable(name), sizeMul(coefficient, scale)),
      });
    }
    for (const atom of form.atoms) parts.push(this.#atomPart(atom, scale, mask));
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

  #atomPart(
    atom: AffineAtom,
    scale: number,
    mask: MaskContext | undefined,
  ): { level: number; key: string; code: () => Code<'i32'> } {
    const { scope } = this;
    const factor = sizeMul(atom.coefficient, scale);
    if (atom.kind === 'value') {
      const value = this.evaluate(atom.value, mask);
      const level = Math.max(scope.levelOf(this.deps.of(atom.value)), mask?.level ?? 0);
      const whole = scope.at(level, () => convert(this.vb, value, 'i32').regs[0]);
      return {
        level,
        key: `${String(atom.coefficient)}*${atom.key}m${mask?.id ?? 0}`,
        code: () => this.#times(lane('i32x4.extract_lane', 0, whole), factor),
      };
    }
    const inner = (form: Affine): Local<'i32'> => this.scalar(form, 1, undefined, mask);
    if (atom.kind === 'product') {
      const [a, b, ...rest] = atom.factors.map(inner);
      const level = Math.max(
        ...atom.factors.map((form) => scope.levelOf(this.deps.ofAffine(form))),
        mask?.level ?? 0,
      );
      const product = (): Code<'i32'> =>
        rest.reduce<Code<'i32'>>((sum, next) => op('i32.mul', sum, next), op('i32.mul', a, b));
      return {
        level,
        key: `${String(atom.coefficient)}*${atom.key}m${mask?.id ?? 0}`,
        code: () => op('i32.mul', product(), this.size(factor)),
      };
    }
    const level = Math.max(scope.levelOf(this.deps.ofAffine(atom.num)), mask?.level ?? 0);
    const key = `${atom.key}m${mask?.id ?? 0}`;
    const num = inner(atom.num);
    const quotient = this.#cached(level, key, () =>
      this.#divide(atom, num, this.deps.space.bounds(atom.num).min >= 0),
    );
    return {
      level,
      key: `${String(atom.coefficient)}*${key}`,
      code: () => this.#times(quotient, factor),
    };
  }

  /** An index in every lane: registers of i32, one per group, or one if it does not vary. */
  vector(form: Affine, mask: MaskContext | undefined): Regs {
    const { scope, vb } = this;
    const names = this.deps.ofAffine(form);
    const level = Math.max(scope.levelOf(names), mask?.level ?? 0);
    const key = `${affineKey(form)}m${form.atoms.length > 0 ? (mask?.id ?? 0) : 0}`;
    const known = scope.level(level).vectors.get(key);
    if (known !== undefined) return known;
    const varyingAtoms = form.atoms.filter((atom) =>
      scope.isVarying(this.deps.ofAffine({ ...constantAffine(0), atoms: [atom] })),
    );
    const plain: Affine = {
      ...form,
      atoms: form.atoms.filter((atom) => !varyingAtoms.includes(atom)),
    };
    const start = this.scalar(plain, 1, undefined, mask);
    const parts = varyingAtoms.map((atom): Regs => this.#atomVector(atom, mask));
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
  #steps(form: Affine): Regs | undefined {
    const { lanes } = this.scope;
    const alongLane = lanes === undefined ? 0 : (form.terms.get(lanes.lane) ?? 0);
    const alongGroups =
      lanes === undefined
        ? 0
        : lanes.across === lanes.lane
          ? sizeMul(4, alongLane)
          : (form.terms.get(lanes.across) ?? 0);
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

  #atomVector(atom: AffineAtom, mask: MaskContext | undefined): Regs {
    const { vb, scope } = this;
    const level = Math.max(
      scope.levelOf(this.deps.ofAffine({ ...constantAffine(0), atoms: [atom] })),
      mask?.level ?? 0,
    );
    const scaled = (regs: Regs): Regs =>
      atom.coefficient === 1 ? regs : vb.bin('i32x4.mul', regs, this.#splat(atom.coefficient));
    if (atom.kind === 'value') {
      const value = this.evaluate(atom.value, mask);
      return scope.at(level, () => scaled(convert(vb, value, 'i32').regs));
    }
    if (atom.kind === 'product') {
      const factors = atom.factors.map((factor) => this.vector(factor, mask));
      return scope.at(level, () => scaled(factors.reduce((a, b) => vb.bin('i32x4.mul', a, b))));
    }
    const num = this.vector(atom.num, mask);
    const nonNegative = this.deps.space.bounds(atom.num).min >= 0;
    return scope.at(level, () => scaled(this.#divideVector(atom, num, nonNegative)));
  }

  #divideVector(
    atom: Extract<AffineAtom, { kind: 'div' | 'mod' }>,
    num: Regs,
    nonNegative: boolean,
  ): Regs {
    const { vb } = this;
    const { den } = atom;
    const places = typeof den === 'number' ? Math.log2(den) : NaN;
    if (typeof den === 'number' && Number.isInteger(places)) {
      // The arithmetic shift and the mask floor negative numbers too.
      return atom.kind === 'div'
        ? vb.shift('i32x4.shr_s', num, places)
        : vb.bin('v128.and', num, vb.i32(den - 1));
    }
    return vb.map([num], (reg) => {
      const part = (k: number): Code<'i32'> => {
        const local = this.scope.f.let('lane', lane('i32x4.extract_lane', k, reg));
        return this.#divide(atom, local, nonNegative);
      };
      let all = op('i32x4.splat', part(0));
      for (let k = 1; k < 4; k++) all = lane('i32x4.replace_lane', k, all, part(k));
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
  #divide(
    atom: Extract<AffineAtom, { kind: 'div' | 'mod' }>,
    num: Local<'i32'>,
    nonNegative: boolean,
  ): Code<'i32'> {
    const den = this.size(atom.den);
    if (nonNegative)
      return atom.kind === 'div' ? op('i32.div_u', num, den) : op('i32.rem_u', num, den);
    const remainder = (): Code<'i32'> => op('i32.rem_s', num, this.size(atom.den));
    const negative = (): Code<'i32'> => op('i32.lt_s', remainder(), i32(0));
    if (atom.kind === 'mod') return op('i32.add', remainder(), select(den, i32(0), negative()));
    return op('i32.sub', op('i32.div_s', num, den), negative());
  }
}
