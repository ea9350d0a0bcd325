/**
 * @file Arithmetic on arrays of float16 and bfloat16: each step is rounded to the type, half to even.
 *
 * The arrays are anywhere in the process; they pass block by block through the memory of a WebAssembly module
 * (half-kernel.wat) that stays in the cache. Nothing is imported from `@tessera/tensor`, which has conversions too: this
 * is part of the worker's text, which would carry the whole library. A test compares every code with them.
 */
import { HALF_KERNEL } from './half-kernel.js';

/** Types of two bytes that MPI libraries do not know. */
export type HalfType = 'float16' | 'bfloat16';

/** What two values become. */
export type HalfOp = 'sum' | 'product' | 'min' | 'max';

/** From an address to an address, up to the end of what is written. */
type Pass = (from: number, to: number, end: number) => void;

/** What half-kernel.wat exports. */
interface HalfKernel {
  readonly memory: WebAssembly.Memory;
  readonly widen_float16: Pass;
  readonly widen_bfloat16: Pass;
  readonly narrow_float16: Pass;
  readonly narrow_bfloat16: Pass;
  readonly sum: Pass;
  readonly product: Pass;
  readonly divide: (to: number, end: number, divisor: number) => void;
  readonly min: Pass;
  readonly max: Pass;
}

/** Elements of a block. */
const BLOCK = 2048;

// Where the codes and the values of the two operands of a block are.
const FROM = 0;
const TO = 2 * BLOCK;
const FROM_VALUES = 4 * BLOCK;
const TO_VALUES = 8 * BLOCK;

interface Instance {
  readonly kernel: HalfKernel;
  readonly from: Uint16Array;
  readonly to: Uint16Array;
}

let made: Instance | null = null;

function instance(): Instance {
  if (made !== null) return made;
  const bytes = Uint8Array.from(atob(HALF_KERNEL), (char) => char.charCodeAt(0));
  const { exports } = new WebAssembly.Instance(new WebAssembly.Module(bytes));
  const kernel = exports as unknown as HalfKernel;
  const codes = (at: number): Uint16Array => new Uint16Array(kernel.memory.buffer, at, BLOCK);
  made = { kernel, from: codes(FROM), to: codes(TO) };
  return made;
}

/** Runs over an array in blocks. What `run` computes on elements behind a last, shorter block is not used. */
function inBlocks(
  codes: Uint16Array,
  place: Uint16Array,
  run: (at: number, count: number) => void,
): void {
  for (let at = 0; at < codes.length; at += BLOCK) {
    const block = codes.subarray(at, at + BLOCK);
    const count = block.length;
    place.set(block);
    run(at, Math.ceil(count / 8) * 8);
    block.set(count === BLOCK ? place : place.subarray(0, count));
  }
}

/** `to[i] = to[i] op from[i]`. */
export function combineHalves(
  type: HalfType,
  op: HalfOp,
  from: Uint16Array,
  to: Uint16Array,
): void {
  const { kernel, ...places } = instance();
  const widen = kernel[`widen_${type}`];
  const narrow = kernel[`narrow_${type}`];
  inBlocks(to, places.to, (at, count) => {
    places.from.set(from.subarray(at, Math.min(at + BLOCK, to.length)));
    widen(FROM, FROM_VALUES, FROM_VALUES + 4 * count);
    widen(TO, TO_VALUES, TO_VALUES + 4 * count);
    kernel[op](FROM_VALUES, TO_VALUES, TO_VALUES + 4 * count);
    narrow(TO_VALUES, TO, TO + 2 * count);
  });
}

/** `values[i] = values[i] / divisor`. */
export function divideHalves(type: HalfType, values: Uint16Array, divisor: number): void {
  const { kernel, to: place } = instance();
  inBlocks(values, place, (_at, count) => {
    kernel[`widen_${type}`](TO, TO_VALUES, TO_VALUES + 4 * count);
    kernel.divide(TO_VALUES, TO_VALUES + 4 * count, divisor);
    kernel[`narrow_${type}`](TO_VALUES, TO, TO + 2 * count);
  });
}
