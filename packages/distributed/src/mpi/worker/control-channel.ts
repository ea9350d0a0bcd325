/**
 * @file `ControlChannel`: what workers tell each other beside the program's collectives.
 *
 * Where they are, when somebody waits too long for them; that a group is given up; that their process ends. It has
 * a communicator of its own, and workers look into it also while nothing is to do.
 */
import type { Failure } from '../protocol.js';
import type { Handle } from './abi.js';
import type { Position } from './group.js';
import type { MpiLibrary } from './library.js';
import type { Cell, NativeMemory } from './native-memory.js';
import type { Progress } from './patience.js';

/** Messages between workers. `group` is the key of one. */
export type ControlMessage =
  | { readonly type: 'where'; readonly group: string }
  | { readonly type: 'here'; readonly group: string; readonly position: Position | null }
  | { readonly type: 'broken'; readonly group: string; readonly failure: Failure }
  | {
      readonly type: 'leaving';
      readonly failed: boolean;
      /** Collectives of each group. */
      readonly groups: Readonly<Record<string, Progress>>;
    };

const TAG = 1;

/** See the file header. Ranks are those of the world. */
export class ControlChannel {
  readonly #flag: Cell;
  readonly #status: Cell;
  #unsent: { readonly request: Cell; readonly data: Cell }[] = [];

  constructor(
    private readonly mpi: MpiLibrary,
    private readonly memory: NativeMemory,
    readonly comm: Handle,
    readonly rank: number,
    readonly size: number,
  ) {
    this.#flag = memory.cell(8);
    this.#status = memory.cell(64);
  }

  send(to: number, message: ControlMessage): void {
    const text = new TextEncoder().encode(JSON.stringify(message));
    const data = this.memory.cell(text.length);
    data.bytes.set(text);
    const request = this.memory.cell(64);
    const { uint8 } = this.mpi.abi.types;
    this.mpi.call('Isend', data.address, text.length, uint8, to, TAG, this.comm, request.address);
    this.#unsent.push({ request, data });
  }

  sendToAll(message: ControlMessage): void {
    for (let to = 0; to < this.size; to++) if (to !== this.rank) this.send(to, message);
  }

  /** Whether everything that was sent is on its way. */
  get flushed(): boolean {
    this.#unsent = this.#unsent.filter(({ request }) => {
      this.mpi.call('Test', request.address, this.#flag.address, this.#status.address);
      return this.#flag.words[0] === 0;
    });
    return this.#unsent.length === 0;
  }

  /** The next message, if one is there. */
  receive(): { readonly from: number; readonly message: ControlMessage } | null {
    if (this.size === 1) return null;
    const { mpi } = this;
    const { anySource, sourceWord, types } = mpi.abi;
    const flag = this.#flag;
    const status = this.#status;
    mpi.call('Iprobe', anySource, TAG, this.comm, flag.address, status.address);
    if (flag.words[0] === 0) return null;
    const from = status.words[sourceWord]!;
    mpi.call('Get_count', status.address, types.uint8, flag.address);
    const length = flag.words[0]!;
    const data = this.memory.cell(length);
    mpi.call('Recv', data.address, length, types.uint8, from, TAG, this.comm, status.address);
    const text = new TextDecoder().decode(data.bytes.slice(0, length));
    return { from, message: JSON.parse(text) as ControlMessage };
  }
}
