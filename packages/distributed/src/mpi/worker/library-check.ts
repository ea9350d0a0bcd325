/**
 * @file `checkLibrary`: whether the handles of types and operations are what they should be.
 *
 * A table that does not fit a library would reduce the wrong thing without a word. Small numbers are reduced in
 * this process before anything else is.
 */
import type { NativeOp } from './abi.js';
import type { MpiLibrary } from './library.js';
import type { NativeMemory } from './native-memory.js';

/** What 12 and 10 become. */
const EXPECTED: Readonly<Record<NativeOp, number>> = {
  sum: 22,
  product: 120,
  min: 10,
  max: 12,
  band: 8,
  bor: 14,
  bxor: 6,
};

const ARRAYS = {
  int8: Int8Array,
  uint8: Uint8Array,
  int16: Int16Array,
  uint16: Uint16Array,
  int32: Int32Array,
  int64: BigInt64Array,
  float32: Float32Array,
  float64: Float64Array,
} as const;

/** See the file header. @throws what is wrong */
export function checkLibrary(mpi: MpiLibrary, memory: NativeMemory): void {
  const { types, ops, name } = mpi.abi;
  const cell = memory.cell(64);
  for (const [type, View] of Object.entries(ARRAYS)) {
    const values = new View(cell.bytes.buffer as never, 0, 2);
    for (const [op, expected] of Object.entries(EXPECTED)) {
      const isBitwise = op === 'band' || op === 'bor' || op === 'bxor';
      if (isBitwise && type.startsWith('float')) continue;
      const of = (value: number): never => (type === 'int64' ? BigInt(value) : value) as never;
      values[0] = of(12);
      values[1] = of(10);
      const { address } = cell;
      const second = address + View.BYTES_PER_ELEMENT;
      mpi.call('Reduce_local', address, second, 1, types[type as 'int8'], ops[op as NativeOp]);
      if (Number(values[1]) !== expected)
        throw new Error(
          `it is not the ${name} library that it seemed to be: ${op} of ${type} 12 and 10 is ${values[1]}`,
        );
    }
  }
}
