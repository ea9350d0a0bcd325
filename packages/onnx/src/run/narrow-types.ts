/**
 * @file Element types that a dtype does not tell: uint4 is held by uint8, uint16 by int32.
 *
 * Values that come from a file or a cast are noted here with their type, for operators that depend on its range.
 */
import type { DType } from '@tessera/tensor';
import type { ElementType } from '../model/element-types.js';

const noted = new WeakMap<object, ElementType>();

const BITS: Partial<Record<DType, number>> = {
  int16: 16,
  float16: 16,
  bfloat16: 16,
  int8: 8,
  uint8: 8,
  bool: 8,
};

/** Notes the type of a value, where its dtype does not tell it. */
export function noteType<T extends { readonly dtype: DType }>(value: T, type: ElementType): T {
  if (type.name === 'uint16' || type.name === 'uint32' || type.bits < 8) noted.set(value, type);
  // The same tensor may be an input of a model that calls it something else.
  else noted.delete(value);
  return value;
}

/** The type that was noted for a value. */
export function notedType(value: object): ElementType | undefined {
  return noted.get(value);
}

/** The element type of a value. */
export function typeOf(value: { readonly dtype: DType }): ElementType {
  const { dtype } = value;
  const wide = dtype === 'float64' || dtype === 'int64' ? 64 : 32;
  return (
    noted.get(value) ?? { name: dtype, dtype, bits: BITS[dtype] ?? wide, signed: dtype !== 'uint8' }
  );
}

/** The least and greatest integer of a type. */
export function rangeOf({ bits, signed }: ElementType): readonly [low: number, high: number] {
  return signed ? [-(2 ** (bits - 1)), 2 ** (bits - 1) - 1] : [0, 2 ** bits - 1];
}
