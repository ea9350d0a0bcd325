/**
 * @file Messages between two ranks: beside the collectives, and beside each other.
 *
 * MPI compares neither dtypes nor lengths. So a message is two: the elements, and what they are, with a tag of its own.
 * Both are posted at once: messages with one tag between two ranks arrive in their order, so the pairs stay together.
 */
import type { TransferCommand } from '../protocol.js';
import { WorkerFailure, mismatch } from './failure.js';
import type { Handle } from './abi.js';
import type { Group } from './group.js';
import type { MpiLibrary } from './library.js';
import type { Cell, NativeMemory } from './native-memory.js';
import type { Patience } from './patience.js';
import { type Task, completion } from './progress.js';
import { ITEM_BYTES, type Reductions } from './reductions.js';
import { messageOf } from '@tessera/shared';

/** The dtypes, by the number that a message has for them. */
const DTYPES = Object.keys(ITEM_BYTES);
/** From the tag of elements to that of what they are; tags of programs are less. */
const KIND_TAG = 1 << 15;

/** See the file header. */
export class Transfers {
  constructor(
    private readonly mpi: MpiLibrary,
    private readonly memory: NativeMemory,
    private readonly reductions: Reductions,
    private readonly patience: Patience,
  ) {}

  /** Sends or receives. @throws distributed-mismatch, distributed-timeout */
  *run(group: Group, command: TransferCommand): Task {
    const { mpi, memory } = this;
    const { dtype, data, peer, tag } = command;
    const receives = command.type === 'receive';
    const what = receives
      ? `recv(${dtype}[${data.count}], from ${peer}, tag ${tag})`
      : `send(${dtype}[${data.count}], to ${peer}, tag ${tag})`;
    const kind = memory.cell(8);
    if (!receives) kind.words.set([DTYPES.indexOf(dtype), data.count]);
    const post = (at: number, count: number, type: Handle, itsTag: number): Cell => {
      const request = memory.cell(64);
      const start = receives ? 'Irecv' : 'Isend';
      mpi.call(start, at, count, type, peer, itsTag, group.comm, request.address);
      return request;
    };
    const requests = [
      post(kind.address, 2, mpi.abi.types.int32, tag + KIND_TAG),
      post(
        data.count === 0 ? kind.address : memory.locate(data),
        data.count,
        this.reductions.type(dtype),
        tag,
      ),
    ];
    const check = this.patience.checkPeer(group, peer, what);
    const problem = yield* this.#complete(requests, check);
    const sent = DTYPES[kind.words[0]!];
    const count = kind.words[1];
    if (sent !== dtype) throw mismatch(`${what}: rank ${peer} sent ${sent}[${count}].`);
    if (count !== data.count) throw mismatch(`${what}: rank ${peer} sent ${count} elements.`);
    if (problem !== null) throw mismatch(`${what}: ${problem}`);
  }

  /** Waits for both; what MPI says is wrong with the elements, or null. @throws distributed-timeout */
  *#complete(requests: readonly Cell[], check: () => null): Task<string | null> {
    const { mpi } = this;
    try {
      for (const request of requests) yield* completion(mpi, request, 'waiting', check);
      return null;
    } catch (error) {
      // Elements that do not fit: it is said what was sent instead.
      if (!(error instanceof WorkerFailure)) return messageOf(error);
      // Nothing may arrive in memory that the program uses for something else by then.
      for (const request of requests) {
        // Its flag, see completion().
        if (request.words[2] !== 0) continue;
        mpi.call('Cancel', request.address);
        mpi.call('Request_free', request.address);
      }
      throw error;
    }
  }
}
