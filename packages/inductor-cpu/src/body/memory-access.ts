/**
 * @file Loads and stores of four elements of any dtype, contiguous or lane by lane.
 *
 * Elements narrower than 32 bits are widened to 32-bit lanes when loaded and wrapped or rounded when
 * stored. `decode` and `encode` turn stored representations (bool bytes, half-precision bits) into
 * values of the dtype's kind and back.
 */
import { itemSize, type DType } from '@tessera/tensor';
import { lane, laneMemory, memory, op, shuffle } from '../emit/code.js';
import type { Code } from '../emit/types.js';
import { bfloatToFloat, floatToBfloat, floatToHalf, halfToFloat } from './half.js';
import type { Reg, Regs, VectorBuilder } from './vector-builder.js';

/** Bytes of an address that are known only when the code runs; a new tree for every use. */
export type Address = () => Code<'i32'>;

/** Four contiguous elements, not decoded: one register, or two for 64-bit elements. */
export function loadGroup(vb: VectorBuilder, dtype: DType, address: Address, offset: number): Regs {
  switch (dtype) {
    case 'float64':
    case 'int64':
      return [
        vb.let(memory('v128.load', offset, address())),
        vb.let(memory('v128.load', offset + 16, address())),
      ];
    case 'float32':
    case 'int32':
      return [vb.let(memory('v128.load', offset, address()))];
    case 'bfloat16':
      return [vb.let(memory('v128.load16x4_u', offset, address()))];
    case 'float16':
    case 'int16':
      return [vb.let(memory('v128.load16x4_s', offset, address()))];
    case 'int8':
      return [
        vb.let(
          op(
            'i32x4.extend_low_i16x8_s',
            op('i16x8.extend_low_i8x16_s', memory('v128.load32_zero', offset, address())),
          ),
        ),
      ];
    case 'uint8':
    case 'bool':
      return [
        vb.let(
          op(
            'i32x4.extend_low_i16x8_u',
            op('i16x8.extend_low_i8x16_u', memory('v128.load32_zero', offset, address())),
          ),
        ),
      ];
  }
}

/** One element in all lanes, not decoded. */
export function loadSplat(vb: VectorBuilder, dtype: DType, address: Address, offset: number): Reg {
  switch (itemSize(dtype)) {
    case 8:
      return vb.let(memory('v128.load64_splat', offset, address()));
    case 4:
      return vb.let(memory('v128.load32_splat', offset, address()));
    default:
      return vb.let(op('i32x4.splat', loadNarrow(dtype, address, offset)));
  }
}

function loadNarrow(dtype: DType, address: Address, offset: number): Code<'i32'> {
  switch (dtype) {
    case 'int8':
      return memory('i32.load8_s', offset, address());
    case 'uint8':
    case 'bool':
      return memory('i32.load8_u', offset, address());
    case 'float16':
    case 'int16':
      return memory('i32.load16_s', offset, address());
    default:
      return memory('i32.load16_u', offset, address());
  }
}

/** Elements at up to four addresses, not decoded; lanes beyond them are 0. */
export function loadLanes(
  vb: VectorBuilder,
  dtype: DType,
  places: readonly { readonly address: Address; readonly offset: number }[],
): Regs {
  const [first, ...rest] = places;
  switch (itemSize(dtype)) {
    case 8: {
      const half = (pair: typeof places): Reg => {
        const [low, high] = pair;
        if (low === undefined) return vb.i32(0)[0];
        const zero = memory('v128.load64_zero', low.offset, low.address());
        return vb.let(
          high === undefined
            ? zero
            : laneMemory('v128.load64_lane', high.offset, 1, high.address(), zero),
        );
      };
      return [half(places.slice(0, 2)), half(places.slice(2))];
    }
    case 4: {
      let code = memory('v128.load32_zero', first.offset, first.address());
      rest.forEach((place, k) => {
        code = laneMemory('v128.load32_lane', place.offset, k + 1, place.address(), code);
      });
      return [vb.let(code)];
    }
    default: {
      let code = op('i32x4.splat', loadNarrow(dtype, first.address, first.offset));
      rest.forEach((place, k) => {
        code = lane(
          'i32x4.replace_lane',
          k + 1,
          code,
          loadNarrow(dtype, place.address, place.offset),
        );
      });
      return [vb.let(code)];
    }
  }
}

/** Registers as loaded → values of the dtype's kind. */
export function decode(vb: VectorBuilder, dtype: DType, raw: Regs): Regs {
  if (dtype === 'bool') return vb.bin('i32x4.ne', raw, vb.i32(0));
  if (dtype === 'float16') return halfToFloat(vb, raw);
  if (dtype === 'bfloat16') return bfloatToFloat(vb, raw);
  return raw;
}

/** Values of the dtype's kind → registers to store; narrow elements are the low bits of 32-bit lanes. */
export function encode(vb: VectorBuilder, dtype: DType, regs: Regs): Regs {
  if (dtype === 'bool') return vb.bin('v128.and', regs, vb.i32(1));
  if (dtype === 'float16') return floatToHalf(vb, regs);
  if (dtype === 'bfloat16') return floatToBfloat(vb, regs);
  return regs;
}

const LOW_HALVES = [0, 1, 4, 5, 8, 9, 12, 13, 0, 1, 4, 5, 8, 9, 12, 13];
const LOW_BYTES = [0, 4, 8, 12, 0, 4, 8, 12, 0, 4, 8, 12, 0, 4, 8, 12];

/** Stores a group's encoded registers to four contiguous elements, or to the first `count` of them. */
export function storeGroup(
  vb: VectorBuilder,
  dtype: DType,
  address: Address,
  offset: number,
  regs: Regs,
  count: number,
): void {
  const { f } = vb;
  const [low, high] = regs;
  if (count < 4) {
    storeLanes(
      vb,
      dtype,
      Array.from({ length: count }, (_, k) => ({ address, offset: offset + k * itemSize(dtype) })),
      regs,
    );
    return;
  }
  switch (itemSize(dtype)) {
    case 8:
      f.do(memory('v128.store', offset, address(), low));
      f.do(memory('v128.store', offset + 16, address(), high));
      return;
    case 4:
      f.do(memory('v128.store', offset, address(), low));
      return;
    case 2:
      f.do(laneMemory('v128.store64_lane', offset, 0, address(), shuffle(LOW_HALVES, low, low)));
      return;
    default:
      f.do(laneMemory('v128.store32_lane', offset, 0, address(), shuffle(LOW_BYTES, low, low)));
  }
}

/** Stores lane k of a group's encoded registers at place k. */
export function storeLanes(
  vb: VectorBuilder,
  dtype: DType,
  places: readonly { readonly address: Address; readonly offset: number }[],
  regs: Regs,
): void {
  const { f } = vb;
  places.forEach(({ address, offset }, k) => {
    const low = regs[0];
    switch (itemSize(dtype)) {
      case 8:
        f.do(laneMemory('v128.store64_lane', offset, k % 2, address(), regs[k >> 1]));
        return;
      case 4:
        f.do(laneMemory('v128.store32_lane', offset, k, address(), low));
        return;
      case 2:
        f.do(memory('i32.store16', offset, address(), lane('i32x4.extract_lane', k, low)));
        return;
      default:
        f.do(memory('i32.store8', offset, address(), lane('i32x4.extract_lane', k, low)));
    }
  });
}
