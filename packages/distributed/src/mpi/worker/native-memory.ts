/**
 * @file Addresses of JavaScript's memory, and cells that C functions write results to.
 *
 * Everything is shared memory, or memory that arrays were made over, which the engine never moves.
 */
import type { Place } from '../protocol.js';
import type { Koffi } from './koffi.js';

/** A few words at a fixed address. */
export interface Cell {
  readonly address: number;
  readonly words: Int32Array;
  readonly bytes: Uint8Array;
}

/** See the file header. */
export class NativeMemory {
  readonly #move: (to: ArrayBufferView, from: ArrayBufferView, bytes: number) => number;
  readonly #heap: WebAssembly.Memory | null;
  readonly #heapAddress: number = 0;

  constructor(koffi: Koffi, heap: WebAssembly.Memory | null) {
    // memmove returns its first argument, which is an address.
    const move = koffi.load(null).func('memmove', 'uintptr_t', ['void *', 'void *', 'size_t']);
    this.#move = (to, from, bytes) => Number(move(to, from, bytes));
    this.#heap = heap;
    // A shared WebAssembly memory grows in place.
    if (heap !== null) this.#heapAddress = this.addressOf(heap.buffer);
  }

  /** Address of the first byte. The buffer must not be empty. */
  addressOf(buffer: SharedArrayBuffer | ArrayBuffer): number {
    const bytes = new Uint8Array(buffer);
    return this.#move(bytes, bytes, 0);
  }

  /** Address of elements of `itemSize` bytes. */
  locate({ buffer, offset }: Place): number {
    return (buffer === null ? this.#heapAddress : this.addressOf(buffer)) + offset;
  }

  /** The bytes of a place, to be read or written here. */
  bytes({ buffer, offset, count }: Place, itemSize: number): Uint8Array {
    return new Uint8Array(buffer ?? this.#heap!.buffer, offset, count * itemSize);
  }

  /** New memory for results of C functions: at least `bytes`, all zero. */
  cell(bytes: number): Cell {
    const buffer = new SharedArrayBuffer(Math.max(64, Math.ceil(bytes / 8) * 8));
    return {
      address: this.addressOf(buffer),
      words: new Int32Array(buffer),
      bytes: new Uint8Array(buffer),
    };
  }
}
