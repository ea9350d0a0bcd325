/**
 * @file `find_hits`, and what is made of the positions that it finds: coordinates, and the elements there.
 */
import { type DType, itemSize } from '@tessera/tensor';
import { i32, i32x4, i64, i64x2, memory, op } from '../emit/code.js';
import type { Code } from '../emit/types.js';
import { WasmFunction } from '../emit/wasm-function.js';
import { advance, plus, scaled } from '../matmul/index-code.js';
import { copyElement } from './elements.js';

/** Bytes of a vector. */
const VECTOR = 16;

/** The bits of an element that make it other than 0: all, but for the sign of a float. */
function bitsAt(dtype: DType, offset: number, address: Code<'i32'>): Code<'i32'> {
  const isFloat = dtype.includes('float');
  switch (itemSize(dtype)) {
    case 1:
      return memory('i32.load8_u', offset, address);
    case 2: {
      const bits = memory('i32.load16_u', offset, address);
      return isFloat ? op('i32.and', bits, i32(0x7fff)) : bits;
    }
    case 4: {
      const bits = memory('i32.load', offset, address);
      return isFloat ? op('i32.and', bits, i32(0x7fffffff)) : bits;
    }
    default: {
      const bits = memory('i64.load', offset, address);
      const kept = isFloat ? op('i64.and', bits, i64((1n << 63n) - 1n)) : bits;
      return op('i64.ne', kept, i64(0));
    }
  }
}

/** A vector's bits that are looked at. */
function kept(dtype: DType): Code<'v128'> {
  if (!dtype.includes('float')) return i32x4(-1);
  const bytes = itemSize(dtype);
  return bytes === 8 ? i64x2((1n << 63n) - 1n) : i32x4(bytes === 4 ? 0x7fffffff : 0x7fff7fff);
}

/**
 * `find_hits(from, count, to)`: writes the positions of the adjacent elements that are not 0, as 32-bit integers, and gives how
 * many there are. Where it writes has room for all. Each is written, and counts if it is one: of masks, engines guess every
 * other one wrong.
 */
export function findHits(dtype: DType): WasmFunction<'i32'> {
  const f = new WasmFunction('find_hits', { from: 'i32', count: 'i32', to: 'i32' }, 'i32');
  const [at, count] = [f.param('from'), f.param('count')];
  const place = f.let('place', f.param('to'));
  const i = f.let('i', i32(0));
  const bytes = itemSize(dtype);
  const lanes = VECTOR / bytes;
  const look = (lane: number): void => {
    f.do(memory('i32.store', 0, place, plus(i, lane)));
    const isHit = op('i32.ne', bitsAt(dtype, lane * bytes, at), i32(0));
    f.set(place, op('i32.add', place, scaled(isHit, 4)));
  };
  const mask = f.let('mask', kept(dtype));
  const end = f.let('end', op('i32.and', count, i32(-lanes)));
  f.while(
    () => op('i32.lt_u', i, end),
    () => {
      const some = op('v128.any_true', op('v128.and', memory('v128.load', 0, at), mask));
      f.if(some, () => {
        for (let lane = 0; lane < lanes; lane++) look(lane);
      });
      advance(f, i, lanes);
      advance(f, at, VECTOR);
    },
  );
  f.while(
    () => op('i32.lt_u', i, count),
    () => {
      look(0);
      advance(f, i, 1);
      advance(f, at, bytes);
    },
  );
  f.return(op('i32.shr_u', op('i32.sub', place, f.param('to')), i32(2)));
  return f;
}

/** Loops over positions. */
function eachPosition(f: WasmFunction, body: (position: Code<'i32'>) => void): void {
  const from = f.param('positions');
  const end = f.let('end', op('i32.add', from, scaled(f.param('count'), 4)));
  f.for('at', from, end, 4, (at) => body(memory('i32.load', 0, at)));
}

/**
 * `inner_coordinates(positions, count, to, size)`: of ascending row-major positions, the coordinates in the last dimension, which has
 * `size` elements; int64.
 */
export function innerCoordinates(): WasmFunction {
  const f = new WasmFunction('inner_coordinates', {
    positions: 'i32',
    count: 'i32',
    to: 'i32',
    size: 'i32',
  });
  const [to, size] = [f.param('to'), f.param('size')];
  // Where the row begins that the last position is in.
  const row = f.let('row', i32(0));
  eachPosition(f, (position) => {
    const at = f.let('position', position);
    f.while(
      () => op('i32.ge_u', op('i32.sub', at, row), size),
      () => f.set(row, op('i32.add', row, size)),
    );
    f.do(memory('i64.store', 0, to, op('i64.extend_i32_u', op('i32.sub', at, row))));
    advance(f, to, 8);
  });
  return f;
}

/** `outer_coordinates(positions, count, to, stride, size)`: the same in a dimension of `size` slices of `stride` elements. */
export function outerCoordinates(): WasmFunction {
  const f = new WasmFunction('outer_coordinates', {
    positions: 'i32',
    count: 'i32',
    to: 'i32',
    stride: 'i32',
    size: 'i32',
  });
  const [to, stride, size] = [f.param('to'), f.param('stride'), f.param('size')];
  const slice = f.let('slice', i32(0));
  const index = f.let('index', i32(0));
  eachPosition(f, (position) => {
    const at = f.let('position', position);
    f.while(
      () => op('i32.ge_u', op('i32.sub', at, slice), stride),
      () => {
        f.set(slice, op('i32.add', slice, stride));
        advance(f, index, 1);
        f.if(op('i32.eq', index, size), () => f.set(index, i32(0)));
      },
    );
    f.do(memory('i64.store', 0, to, op('i64.extend_i32_u', index)));
    advance(f, to, 8);
  });
  return f;
}

/** `gather(positions, count, from, to)`: copies the elements of so many bytes at positions. */
export function gather(bytes: number): WasmFunction {
  const f = new WasmFunction('gather', { positions: 'i32', count: 'i32', from: 'i32', to: 'i32' });
  const [from, to] = [f.param('from'), f.param('to')];
  eachPosition(f, (position) => {
    f.do(copyElement(bytes, to, op('i32.add', from, scaled(position, bytes))));
    advance(f, to, bytes);
  });
  return f;
}
