/**
 * @file Which MPI type and operation reduce a dtype.
 *
 * float16 and bfloat16 are user-defined operations on 16-bit words, and so are the least and largest of float32 and
 * float64: what MPI's give where a value is NaN depends on the order, and differs between ranks. A bool is a byte that
 * is 0 or 1: its sum is "any" and its product "all", as in PyTorch. An average is a sum, divided when it is complete.
 */
import type { DType } from '@tessera/tensor';
import type { ReduceOp } from '../../communicator.js';
import type { Handle, NativeOp, NativeType } from './abi.js';
import { type HalfOp, type HalfType, combineHalves, divideHalves } from './half-arithmetic.js';
import type { Koffi } from './koffi.js';
import type { MpiLibrary } from './library.js';
import type { NativeMemory } from './native-memory.js';

/** How to hand elements of a dtype to MPI. */
const NATIVE: Readonly<Record<DType, NativeType>> = {
  float32: 'float32',
  float64: 'float64',
  float16: 'uint16',
  bfloat16: 'uint16',
  int64: 'int64',
  int32: 'int32',
  int16: 'int16',
  int8: 'int8',
  uint8: 'uint8',
  bool: 'uint8',
};

/** Bytes of an element; not imported from `@tessera/tensor`, as the worker's text would carry it. */
export const ITEM_BYTES: Readonly<Record<DType, number>> = {
  float32: 4,
  float64: 8,
  float16: 2,
  bfloat16: 2,
  int64: 8,
  int32: 4,
  int16: 2,
  int8: 1,
  uint8: 1,
  bool: 1,
};

/** Operations on bool, by what they are on bytes. */
const ON_BOOL: Readonly<Partial<Record<ReduceOp, NativeOp>>> = { sum: 'max', product: 'min' };

function isHalf(dtype: DType): dtype is HalfType {
  return dtype === 'float16' || dtype === 'bfloat16';
}

type Numbers = Float32Array | Float64Array;

/** `to[i]` becomes the less or the larger of both, NaN where one is. */
function takeExtreme(op: 'min' | 'max', from: Numbers, to: Numbers): void {
  if (op === 'min') for (let i = 0; i < to.length; i++) to[i] = Math.min(from[i]!, to[i]!);
  else for (let i = 0; i < to.length; i++) to[i] = Math.max(from[i]!, to[i]!);
}

/** See the file header. */
export class Reductions {
  /** Operations of this package, by dtype and operation. */
  readonly #own = new Map<string, Handle>();

  constructor(
    private readonly koffi: Koffi,
    private readonly mpi: MpiLibrary,
    private readonly memory: NativeMemory,
  ) {}

  type(dtype: DType): Handle {
    return this.mpi.abi.types[NATIVE[dtype]];
  }

  op(dtype: DType, op: ReduceOp): Handle {
    const plain = op === 'avg' ? 'sum' : op;
    if (isHalf(dtype))
      return this.#ownOp(dtype, plain, Uint16Array, (from, to) =>
        combineHalves(dtype, plain as HalfOp, from, to),
      );
    const isExtreme = plain === 'min' || plain === 'max';
    if (isExtreme && (dtype === 'float32' || dtype === 'float64'))
      return this.#ownOp<Numbers>(
        dtype,
        plain,
        dtype === 'float32' ? Float32Array : Float64Array,
        (from, to) => takeExtreme(plain, from, to),
      );
    return this.mpi.abi.ops[(dtype === 'bool' ? ON_BOOL[plain] : undefined) ?? plain];
  }

  #ownOp<A>(
    dtype: DType,
    op: ReduceOp,
    View: new (buffer: ArrayBuffer) => A,
    combine: (from: A, to: A) => void,
  ): Handle {
    const name = `${dtype} ${op}`;
    const known = this.#own.get(name);
    if (known !== undefined) return known;
    const { koffi, mpi } = this;
    // Arguments: elements to combine, elements that receive the result, address of their number, of their type.
    const callback = (from: number, to: number, length: number): void => {
      const [count] = new Int32Array(koffi.view(BigInt(length), 4));
      const elements = (address: number): A =>
        new View(koffi.view(BigInt(address), ITEM_BYTES[dtype] * count!));
      combine(elements(from), elements(to));
    };
    const type = koffi.pointer(
      koffi.proto(`void Tessera_${dtype}_${op}(intptr_t, intptr_t, intptr_t, intptr_t)`),
    );
    const cell = this.memory.cell(8);
    mpi.call('Op_create', koffi.register(callback, type), 1, cell.address);
    const made = mpi.readHandle(cell);
    this.#own.set(name, made);
    return made;
  }
}

/** Divides a sum over `ranks` ranks, of a floating-point type. */
export function divideSum(dtype: DType, bytes: Uint8Array, ranks: number): void {
  const { buffer, byteOffset, byteLength } = bytes;
  if (isHalf(dtype)) {
    divideHalves(dtype, new Uint16Array(buffer, byteOffset, byteLength / 2), ranks);
    return;
  }
  const values =
    dtype === 'float32'
      ? new Float32Array(buffer, byteOffset, byteLength / 4)
      : new Float64Array(buffer, byteOffset, byteLength / 8);
  for (let i = 0; i < values.length; i++) values[i] = values[i]! / ranks;
}
