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
import { type LinearForm, isLinear, otherParts } from '@tessera/inductor-core';
import { sizeKnown } from '@tessera/shared';
import { itemSize, type DType } from '@tessera/tensor';
import { i32, lane, memory, op, select } from '../emit/code.js';
import type { Local } from '../emit/types.js';
import { kindOf, registersPerGroup } from './element-kind.js';
import type { IndexCode } from './index-code.js';
import {
  decode,
  encode,
  loadGroup,
  loadLanes,
  loadSplat,
  storeGroup,
  storeLanes,
} from './memory-access.js';
import {
  activeIn,
  anyTrue,
  eachGroup,
  hasNumberSteps,
  isTransposed,
  moved,
  narrowPair,
  reversed,
  shuffleToFront,
  stepsOf,
  transpose,
  widened,
  type Place,
} from './places.js';
import { fillsRegister, loadBytes, storeBytes } from './packed.js';
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

/** How far outside of a buffer code may read; see `kernel-code.ts`. */
const NEAR_BYTES = 64;

/** See the file header. */
export class AccessCode {
  constructor(
    readonly scope: Scope,
    readonly vb: VectorBuilder,
    readonly index: IndexCode,
  ) {}

  /** The element of each lane; emitted at `level`. */
  load(buffer: BufferRef, form: LinearForm, mask: MaskContext | undefined, level: number): Value {
    const { dtype } = buffer;
    const varying = this.index.isVarying(form);
    const byIndex =
      varying && (this.#isGather(form) || (mask !== undefined && !this.#isNear(form, dtype)));
    const indices = byIndex ? this.index.vector(form, mask) : undefined;
    const place = byIndex ? undefined : this.#place(buffer, form, mask);
    if (varying && mask === undefined && place !== undefined && this.#isPacked(dtype, form))
      return loadBytes(this.scope, this.vb, dtype, place, level);
    return this.scope.at(level, () => {
      const raw = varying
        ? this.#loadGroups(buffer, form, place, indices, mask)
        : [this.#loadUniform(buffer, place!, mask)];
      return { kind: kindOf(dtype), uniform: !varying, regs: decode(this.vb, dtype, raw) };
    });
  }

  /** Whether the elements of an iteration lie as the bytes of one register. */
  #isPacked(dtype: DType, form: LinearForm): boolean {
    const { lanes } = this.scope;
    return itemSize(dtype) === 1 && fillsRegister(lanes) && stepsOf(form, lanes!).lane === 1;
  }

  /** Whether the lanes of a group lie within the distance that may be read around a buffer. */
  #isNear(form: LinearForm, dtype: DType): boolean {
    const { lane } = stepsOf(form, this.scope.lanes!);
    return 3 * Math.abs(lane) * itemSize(dtype) <= NEAR_BYTES;
  }

  #isGather(form: LinearForm): boolean {
    if (!hasNumberSteps(form, this.scope.lanes!)) return true;
    return otherParts(form).some(([part]) => this.index.isPartVarying(part));
  }

