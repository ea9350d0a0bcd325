/**
 * @file Creating the one WebAssembly memory that holds every CPU tensor.
 *
 * It is shared with worker threads where the host allows that. The maximum is what a 32-bit memory can
 * have, 4 GiB; hosts that refuse so large a reservation get a smaller one.
 */
import { TesseraError } from '@tessera/shared';

/** Bytes per WebAssembly page. */
export const WASM_PAGE_BYTES = 65536;

/** Maxima tried in turn, in WebAssembly pages: 4 GiB down to 256 MiB. */
const MAXIMUM_PAGES = [65536, 32768, 16384, 8192, 4096];

/** A memory and its limit in bytes. */
export interface WasmMemory {
  readonly memory: WebAssembly.Memory;
  readonly shared: boolean;
  readonly maximumBytes: number;
}

/** Creates the memory with `initialPages` WebAssembly pages. @throws out-of-memory when the host refuses every size */
export function createWasmMemory(initialPages: number): WasmMemory {
  const canShare = typeof SharedArrayBuffer !== 'undefined';
  let reason: unknown = null;
  for (const shared of canShare ? [true, false] : [false]) {
    for (const maximum of MAXIMUM_PAGES) {
      try {
        const memory = new WebAssembly.Memory({ initial: initialPages, maximum, shared });
        return { memory, shared, maximumBytes: maximum * WASM_PAGE_BYTES };
      } catch (error) {
        reason = error;
      }
    }
  }
  throw new TesseraError(
    'out-of-memory',
    `The host refused to reserve memory for the CPU heap: ${String(reason)}.`,
    {
      hints: ['Close other pages, or raise the memory limit.'],
    },
  );
}
