/**
 * @file Loads and stores of an index expression: picks the cheapest form its lanes allow.
 *
 * - equal in all lanes: one element, splat;
 * - consecutive elements along the lanes: vector loads and stores;
 * - four groups along the other variable, consecutive across groups: vectors transposed in registers;
 * - anything else: lane by lane, at constant distances or at computed indices.
 *
 * Under a mask, lanes that lie close together are loaded whole if any of them is inside: what is next to
 * a buffer can be read. Others are loaded lane by lane, and lanes outside read element 0 of the buffer.
 */
import { itemSize, type DType } from '@tessera/tensor';
import { i32, lane, op, select, shuffle32 } from '../emit/code.js';
import type { Code, Local } from '../emit/types.js';
import { kindOf, registersPerGroup } from './element-kind.js';
import type { IndexCode } from './index-code.js';
import type { Affine } from './loop-space.js';
import {
  decode,
  encode,
  loadGroup,
  loadLanes,
  loadSplat,
  storeGroup,
  storeLanes,
  type Address,
} from './memory-access.js';
import type { Lanes, MaskContext, Scope } from './scope.js';
import type { Value } from './value.js';
import type { Reg, Regs, VectorBuilder } from './vector-builder.js';

/** A buffer as code sees it. */
export interface BufferRef {
  readonly name: string;
  readonly dtype: DType;
  /** Its address, set at function entry. */
  readonly pointer: Local<'i32'>;
}

interface Place {
  readonly address: Address;
  readonly offset: number;
}

/** How far outside of a buffer code may read; see `kernel-code.ts`. */
const NEAR_BYTES = 64;

/** Index steps in elements: from lane to lane, and from group to group. */
interface Steps {
  readonly lane: number;
  readonly group: number;
}

/** Elements of group g that are valid. */
export function activeIn(lanes: Lanes, g: number): number {
  return lanes.across === lanes.lane
    ? Math.min(4, lanes.active - 4 * g)
    : Math.min(4, lanes.active);
}

/** See the file header. */
export class AccessCode {
  constructor(
    readonly scope: Scope,
    readonly vb: VectorBuilder,
    readonly index: IndexCode,
  ) {}

  /** The element of each lane; emitted at `level`. */
  load(buffer: BufferRef, form: Affine, mask: MaskContext | undefined, level: number): Value {
    const { dtype } = buffer;
    const varying = this.index.isVarying(form);
    const gather = this.#isGather(form);
    const indices =
      varying && (gather || mask !== undefined) ? this.index.vector(form, mask) : undefined;
    const place = gather ? undefined : this.#place(buffer, form, mask);
    return this.scope.at(level, () => {
      const raw = varying
        ? this.#loadGroups(buffer, form, place, indices, mask)
        : [this.#loadUniform(buffer, place as Place, mask)];
      return { kind: kindOf(dtype), uniform: !varying, regs: decode(this.vb, dtype, raw) };
    });
  }

  #isGather(form: Affine): boolean {
    return form.atoms.some((atom) =>
      this.index.isVarying({ constant: 0, terms: new Map(), atoms: [atom] }),
    );
  }

