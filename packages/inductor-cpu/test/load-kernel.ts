/**
 * @file Runs one generated kernel on plain numbers: the other side of comparisons with the interpreter.
 *
 * Buffers are placed in a fresh memory with canary bytes around them, so that a write outside a buffer
 * is an error.
 */
import { checksOf, type FusedKernel, type SizeValue } from '@tessera/inductor-core';
import type { Size } from '@tessera/shared';
import { itemSize, type DType } from '@tessera/tensor';
import {
  bfloatToNumber,
  halfToNumber,
  numberToBfloat,
  numberToHalf,
} from '@tessera/tensor/internal';
import { assembleModule } from '../src/emit/assemble-module.js';
import {
  argumentBlockBytes,
  KEPT,
  SCRATCH,
  scalarsOffset,
  type WasmKernel,
} from '../src/wasm-kernel.js';

/** Numbers of a buffer by parameter name. */
export type Buffers = Record<string, number[]>;

const CANARY = 0xa5;
const GUARD_BYTES = 128;

function write(view: DataView, at: number, dtype: DType, value: number): void {
  switch (dtype) {
    case 'float32':
      return view.setFloat32(at, value, true);
    case 'float64':
      return view.setFloat64(at, value, true);
    case 'float16':
      return view.setUint16(at, numberToHalf(value), true);
    case 'bfloat16':
      return view.setUint16(at, numberToBfloat(value), true);
    case 'int64':
      return view.setBigInt64(at, BigInt(value), true);
    case 'int32':
      return view.setInt32(at, value, true);
    case 'int16':
      return view.setInt16(at, value, true);
    default:
      return view.setUint8(at, value);
  }
}

function read(view: DataView, at: number, dtype: DType): number {
  switch (dtype) {
    case 'float32':
      return view.getFloat32(at, true);
    case 'float64':
      return view.getFloat64(at, true);
    case 'float16':
      return halfToNumber(view.getUint16(at, true));
    case 'bfloat16':
      return bfloatToNumber(view.getUint16(at, true));
    case 'int64':
      return Number(view.getBigInt64(at, true));
    case 'int32':
      return view.getInt32(at, true);
    case 'int16':
      return view.getInt16(at, true);
    case 'int8':
      return view.getInt8(at);
    default:
      return view.getUint8(at);
  }
}

/** An instantiated kernel. */
export interface LoadedKernel {
  readonly bytes: Uint8Array<ArrayBuffer>;
  /**
   * Runs all items, in `parts` calls of one launch from the last to the first; buffers are replaced by what the memory
   * holds afterwards. `valueOf` gives the values of symbolic sizes.
   */
  run(
    buffers: Buffers,
    scalars?: Readonly<Record<string, number>>,
    parts?: number,
    valueOf?: SizeValue,
  ): void;
  /** What the kernel keeps from call to call, as `KEPT` says. */
  kept(): number;
}

/** Instantiates a kernel. */
export function loadKernel(kernel: FusedKernel<Size>, code: WasmKernel): LoadedKernel {
  const memory = new WebAssembly.Memory({ initial: 64, maximum: 16384, shared: true });
  const bytes = assembleModule({
    memory: { minPages: 1, maxPages: 65536, shared: true },
    functions: [code.func],
    globals: [SCRATCH, KEPT],
  });
  const { exports } = new WebAssembly.Instance(new WebAssembly.Module(bytes), {
    env: { memory },
    math: Math as unknown as WebAssembly.ModuleImports,
  });
  const entry = exports[code.name] as (args: number, begin: number, end: number) => void;
  const kept = exports[KEPT.name] as WebAssembly.Global;
  return {
    bytes,
    kept: () => kept.value as number,
    run(buffers, scalars = {}, parts = 1, valueOf = Number) {
      const args = 64;
      const plain = argumentBlockBytes(
        kernel.params.length,
        kernel.scalars.length,
        checksOf(kernel).list.length,
      );
      const sizes = args + ((plain + 7) & ~7);
      const scratch = 64 * Math.ceil((sizes + 4 * code.sizes.length) / 64);
      const items = valueOf(code.workItems);
      let top = scratch + 64 * Math.ceil(code.scratchBytesPerThread / 64);
      const places = kernel.params.map(({ name, dtype }) => {
        const address = top + GUARD_BYTES;
        const data = buffers[name];
        if (data === undefined) throw new Error(`no buffer ${name}`);
        top = address + 64 * Math.ceil((data.length * itemSize(dtype)) / 64);
        return { name, dtype, address, data };
      });
      top += GUARD_BYTES;
      if (top > memory.buffer.byteLength)
        memory.grow(Math.ceil((top - memory.buffer.byteLength) / 65536));
      const view = new DataView(memory.buffer);
      const u8 = new Uint8Array(memory.buffer);
      u8.fill(CANARY, scratch + 64 * Math.ceil(code.scratchBytesPerThread / 64), top);
      places.forEach(({ dtype, address, data }, i) => {
        view.setUint32(args + 4 * i, address, true);
        data.forEach((value, k) => write(view, address + k * itemSize(dtype), dtype, value));
      });
      kernel.scalars.forEach(({ name }, i) =>
        view.setFloat64(
          args + scalarsOffset(kernel.params.length) + 8 * i,
          scalars[name] as number,
          true,
        ),
      );
      code.sizes.forEach((size, i) => view.setInt32(sizes + 4 * i, valueOf(size), true));
      (exports[SCRATCH.name] as WebAssembly.Global).value = scratch;
      kept.value = parts > 1 ? 1 : 0;
      for (let part = parts - 1; part >= 0; part--) {
        entry(args, Math.floor((items * part) / parts), Math.floor((items * (part + 1)) / parts));
      }
      for (const { name, dtype, address, data } of places) {
        const end = address + data.length * itemSize(dtype);
        for (const at of [...Array(GUARD_BYTES).keys()].flatMap((i) => [
          address - 1 - i,
          end + i,
        ])) {
          if (
            at < top &&
            (at < address || at >= end) &&
            places.every(
              (p) =>
                p.address === address ||
                at < p.address ||
                at >= p.address + p.data.length * itemSize(p.dtype),
            ) &&
            u8[at] !== CANARY
          ) {
            throw new Error(
              `kernel ${kernel.name} wrote outside buffer ${name}, at byte ${at - address} of ${end - address}`,
            );
          }
        }
        for (let k = 0; k < data.length; k++)
          data[k] = read(view, address + k * itemSize(dtype), dtype);
      }
    },
  };
}
