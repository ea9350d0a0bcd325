/**
 * @file Single elements in memory: copied, read as integers, compared.
 */
import { type DType, itemSize } from '@tessera/tensor';
import { i32, memory, op } from '../emit/code.js';
import type { Code, Local, ResultType } from '../emit/types.js';
import type { WasmFunction } from '../emit/wasm-function.js';

/** Copies an element of so many bytes. */
export function copyElement(bytes: number, to: Code<'i32'>, from: Code<'i32'>): Code {
  switch (bytes) {
    case 1:
      return memory('i32.store8', 0, to, memory('i32.load8_u', 0, from));
    case 2:
      return memory('i32.store16', 0, to, memory('i32.load16_u', 0, from));
    case 4:
      return memory('i32.store', 0, to, memory('i32.load', 0, from));
    default:
      return memory('i64.store', 0, to, memory('i64.load', 0, from));
  }
}

/** An element of an integer dtype. */
export function integerAt(dtype: DType, address: Code<'i32'>): Code<'i64'> {
  switch (dtype) {
    case 'int64':
      return memory('i64.load', 0, address);
    case 'int32':
      return op('i64.extend_i32_s', memory('i32.load', 0, address));
    case 'int16':
      return op('i64.extend_i32_s', memory('i32.load16_s', 0, address));
    case 'int8':
      return op('i64.extend_i32_s', memory('i32.load8_s', 0, address));
    default:
      return op('i64.extend_i32_u', memory('i32.load8_u', 0, address));
  }
}

/** Whether two elements differ, as numbers do: a NaN from all, zeros of both signs not. */
export function differ(
  f: WasmFunction<ResultType>,
  dtype: DType,
  a: Local<'i32'>,
  b: Code<'i32'>,
): Code<'i32'> {
  switch (dtype) {
    case 'float64':
      return op('f64.ne', memory('f64.load', 0, a), memory('f64.load', 0, b));
    case 'float32':
      return op('f32.ne', memory('f32.load', 0, a), memory('f32.load', 0, b));
    case 'float16':
    case 'bfloat16': {
      const bits = f.let('bits', memory('i32.load16_u', 0, a));
      const other = f.let('other', memory('i32.load16_u', 0, b));
      const size = op('i32.and', op('i32.or', bits, other), i32(0x7fff));
      const infinity = i32(dtype === 'float16' ? 0x7c00 : 0x7f80);
      return op(
        'i32.or',
        op('i32.and', op('i32.ne', bits, other), op('i32.ne', size, i32(0))),
        op('i32.gt_u', op('i32.and', bits, i32(0x7fff)), infinity),
      );
    }
    case 'int64':
      return op('i64.ne', memory('i64.load', 0, a), memory('i64.load', 0, b));
    default: {
      const load = ({ 1: 'i32.load8_u', 2: 'i32.load16_u', 4: 'i32.load' } as const)[
        itemSize(dtype) as 1 | 2 | 4
      ];
      return op('i32.ne', memory(load, 0, a), memory(load, 0, b));
    }
  }
}