  /** Where the first lane of the first group is. */
  #place(buffer: BufferRef, form: Affine, mask: MaskContext | undefined): Place {
    const size = itemSize(buffer.dtype);
    const base = { local: buffer.pointer, name: buffer.name };
    // An offset is added without wrap-around, so it may not make up for a negative part elsewhere.
    const isForward =
      form.constant >= 0 &&
      form.constant * size < 2 ** 30 &&
      form.atoms.length === 0 &&
      [...form.terms.values()].every((c) => c > 0);
    const address = this.index.scalar(
      isForward ? { ...form, constant: 0 } : form,
      size,
      base,
      mask,
    );
    return { address: () => address, offset: isForward ? form.constant * size : 0 };
  }

  #loadUniform(buffer: BufferRef, place: Place, mask: MaskContext | undefined): Reg {
    if (mask === undefined) return loadSplat(this.vb, buffer.dtype, place.address, place.offset);
    const inside = select(
      op('i32.add', place.address(), i32(place.offset)),
      buffer.pointer,
      anyTrue(mask.value.regs),
    );
    const address = this.scope.f.let('at', inside);
    return loadSplat(this.vb, buffer.dtype, () => address, 0);
  }

  #loadGroups(
    buffer: BufferRef,
    form: Affine,
    place: Place | undefined,
    indices: Regs | undefined,
    mask: MaskContext | undefined,
  ): Regs {
    const { vb } = this;
    const { dtype } = buffer;
    const size = itemSize(dtype);
    const lanes = this.scope.lanes as Lanes;
    const steps = this.#steps(form, lanes);
    if (place !== undefined && mask === undefined) {
      const at = (g: number, k: number): Place =>
        moved(place, (g * steps.group + k * steps.lane) * size);
      if (isTransposed(lanes, steps, size))
        return this.#loadTransposed(dtype, lanes, (k) => at(0, k));
      return eachGroup(lanes, (g) => {
        if (steps.lane === 1) return loadGroup(vb, dtype, at(g, 0).address, at(g, 0).offset);
        if (steps.lane === 0)
          return widened(dtype, loadSplat(vb, dtype, at(g, 0).address, at(g, 0).offset));
        return loadLanes(
          vb,
          dtype,
          Array.from({ length: activeIn(lanes, g) }, (_, k) => at(g, k)),
        );
      });
    }
    const masks = mask === undefined ? undefined : mask.value;
    const inLane = (g: number): Regs =>
      this.#loadIndexed(buffer, indices as Regs, masks, g, activeIn(lanes, g));
    const isNear = 3 * Math.abs(steps.lane) * size <= NEAR_BYTES;
    if (place === undefined || !isNear || masks === undefined) return eachGroup(lanes, inLane);
    return eachGroup(lanes, (g) => {
      const at = (k: number): Place => moved(place, (g * steps.group + k * steps.lane) * size);
      const load = (): Regs => {
        if (steps.lane === 1) return loadGroup(vb, dtype, at(0).address, at(0).offset);
        if (steps.lane === 0)
          return widened(dtype, loadSplat(vb, dtype, at(0).address, at(0).offset));
        return loadLanes(
          vb,
          dtype,
          Array.from({ length: activeIn(lanes, g) }, (_, k) => at(k)),
        );
      };
      // Locals start at zero, but code may run again in a loop: lanes outside hold what was there before.
      const result = Array.from({ length: registersPerGroup(kindOf(dtype)) }, () =>
        this.scope.f.local('v128', vb.hint),
      );
      this.scope.f.if(op('v128.any_true', masks.regs[masks.uniform ? 0 : g] as Reg), () => {
        load().forEach((reg, i) => this.scope.f.set(result[i] as Reg, reg));
      });
      return result;
    });
  }

  /** Lane by lane at computed indices; lanes outside the mask read element 0. */
  #loadIndexed(
    buffer: BufferRef,
    indices: Regs,
    mask: Value | undefined,
    g: number,
    count: number,
  ): Regs {
    const { vb } = this;
    const group: Regs = [indices[indices.length === 1 ? 0 : g] as Reg];
    const inside =
      mask === undefined
        ? group
        : vb.bin('v128.and', group, [mask.regs[mask.uniform ? 0 : g] as Reg]);
    return loadLanes(vb, buffer.dtype, this.#indexedPlaces(buffer, inside[0] as Reg, count));
  }

  #indexedPlaces(buffer: BufferRef, indices: Reg, count: number): Place[] {
    const places = Math.log2(itemSize(buffer.dtype));
    const bytes =
      places === 0 ? indices : (this.vb.shift('i32x4.shl', [indices], places)[0] as Reg);
    return Array.from({ length: count }, (_, k) => ({
      address: () => op('i32.add', buffer.pointer, lane('i32x4.extract_lane', k, bytes)),
      offset: 0,
    }));
  }

  /** Loads the four groups' elements of each lane as one vector, and transposes. */
  #loadTransposed(dtype: DType, lanes: Lanes, at: (k: number) => Place): Regs {
    const rows = Array.from({ length: 4 }, (_, k): Reg => {
      if (k >= lanes.active) return this.vb.i32(0)[0] as Reg;
      const { address, offset } = at(k);
      return loadGroup(this.vb, dtype, address, offset)[0] as Reg;
    });
    return transpose(this.vb, rows);
  }

  #steps(form: Affine, lanes: Lanes): Steps {
    const along = form.terms.get(lanes.lane) ?? 0;
    return {
      lane: along,
      group: lanes.across === lanes.lane ? 4 * along : (form.terms.get(lanes.across) ?? 0),
    };
  }

  /** Stores the value of each valid lane; emitted here. */
  store(buffer: BufferRef, form: Affine, value: Value): void {
    const { vb, scope } = this;
    const { dtype } = buffer;
    const size = itemSize(dtype);
    const { lanes } = scope;
    const regs = encode(vb, dtype, value.regs);
    const perGroup = registersPerGroup(kindOf(dtype));
    const ofGroup = (g: number): Regs => {
      if (value.uniform) return widened(dtype, regs[0] as Reg);
      return regs.slice(g * perGroup, (g + 1) * perGroup);
    };
    if (lanes === undefined || !this.index.isVarying(form)) {
      const place = this.#place(buffer, form, undefined);
      // With equal places the last element is the one that stays.
      const g = lanes === undefined || value.uniform ? 0 : lanes.groups - 1;
      const k = lanes === undefined || value.uniform ? 0 : activeIn(lanes, g) - 1;
      this.#storeLane(dtype, place, ofGroup(g), k);
      return;
    }
    if (this.#isGather(form)) {
      const indices = this.index.vector(form, undefined);
      for (let g = 0; g < lanes.groups; g++) {
        storeLanes(
          vb,
          dtype,
          this.#indexedPlaces(
            buffer,
            indices[indices.length === 1 ? 0 : g] as Reg,
            activeIn(lanes, g),
          ),
          ofGroup(g),
        );
      }
      return;
    }
    const steps = this.#steps(form, lanes);
    const place = this.#place(buffer, form, undefined);
    const at = (g: number, k: number): Place =>
      moved(place, (g * steps.group + k * steps.lane) * size);
    if (isTransposed(lanes, steps, size) && !value.uniform) {
      transpose(vb, regs).forEach((row, k) => {
        if (k < lanes.active) storeGroup(vb, dtype, at(0, k).address, at(0, k).offset, [row], 4);
      });
      return;
    }
    for (let g = 0; g < lanes.groups; g++) {
      const count = activeIn(lanes, g);
      if (steps.lane === 1)
        storeGroup(vb, dtype, at(g, 0).address, at(g, 0).offset, ofGroup(g), count);
      else if (steps.lane === 0) this.#storeLane(dtype, at(g, 0), ofGroup(g), count - 1);
      else
        storeLanes(
          vb,
          dtype,
          Array.from({ length: count }, (_, k) => at(g, k)),
          ofGroup(g),
        );
    }
  }

  /** Stores one lane of a group. */
  #storeLane(dtype: DType, place: Place, regs: Regs, k: number): void {
    const skip = { address: place.address, offset: 0 };
    const shifted = k === 0 ? regs : [this.vb.let(shuffleToFront(regs, dtype, k))];
    storeLanes(this.vb, dtype, [k === 0 ? place : { ...skip, offset: place.offset }], shifted);
  }
}

