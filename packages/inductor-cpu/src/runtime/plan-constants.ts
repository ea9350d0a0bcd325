/**
 * @file Memory for a plan's embedded constants.
 */
import type { ExecutionPlan } from '@tessera/inductor-core';
import { type DType, cpuHeap, itemSize } from '@tessera/tensor';
import { numberToBfloat, numberToHalf } from '@tessera/tensor/internal';

/** Copies the constants to the heap and gives their addresses. */
export function placeConstants(plan: Pick<ExecutionPlan, 'constants'>): number[] {
  return plan.constants.map(({ dtype, values }) => {
    const ptr = cpuHeap().alloc(values.length * itemSize(dtype));
    writeValues(dtype, ptr, values);
    return ptr;
  });
}

function writeValues(dtype: DType, ptr: number, values: readonly number[]): void {
  const { f32, f64, i32, i64, i16, i8, u8, u16 } = cpuHeap();
  switch (dtype) {
    case 'float32':
      f32.set(values, ptr / 4);
      break;
    case 'float64':
      f64.set(values, ptr / 8);
      break;
    case 'int64':
      i64.set(
        values.map((value) => BigInt(value)),
        ptr / 8,
      );
      break;
    case 'int32':
      i32.set(values, ptr / 4);
      break;
    case 'int16':
      i16.set(values, ptr / 2);
      break;
    case 'int8':
      i8.set(values, ptr);
      break;
    case 'uint8':
      u8.set(values, ptr);
      break;
    case 'bool':
      u8.set(
        values.map((value) => (value === 0 ? 0 : 1)),
        ptr,
      );
      break;
    case 'float16':
      u16.set(values.map(numberToHalf), ptr / 2);
      break;
    case 'bfloat16':
      u16.set(values.map(numberToBfloat), ptr / 2);
      break;
  }
}
