/**
 * @file Where the elements of a vector iteration lie in memory, and moves of lanes that go with it.
 */
import { type LinearForm, coefficientOf } from '@tessera/inductor-core';
import { itemSize, type DType } from '@tessera/tensor';
import { i32, op, shuffle32 } from '../emit/code.js';
import type { Code } from '../emit/types.js';
import { kindOf, registersPerGroup } from './element-kind.js';
import type { Address } from './memory-access.js';
import type { Lanes } from './scope.js';
import type { Reg, Regs, VectorBuilder } from './vector-builder.js';

/** An address with a constant distance in bytes, which is added without wrap-around. */
export interface Place {
  readonly address: Address;
  readonly offset: number;
}

/** Index steps in elements: from lane to lane, and from group to group. */
export interface Steps {
  readonly lane: number;
  readonly group: number;
}

/** Elements of group g that are valid; none of one that there is not. */
export function activeIn(lanes: Lanes, g: number): number {
  if (g >= lanes.groups) return 0;
  return lanes.across === lanes.lane
    ? Math.min(4, lanes.active - 4 * g)
    : Math.min(4, lanes.active);
}

/** Steps of an index that varies with the loop variables only linearly. */
export function stepsOf(form: LinearForm, lanes: Lanes): Steps {
  const along = numberIn(form, lanes.lane);
  return {
    lane: along,
    group: lanes.across === lanes.lane ? 4 * along : numberIn(form, lanes.across),
  };
}

/** Whether an index moves by numbers along the lanes and groups. */
export function hasNumberSteps(form: LinearForm, lanes: Lanes): boolean {
  return [lanes.lane, lanes.across].every((name) => typeof coefficientOf(form, name) === 'number');
}

function numberIn(form: LinearForm, name: string): number {
  const coefficient = coefficientOf(form, name);
  if (typeof coefficient === 'number') return coefficient;
  throw new TypeError(`an index moves by ${String(coefficient)} along ${name}`);
}

/** Brings element k of a group to the first lane. */
export function shuffleToFront(regs: Regs, dtype: DType, k: number): Code<'v128'> {
  if (itemSize(dtype) === 8) {
    const reg = regs[k >> 1];
    return k % 2 === 0 ? shuffle32([0, 1, 2, 3], reg, reg) : shuffle32([2, 3, 2, 3], reg, reg);
  }
  return shuffle32([k, k, k, k], regs[0], regs[0]);
}

/** Four lanes of four groups, each a register, can be moved as vectors across the groups. */
export function isTransposed(lanes: Lanes, steps: Steps, size: number): boolean {
  return (
    lanes.across !== lanes.lane &&
    lanes.groups === 4 &&
    steps.group === 1 &&
    steps.lane !== 1 &&
    steps.lane !== 0 &&
    size <= 4
  );
}

/** Transposes a 4×4 block of 32-bit elements held in four registers. */
export function transpose(vb: VectorBuilder, rows: Regs): Regs {
  const [a, b, c, d] = rows;
  const pair = (low: boolean, x: Reg, y: Reg): Reg =>
    vb.let(shuffle32(low ? [0, 4, 1, 5] : [2, 6, 3, 7], x, y));
  const [ab, cd, ab2, cd2] = [
    pair(true, a, b),
    pair(true, c, d),
    pair(false, a, b),
    pair(false, c, d),
  ];
  const join = (low: boolean, x: Reg, y: Reg): Reg =>
    vb.let(shuffle32(low ? [0, 1, 4, 5] : [2, 3, 6, 7], x, y));
  return [join(true, ab, cd), join(false, ab, cd), join(true, ab2, cd2), join(false, ab2, cd2)];
}

/** Registers of a group whose elements are all the same. */
export function widened(dtype: DType, reg: Reg): Regs {
  return registersPerGroup(kindOf(dtype)) === 2 ? [reg, reg] : [reg];
}

/** Registers of all groups, made group by group. */
export function eachGroup(lanes: Lanes, make: (g: number) => Regs): Regs {
  return Array.from({ length: lanes.groups }, (_, g) => make(g)).flat();
}

/** A place some bytes further, which may be a negative distance. */
export function moved(place: Place, bytes: number): Place {
  const offset = place.offset + bytes;
  if (bytes >= 0 && offset < 2 ** 30) return { address: place.address, offset };
  return { address: () => op('i32.add', place.address(), i32(offset)), offset: 0 };
}

/** Whether any bit of the registers is set. */
export function anyTrue(regs: Regs): Code<'i32'> {
  return op(
    'v128.any_true',
    regs.slice(1).reduce<Code<'v128'>>((a, b) => op('v128.or', a, b), regs[0]),
  );
}

/** A group in reverse order: one register, or two of 64-bit elements. */
export function reversed(vb: VectorBuilder, [first, second]: Regs): Regs {
  if (second === undefined) return vb.shuffle([3, 2, 1, 0], [first]);
  return vb.shuffle([2, 3, 0, 1], [second, first]);
}

/** Two groups of encoded 16-bit elements in one register. */
export function narrowPair(vb: VectorBuilder, dtype: DType, [a]: Regs, [b]: Regs): Reg {
  return vb.let(op(`i16x8.narrow_i32x4_${dtype === 'bfloat16' ? 'u' : 's'}`, a, b));
}