/** Brings element k of a group to the first lane. */
function shuffleToFront(regs: Regs, dtype: DType, k: number): Code<'v128'> {
  if (itemSize(dtype) === 8) {
    const reg = regs[k >> 1] as Reg;
    return k % 2 === 0 ? shuffle32([0, 1, 2, 3], reg, reg) : shuffle32([2, 3, 2, 3], reg, reg);
  }
  return shuffle32([k, k, k, k], regs[0] as Reg, regs[0] as Reg);
}

/** Four 4-byte lanes of four groups can be moved as vectors across the groups. */
function isTransposed(lanes: Lanes, steps: Steps, size: number): boolean {
  return (
    lanes.across !== lanes.lane &&
    lanes.groups === 4 &&
    steps.group === 1 &&
    steps.lane !== 1 &&
    steps.lane !== 0 &&
    size === 4
  );
}

/** Transposes a 4×4 block of 32-bit elements held in four registers. */
function transpose(vb: VectorBuilder, rows: Regs): Regs {
  const [a, b, c, d] = rows as [Reg, Reg, Reg, Reg];
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
function widened(dtype: DType, reg: Reg): Regs {
  return registersPerGroup(kindOf(dtype)) === 2 ? [reg, reg] : [reg];
}

function eachGroup(lanes: Lanes, make: (g: number) => Regs): Regs {
  return Array.from({ length: lanes.groups }, (_, g) => make(g)).flat();
}

/** A place some bytes further, which may be a negative distance. */
function moved(place: Place, bytes: number): Place {
  const offset = place.offset + bytes;
  if (bytes >= 0 && offset < 2 ** 30) return { address: place.address, offset };
  return { address: () => op('i32.add', place.address(), i32(offset)), offset: 0 };
}

function anyTrue(regs: Regs): Code<'i32'> {
  return op(
    'v128.any_true',
    regs.slice(1).reduce<Code<'v128'>>((a, b) => op('v128.or', a, b), regs[0] as Reg),
  );
}
