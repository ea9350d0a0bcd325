/**
 * @file Forms of loops that loop kernels are made of: vector iterations with a tail, segments, nests.
 */
import type { BodyEmitter } from '../body/body-emitter.js';
import type { Lanes } from '../body/scope.js';
import { i32, op, select } from '../emit/code.js';
import type { Code, Local } from '../emit/types.js';

/** A loop bound: known now, or when the code runs. */
export type Bound = Local<'i32'> | number;

/** The smaller of a local and a constant (unsigned). */
function atMost(local: Local<'i32'>, limit: number): Code<'i32'> {
  return select(i32(limit), local, op('i32.gt_u', local, i32(limit)));
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
    const { scope, space, f } = this.body;
    const size = space.size(name);
    const rest = size % step;
    const whole = size - rest;
    if (whole > 0) {
      let stop: Bound = typeof end === 'number' ? whole : end;
      if (typeof end !== 'number' && rest !== 0) stop = f.let('stop', atMost(end, whole));
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

  /** Runs a loop over a variable in segments of some length, with `between` after each. */
  segments(
    name: string,
    length: number,
    loop: (begin: Bound, end: Bound) => void,
    between: () => void,
  ): void {
    const { scope, space } = this.body;
    const size = space.size(name);
    if (size <= length) {
      loop(0, size);
      between();
      return;
    }
    const counter = `${name}.segment`;
    scope.loop(counter, 0, size, length, () => {
      const [begin, end] = this.run(name, scope.variable(counter), length);
      loop(begin, end);
      between();
    });
  }

  /** Bounds of a run of a variable that starts at a local: `length` long, or up to the variable's size. */
  run(name: string, begin: Local<'i32'>, length: number): readonly [Local<'i32'>, Local<'i32'>] {
    const { space, f } = this.body;
    const size = space.size(name);
    const end = f.let(`${name}.end`, op('i32.add', begin, i32(length)));
    if (size % length !== 0) f.set(end, atMost(end, size));
    return [begin, end];
  }

  /** Scalar loops over variables, outermost first, around `last`, which gets the innermost variable. */
  nested(names: readonly string[], last: (innermost: string | undefined) => void): void {
    const [name, ...rest] = names;
    if (rest.length === 0 || name === undefined) last(name);
    else this.each(name, () => this.nested(rest, last));
  }

  /** A loop over all values of a variable. */
  each(name: string, emit: () => void): void {
    this.body.scope.loop(name, 0, this.body.space.size(name), 1, emit);
  }
}
