/**
 * @file Forms of loops that loop kernels are made of: vector iterations with a tail, segments, nests.
 */
import { type Size, type SymInt, sizeFloorDiv, sizeMul } from '@tessera/shared';
import type { BodyEmitter } from '../body/body-emitter.js';
import type { Lanes } from '../body/scope.js';
import { i32, op, select } from '../emit/code.js';
import type { Code, Local } from '../emit/types.js';

/** A loop bound: known now, or when the code runs. */
export type Bound = Local<'i32'> | number;

/** The smaller of a local and a limit (unsigned). */
function atMost(local: Local<'i32'>, limit: () => Code<'i32'>): Code<'i32'> {
  return select(limit(), local, op('i32.gt_u', local, limit()));
}

/** The largest value of a size; infinite where nothing bounds it. */
function largest(size: Size): number {
  return typeof size === 'number' ? size : size.env.rangeOf(size).hi;
}

/** How often the partial results of a sweep settle. */
export interface SettlePace {
  /** Elements of the innermost variable that one iteration takes. */
  readonly step: number;
  readonly iterations: number;
  readonly settle: (() => void) | undefined;
}

/** See the file header. Loops bind their variable in the body's scope. */
export class LoopNest {
  constructor(readonly body: BodyEmitter) {}

  /** A loop in whole iterations of `groups` vectors, and its tail. */
  vectors(
    name: string,
    begin: Bound,
    end: Bound,
    groups: number,
    emit: (lanes: Lanes) => void,
  ): void {
    this.stepped(name, begin, end, 4 * groups, (active) => {
      const lanes = { lane: name, across: name, groups: Math.ceil(active / 4), active };
      this.body.scope.vectorise(lanes, () => emit(lanes));
    });
  }

  /** A bound of loops. */
  bound(size: Size): Bound {
    return typeof size === 'number' ? size : this.body.sizeLocal(size);
  }

  /**
   * A loop by `step`; the body is told how many steps are valid: all, or in the tail what is left of
   * the variable's size. `begin` is a multiple of `step`, and `end` is too unless it is the size.
   */
  stepped(
    name: string,
    begin: Bound,
    end: Bound,
    step: number,
    emit: (valid: number) => void,
  ): void {
    const size = this.body.space.size(name);
    if (typeof size === 'number') this.#steppedTo(size, name, begin, end, step, emit);
    else this.#steppedToAny(size, name, begin, end as Local<'i32'>, step, emit);
  }

  /** Of a size that is known: the tail is one iteration, of just what is left. */
  #steppedTo(
    size: number,
    name: string,
    begin: Bound,
    end: Bound,
    step: number,
    emit: (valid: number) => void,
  ): void {
    const { scope, f } = this.body;
    const rest = size % step;
    const whole = size - rest;
    if (whole > 0) {
      let stop: Bound = typeof end === 'number' ? whole : end;
      if (typeof end !== 'number' && rest !== 0)
        stop = f.let(
          'stop',
          atMost(end, () => i32(whole)),
        );
      scope.loop(name, begin, stop, step, () => emit(step));
    }
    if (rest === 0) return;
    scope.nest((inside) => {
      const tail = (): void => {
        const at = f.let(name, i32(whole));
        inside(() => {
          scope.bind(name, at);
          emit(rest);
        });
      };
      if (typeof end === 'number') tail();
      else f.if(op('i32.gt_u', end, i32(whole)), tail);
    });
  }

  /** Of a symbolic size: whole iterations, then single vectors, then single elements. */
  #steppedToAny(
    size: SymInt,
    name: string,
    begin: Bound,
    end: Local<'i32'>,
    step: number,
    emit: (valid: number) => void,
  ): void {
    const { scope, f } = this.body;
    const whole = sizeMul(sizeFloorDiv(size, step), step);
    const stop = f.let(
      'stop',
      atMost(end, () => this.body.size(whole)),
    );
    scope.loop(name, begin, stop, step, () => emit(step));
    let from = stop;
    if (step > 4) {
      const vectors = op('i32.and', op('i32.sub', end, stop), i32(-4));
      const middle = f.let('middle', op('i32.add', stop, vectors));
      scope.loop(name, stop, middle, 4, () => emit(4));
      from = middle;
    }
    scope.loop(name, from, end, 1, () => emit(1));
  }

  /** Bounds of a run of a variable that starts at a local: `length` long, or up to the variable's size. */
  run(name: string, begin: Local<'i32'>, length: number): readonly [Local<'i32'>, Local<'i32'>] {
    const { space, f } = this.body;
    const size = space.size(name);
    const end = f.let(`${name}.end`, op('i32.add', begin, i32(length)));
    if (typeof size !== 'number' || size % length !== 0)
      f.set(
        end,
        atMost(end, () => this.body.size(size)),
      );
    return [begin, end];
  }

  /**
   * Scalar loops over variables, outermost first; `innermost` makes that of the last one. Partial results are
   * settled after at most about so many iterations of it, wherever among the loops that falls; whatever size a loop
   * was seen with first.
   */
  sweep(
    names: readonly string[],
    pace: SettlePace,
    innermost: (begin: Bound, end: Bound) => void,
  ): void {
    const { scope, space } = this.body;
    const { settle, step } = pace;
    const last = names.length - 1;
    let depth = last;
    // Iterations that one iteration of the loop at `depth` stands for.
    let below = 1;
    const trips = (): number =>
      Math.ceil(largest(space.size(names[depth]!)) / (depth === last ? step : 1));
    for (; depth > 0 && below * trips() <= pace.iterations; depth--) below *= trips();
    const length = Math.max(1, Math.floor(pace.iterations / below)) * (depth === last ? step : 1);
    const visit = (level: number): void => {
      const name = names[level]!;
      const loop = (begin: Bound, end: Bound): void => {
        if (level === last) innermost(begin, end);
        else scope.loop(name, begin, end, 1, () => visit(level + 1));
      };
      if (settle !== undefined && level === depth) this.#segments(name, length, loop, settle);
      else loop(0, this.bound(space.size(name)));
    };
    visit(0);
  }

  /** Runs a loop over a variable in segments of some length, with `between` after each. */
  #segments(
    name: string,
    length: number,
    loop: (begin: Bound, end: Bound) => void,
    between: () => void,
  ): void {
    const { scope, space } = this.body;
    const size = space.size(name);
    if (typeof size === 'number' && size <= length) {
      loop(0, size);
      between();
      return;
    }
    const counter = `${name}.segment`;
    scope.loop(counter, 0, this.bound(size), length, () => {
      const [begin, end] = this.run(name, scope.variable(counter), length);
      loop(begin, end);
      between();
    });
  }
}
