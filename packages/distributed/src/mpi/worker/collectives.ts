/**
 * @file The collectives: each is agreed upon, started with MPI's nonblocking function, and completed.
 */
import type { CollectiveCommand } from '../protocol.js';
import type { Agreement } from './agreement.js';
import { mismatch } from './failure.js';
import type { Group } from './group.js';
import type { MpiLibrary } from './library.js';
import type { NativeMemory } from './native-memory.js';
import type { Patience } from './patience.js';
import { type Task, completion } from './progress.js';
import { ITEM_BYTES, type Reductions, divideSum } from './reductions.js';

/** Running totals, from zero: where each part begins. */
function offsets(counts: readonly number[]): number[] {
  let total = 0;
  return counts.map((count) => (total += count) - count);
}

/** See the file header. */
export class Collectives {
  constructor(
    private readonly mpi: MpiLibrary,
    private readonly memory: NativeMemory,
    private readonly reductions: Reductions,
    private readonly agreement: Agreement,
    private readonly patience: Patience,
  ) {}

  /** Runs one; every rank of the group runs the same. @throws distributed-mismatch, distributed-timeout */
  *run(group: Group, command: CollectiveCommand): Task {
    group.begun++;
    group.last = command.print;
    yield* this.agreement.reach(group, `${group.begun} ${command.print}`);
    if (command.kind === 'all_to_all') yield* this.#agreeOnCounts(group, command);
    if (command.kind !== 'barrier') yield* this.#transfer(group, command);
    group.completed = group.begun;
  }

  *#transfer(group: Group, command: CollectiveCommand): Task {
    if (!this.#start(group, command)) return;
    yield* completion(this.mpi, group.request, 'active', this.patience.checkOf(group));
    const { op, kind, root, output, dtype } = command;
    const reduced =
      kind === 'all_reduce' ||
      kind === 'reduce_scatter' ||
      (kind === 'reduce' && root === group.rank);
    if (op === 'avg' && reduced)
      divideSum(dtype, this.memory.bytes(output, ITEM_BYTES[dtype]), group.size);
  }

  /** Returns false where there is nothing to send. */
  #start(group: Group, command: CollectiveCommand): boolean {
    const { mpi, reductions } = this;
    const { kind, dtype, op, root, input, output } = command;
    const { inPlace } = mpi.abi;
    const { comm } = group;
    const request = group.request.address;
    const empty = kind === 'all_to_all' ? false : input.count === 0 && output.count === 0;
    if (empty) return false;
    const from = this.#locate(command, 'input');
    const to = this.#locate(command, 'output');
    const type = reductions.type(dtype);
    switch (kind) {
      case 'all_reduce':
        mpi.call(
          'Iallreduce',
          inPlace,
          to,
          output.count,
          type,
          reductions.op(dtype, op),
          comm,
          request,
        );
        return true;
      case 'reduce': {
        const source = group.rank === root ? inPlace : from;
        mpi.call(
          'Ireduce',
          source,
          to,
          input.count,
          type,
          reductions.op(dtype, op),
          root,
          comm,
          request,
        );
        return true;
      }
      case 'broadcast':
        mpi.call('Ibcast', to, output.count, type, root, comm, request);
        return true;
      case 'all_gather':
        mpi.call('Iallgather', from, input.count, type, to, input.count, type, comm, request);
        return true;
      case 'reduce_scatter':
        mpi.call(
          'Ireduce_scatter_block',
          from,
          to,
          output.count,
          type,
          reductions.op(dtype, op),
          comm,
          request,
        );
        return true;
      case 'all_to_all':
        this.#startAllToAll(group, command, from, to);
        return true;
      case 'barrier':
        return false;
    }
  }

  /** An address; of something else where there are no bytes. */
  #locate(command: CollectiveCommand, side: 'input' | 'output'): number {
    const place = command[side];
    return place.count === 0 && place.buffer !== null ? 0 : this.memory.locate(place);
  }

  #startAllToAll(group: Group, command: CollectiveCommand, from: number, to: number): void {
    const { sendCounts, receiveCounts, dtype } = command;
    // MPI reads the four lists until it is done; the group keeps them as long.
    const lists = this.memory.cell(16 * group.size);
    const { size } = group;
    for (const [i, list] of [
      sendCounts,
      offsets(sendCounts),
      receiveCounts,
      offsets(receiveCounts),
    ].entries())
      lists.words.set(list, i * size);
    group.kept = lists;
    const at = (list: number): number => lists.address + 4 * size * list;
    const type = this.reductions.type(dtype);
    this.mpi.call(
      'Ialltoallv',
      from,
      at(0),
      at(1),
      type,
      to,
      at(2),
      at(3),
      type,
      group.comm,
      group.request.address,
    );
  }

  /** What a rank sends to another is what that one expects: else all ranks refuse. */
  *#agreeOnCounts(group: Group, command: CollectiveCommand): Task {
    const { mpi } = this;
    const { size } = group;
    const cell = this.memory.cell(8 * size);
    cell.words.set(command.sendCounts);
    const { int32 } = mpi.abi.types;
    const to = cell.address + 4 * size;
    mpi.call('Ialltoall', cell.address, 1, int32, to, 1, int32, group.comm, group.request.address);
    yield* completion(mpi, group.request, 'active', this.patience.checkOf(group));
    const arriving = [...cell.words.subarray(size, 2 * size)];
    const wrong = arriving.findIndex((count, rank) => count !== command.receiveCounts[rank]);
    const own =
      wrong < 0
        ? ''
        : `rank ${group.rank} expects ${command.receiveCounts[wrong]} elements from rank ${wrong}, which sends ${arriving[wrong]}`;
    const said = yield* this.agreement.exchange(group, own);
    const problems = said.filter((text) => text !== '');
    if (problems.length > 0)
      throw mismatch(
        `all_to_all, collective ${group.begun} of group '${group.key}': ${problems.join('; ')}. Nothing was sent.`,
      );
  }
}
