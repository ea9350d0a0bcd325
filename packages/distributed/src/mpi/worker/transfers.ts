/**
 * @file Messages between two ranks: beside the collectives, and beside each other.
 */
import type { TransferCommand } from '../protocol.js';
import { WorkerFailure, mismatch } from './failure.js';
import type { Group } from './group.js';
import type { MpiLibrary } from './library.js';
import type { NativeMemory } from './native-memory.js';
import type { Patience } from './patience.js';
import { type Task, completion } from './progress.js';
import type { Reductions } from './reductions.js';

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
    const request = memory.cell(64);
    const type = this.reductions.type(dtype);
    const at = data.count === 0 ? request.address : memory.locate(data);
    const start = receives ? 'Irecv' : 'Isend';
    mpi.call(start, at, data.count, type, peer, tag, group.comm, request.address);
    const check = this.patience.checkPeer(group, peer, what);
    try {
      yield* completion(mpi, request, 'waiting', check);
    } catch (error) {
      if (!(error instanceof WorkerFailure)) {
        const { message } = error as Error;
        const words = /truncated/i.test(message) ? `rank ${peer} sent more elements.` : message;
        throw mismatch(`${what}: ${words}`);
      }
      // Nothing may arrive in memory that the program uses for something else by then.
      mpi.call('Cancel', request.address);
      mpi.call('Request_free', request.address);
      throw error;
    }
    if (!receives) return;
    const count = memory.cell(8);
    mpi.call('Get_count', request.address + 16, type, count.address);
    if (count.words[0] !== data.count)
      throw mismatch(`${what}: rank ${peer} sent ${count.words[0]} elements.`);
  }
}
