/**
 * @file Vector arithmetic of the accumulator types: which instructions multiply and add.
 *
 * Everything above (tiles, packing, blocking) is written once over this table.
 */
import type { DType } from '@tessera/tensor';
import { op } from '../emit/code.js';
import type { Code } from '../emit/types.js';

/** One accumulator type in vector form. */
export interface ElementType {
  readonly dtype: DType;
  readonly bytes: 4 | 8;
  /** Elements per 128-bit vector. */
  readonly lanes: 4 | 2;
  readonly splatLoad: 'v128.load32_splat' | 'v128.load64_splat';
  readonly storeLane: 'v128.store32_lane' | 'v128.store64_lane';
  readonly add: (a: Code<'v128'>, b: Code<'v128'>) => Code<'v128'>;
  readonly mul: (a: Code<'v128'>, b: Code<'v128'>) => Code<'v128'>;
  /** `a · b + c` with one rounding, where the engine has relaxed SIMD. */
  readonly fma: ((a: Code<'v128'>, b: Code<'v128'>, c: Code<'v128'>) => Code<'v128'>) | null;
}

const four = {
  bytes: 4,
  lanes: 4,
  splatLoad: 'v128.load32_splat',
  storeLane: 'v128.store32_lane',
} as const;

const two = {
  bytes: 8,
  lanes: 2,
  splatLoad: 'v128.load64_splat',
  storeLane: 'v128.store64_lane',
} as const;

const FLOAT32: ElementType = {
  ...four,
  dtype: 'float32',
  add: (a, b) => op('f32x4.add', a, b),
  mul: (a, b) => op('f32x4.mul', a, b),
  fma: (a, b, c) => op('f32x4.relaxed_madd', a, b, c),
};

const FLOAT64: ElementType = {
  ...two,
  dtype: 'float64',
  add: (a, b) => op('f64x2.add', a, b),
  mul: (a, b) => op('f64x2.mul', a, b),
  fma: (a, b, c) => op('f64x2.relaxed_madd', a, b, c),
};

const INT32: ElementType = {
  ...four,
  dtype: 'int32',
  add: (a, b) => op('i32x4.add', a, b),
  mul: (a, b) => op('i32x4.mul', a, b),
  fma: null,
};

const INT64: ElementType = {
  ...two,
  dtype: 'int64',
  add: (a, b) => op('i64x2.add', a, b),
  mul: (a, b) => op('i64x2.mul', a, b),
  fma: null,
};

/** The vector form of an accumulator type, or null when matrix products have none. */
export function elementType(dtype: DType): ElementType | null {
  for (const type of [FLOAT32, FLOAT64, INT32, INT64]) if (type.dtype === dtype) return type;
  return null;
}

/** `acc + a · b`, fused when `relaxed` says that the engine can. */
export function multiplyAdd(
  type: ElementType,
  relaxed: boolean,
  acc: Code<'v128'>,
  a: Code<'v128'>,
  b: Code<'v128'>,
): Code<'v128'> {
  if (relaxed && type.fma !== null) return type.fma(a, b, acc);
  return type.add(acc, type.mul(a, b));
}
