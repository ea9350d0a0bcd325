/**
 * @file What comes before every collective: waiting until all ranks have arrived, and seeing that they want the same.
 *
 * Each rank contributes a hash of what it is about to do to a reduction of 16 bytes, which costs what a barrier
 * does. Where the largest and the smallest differ, all ranks exchange the words behind the hashes and all of
 * them refuse, before anything is written.
 */
import { WorkerFailure, mismatch } from './failure.js';
import type { Group } from './group.js';
import type { MpiLibrary } from './library.js';
import type { NativeMemory } from './native-memory.js';
import { type Patience, listRanks } from './patience.js';
import { type Task, completion } from './progress.js';

/** Bytes of the words that are exchanged when ranks do not agree. */
const TEXT_BYTES = 512;

/** Two hashes of 31 bits. */
function hashes(text: string): readonly [number, number] {
  let a = 0x811c9dc5;
  let b = 0x9747b28c;
  for (let i = 0; i < text.length; i++) {
    const code = text.charCodeAt(i);
    a = Math.imul(a ^ code, 0x01000193);
    b = Math.imul(b ^ code, 0x5bd1e995);
    b ^= b >>> 15;
  }
  return [a >>> 1, b >>> 1];
}

/** See the file header. */
export class Agreement {
  constructor(
    private readonly mpi: MpiLibrary,
    private readonly memory: NativeMemory,
    private readonly patience: Patience,
  ) {}

  /** @throws distributed-mismatch, on every rank; distributed-timeout */
  *reach(group: Group, print: string): Task {
    // The ranks that gave up will never take part again.
    if (group.broken !== null) throw new WorkerFailure(group.broken);
    if (group.size === 1) return;
    const { mpi } = this;
    const { words, address } = group.sums;
    const [a, b] = hashes(print);
    words.set([a, -a, b, -b]);
    const { inPlace, types, ops } = mpi.abi;
    const at = group.request.address;
    mpi.call('Iallreduce', inPlace, address, 4, types.int32, ops.max, group.comm, at);
    yield* completion(mpi, group.request, 'waiting', this.patience.checkOf(group));
    if (words[0] !== -words[1]! || words[2] !== -words[3]!) yield* this.#explain(group, print);
  }

  /** Throws what the ranks are about to do. */
  *#explain(group: Group, print: string): Task {
    const ranksBy = new Map<string, number[]>();
    const said = yield* this.exchange(group, print);
    for (const [rank, text] of said.entries())
      ranksBy.set(text, [...(ranksBy.get(text) ?? []), rank]);
    const sides = [...ranksBy].map(
      ([text, ranks]) => `${listRanks(ranks)}: ${text.replace(/^\d+ /, '')}`,
    );
    throw mismatch(
      `The ranks of group '${group.key}' do not call the same collective number ${group.begun}: ${sides.join('; ')}. Nothing was sent.`,
    );
  }

  /** A line of text of every rank, by rank; all ranks are there. */
  *exchange(group: Group, line: string): Task<string[]> {
    const { mpi } = this;
    const own = this.memory.cell(TEXT_BYTES);
    const all = this.memory.cell(TEXT_BYTES * group.size);
    own.bytes.set(new TextEncoder().encode(line).subarray(0, TEXT_BYTES));
    const { uint8 } = mpi.abi.types;
    mpi.call(
      'Iallgather',
      own.address,
      TEXT_BYTES,
      uint8,
      all.address,
      TEXT_BYTES,
      uint8,
      group.comm,
      group.request.address,
    );
    yield* completion(mpi, group.request, 'active', this.patience.checkOf(group));
    return group.worldRanks.map((_, rank) => {
      const bytes = all.bytes.slice(rank * TEXT_BYTES, (rank + 1) * TEXT_BYTES);
      return new TextDecoder().decode(bytes).replaceAll('\0', '');
    });
  }
}
