/**
 * @file `MpiLibrary`: a loaded MPI library, its functions bound for the thread that owns it.
 *
 * Every function takes addresses as numbers and handles as its binary interface has them; what MPI reports as an
 * error is thrown.
 */
import { type Abi, type Handle, abiOf } from './abi.js';
import type { Koffi, NativeFunction, NativeLibrary } from './koffi.js';
import type { Cell, NativeMemory } from './native-memory.js';
import { messageOf } from '@tessera/shared';

/** Arguments of each function: `h` handle, `p` address, `i` int, `H` address of a handle. */
const SIGNATURES = {
  Init_thread: 'ppip',
  Finalize: '',
  Get_library_version: 'pp',
  Error_string: 'ipp',
  Comm_rank: 'hp',
  Comm_size: 'hp',
  Comm_idup: 'hHH',
  Comm_split: 'hiiH',
  Comm_free: 'H',
  Comm_set_errhandler: 'hh',
  Op_create: 'piH',
  Reduce_local: 'ppihh',
  Test: 'Hpp',
  Cancel: 'H',
  Request_free: 'H',
  Iprobe: 'iihpp',
  Get_count: 'php',
  Isend: 'pihiihH',
  Irecv: 'pihiihH',
  Recv: 'pihiihp',
  Ibarrier: 'hH',
  Iallreduce: 'ppihhhH',
  Ireduce: 'ppihhihH',
  Ibcast: 'pihihH',
  Iallgather: 'pihpihhH',
  Ireduce_scatter_block: 'ppihhhH',
  Ialltoall: 'pihpihhH',
  Ialltoallv: 'ppphppphhH',
} as const;

/** A function of MPI, without its prefix. */
export type MpiFunction = keyof typeof SIGNATURES;

const NOT_FOUND = 'none of them could be loaded';

/** See the file header. */
export class MpiLibrary {
  readonly abi: Abi;
  readonly #functions = new Map<MpiFunction, NativeFunction>();
  readonly #text: Cell;

  private constructor(
    private readonly library: NativeLibrary,
    file: string,
    memory: NativeMemory,
  ) {
    this.abi = abiOf(file, (symbol) => addressIn(library, symbol));
    this.#text = memory.cell(8192 + 64);
    for (const name of Object.keys(SIGNATURES) as MpiFunction[]) this.#bind(name);
  }

  /** Loads the first library that is there. @throws what was tried */
  static load(koffi: Koffi, files: readonly string[], memory: NativeMemory): MpiLibrary {
    const tried: string[] = [];
    for (const file of files) {
      let library: NativeLibrary;
      try {
        library = koffi.load(file);
      } catch (error) {
        tried.push(`${file} (${messageOf(error)})`);
        continue;
      }
      return new MpiLibrary(library, file, memory);
    }
    throw new Error(`${NOT_FOUND}: ${tried.join(', ')}`);
  }

  #bind(name: MpiFunction): void {
    const kinds: Readonly<Record<string, string>> = {
      h: this.abi.handle,
      H: 'intptr_t',
      p: 'intptr_t',
      i: 'int',
    };
    const args = [...SIGNATURES[name]].map((kind) => kinds[kind]);
    this.#functions.set(name, this.library.func(`MPI_${name}`, 'int', args));
  }

  /** Calls a function of MPI. @throws what MPI reports */
  call(name: MpiFunction, ...args: readonly Handle[]): void {
    const status = this.#functions.get(name)!(...args);
    if (status !== 0) throw new Error(`MPI_${name}: ${this.#errorText(status)}`);
  }

  #errorText(status: number): string {
    const { address, words } = this.#text;
    this.#functions.get('Error_string')!(status, address + 64, address);
    return this.#readText(words[0]!);
  }

  #readText(length: number): string {
    const text = this.#text.bytes.slice(64, 64 + length);
    return new TextDecoder().decode(text).replaceAll('\0', '').trim();
  }

  /** The first line of what the library says about itself. */
  version(): string {
    this.call('Get_library_version', this.#text.address + 64, this.#text.address);
    return this.#readText(this.#text.words[0]!).split('\n')[0]!.replaceAll(/\s+/g, ' ').trim();
  }

  /** The handle that a function has written to memory. */
  readHandle(cell: Cell, byteOffset: number = 0): Handle {
    if (this.abi.handle === 'int') return cell.words[byteOffset / 4]!;
    return new BigInt64Array(cell.bytes.buffer, byteOffset, 1)[0]!;
  }
}

function addressIn(library: NativeLibrary, symbol: string): Handle | null {
  try {
    return library.symbol(symbol);
  } catch {
    return null;
  }
}