  /** Where the first lane of the first group is. */
  #place(buffer: BufferRef, form: LinearForm, mask: MaskContext | undefined): Place {
    const size = itemSize(buffer.dtype);
    const base = { local: buffer.pointer, name: buffer.name };
    // An offset is added without wrap-around, so it may not make up for a negative part elsewhere.
    const { constant } = form;
    const isForward =
      typeof constant === 'number' &&
      constant >= 0 &&
      constant * size < 2 ** 30 &&
      isLinear(form) &&
      [...form.terms.values()].every((c) => sizeKnown(c, '>', 0) === true);
    const address = this.index.scalar(
      isForward ? { ...form, constant: 0 } : form,
      size,
      base,
      mask,
    );
    return { address: () => address, offset: isForward ? constant * size : 0 };
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
    form: LinearForm,
    place: Place | undefined,
    indices: Regs | undefined,
    mask: MaskContext | undefined,
  ): Regs {
    const { vb } = this;
    const { dtype } = buffer;
    const lanes = this.scope.lanes!;
    if (place === undefined) {
      return eachGroup(lanes, (g) =>
        this.#loadIndexed(buffer, indices!, mask?.value, g, activeIn(lanes, g)),
      );
    }
    const steps = stepsOf(form, lanes);
    const at = (g: number, k: number): Place =>
      moved(place, (g * steps.group + k * steps.lane) * itemSize(dtype));
    const loadOne = (g: number): Regs => {
      const { address, offset } = at(g, 0);
      if (steps.lane === 1) return loadGroup(vb, dtype, address, offset);
      if (steps.lane === 0) return widened(dtype, loadSplat(vb, dtype, address, offset));
      if (steps.lane === -1 && activeIn(lanes, g) === 4)
        return reversed(vb, loadGroup(vb, dtype, at(g, 3).address, at(g, 3).offset));
      const places = Array.from({ length: activeIn(lanes, g) }, (_, k) => at(g, k));
      return loadLanes(vb, dtype, places);
    };
    if (mask !== undefined)
      return eachGroup(lanes, (g) => this.#ifAny(dtype, mask, g, () => loadOne(g)));
    if (isTransposed(lanes, steps, itemSize(dtype)))
      return this.#loadTransposed(dtype, lanes, (k) => at(0, k));
    return eachGroup(lanes, loadOne);
  }

  /** Loads a group if any of its lanes is inside the mask. */
  #ifAny(dtype: DType, { value }: MaskContext, g: number, load: () => Regs): Regs {
    // Locals start at zero, but code may run again in a loop: lanes outside hold what was there before.
    const result = Array.from({ length: registersPerGroup(kindOf(dtype)) }, () =>
      this.scope.f.local('v128', this.vb.hint),
    );
    this.scope.f.if(op('v128.any_true', value.regs[value.uniform ? 0 : g]), () => {
      load().forEach((reg, i) => this.scope.f.set(result[i], reg));
    });
    return result;
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
    const group: Regs = [indices[indices.length === 1 ? 0 : g]];
    const inside =
      mask === undefined ? group : vb.bin('v128.and', group, [mask.regs[mask.uniform ? 0 : g]]);
    return loadLanes(vb, buffer.dtype, this.#indexedPlaces(buffer, inside[0], count));
  }

  #indexedPlaces(buffer: BufferRef, indices: Reg, count: number): Place[] {
    const places = Math.log2(itemSize(buffer.dtype));
    const bytes = places === 0 ? indices : this.vb.shift('i32x4.shl', [indices], places)[0];
    return Array.from({ length: count }, (_, k) => ({
      address: () => op('i32.add', buffer.pointer, lane('i32x4.extract_lane', k, bytes)),
      offset: 0,
    }));
  }

  /** Loads the four groups' elements of each lane as one vector, and transposes. */
  #loadTransposed(dtype: DType, lanes: Lanes, at: (k: number) => Place): Regs {
    const rows = Array.from({ length: 4 }, (_, k): Reg => {
      if (k >= lanes.active) return this.vb.i32(0)[0];
      const { address, offset } = at(k);
      return loadGroup(this.vb, dtype, address, offset)[0];
    });
    return transpose(this.vb, rows);
  }

  /** Stores the value of each valid lane; emitted here. */
  store(buffer: BufferRef, form: LinearForm, value: Value): void {
    const { vb, scope } = this;
    const { dtype } = buffer;
    const size = itemSize(dtype);
    const { lanes } = scope;
    if (
      !value.uniform &&
      this.index.isVarying(form) &&
      !this.#isGather(form) &&
      this.#isPacked(dtype, form)
    ) {
      storeBytes(vb, dtype, this.#place(buffer, form, undefined), value);
      return;
    }
    const regs = encode(vb, dtype, value.regs);
    const perGroup = registersPerGroup(kindOf(dtype));
    const ofGroup = (g: number): Regs => {
      if (value.uniform) return widened(dtype, regs[0]);
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
          this.#indexedPlaces(buffer, indices[indices.length === 1 ? 0 : g], activeIn(lanes, g)),
          ofGroup(g),
        );
      }
      return;
    }
    const steps = stepsOf(form, lanes);
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
      if (size === 2 && steps.lane === 1 && steps.group === 4 && activeIn(lanes, g + 1) === 4) {
        const pair = narrowPair(vb, dtype, ofGroup(g), ofGroup(g + 1));
        const { address, offset } = at(g++, 0);
        vb.f.do(memory('v128.store', offset, address(), pair));
      } else if (steps.lane === 1)
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
    const first = k === 0 ? regs : [this.vb.let(shuffleToFront(regs, dtype, k))];
    storeLanes(this.vb, dtype, [place], first);
  }
}
