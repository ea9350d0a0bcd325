/**
 * @file `Patience`: when to stop waiting for another rank, and what to say then.
 */
import type { ControlChannel } from './control-channel.js';
import { WorkerFailure, mismatch } from './failure.js';
import type { Group, Position } from './group.js';
import type { Task } from './progress.js';

/** How long asked ranks have to answer, in milliseconds. */
const ANSWER_MS = 3_000;
/**
 * A rank that failed is not the news of those that waited for it: the launcher ends them first. Nor is one that left
 * while it waited itself: word of the rank that it waited for is on its way.
 */
const GRACE_MS = 3_000;
/** A message of a rank that has ended may still be on its way. */
const DELIVERY_MS = 1_000;

/** That a process has ended, or is about to. */
export interface Departure {
  readonly failed: boolean;
  readonly at: number;
  /** Collectives of each group. */
  readonly groups: Readonly<Record<string, Progress>>;
}

/** How many collectives of a group a rank has begun, and completed. */
export interface Progress {
  readonly begun: number;
  readonly completed: number;
}

/** `0, 1 and 3`. */
export function listRanks(ranks: readonly number[]): string {
  const names = ranks.map(String);
  const last = names.pop();
  const list = names.length === 0 ? last : `${names.join(', ')} and ${last}`;
  return `${ranks.length === 1 ? 'rank' : 'ranks'} ${list}`;
}

/** See the file header. */
export class Patience {
  readonly departures: Map<number, Departure> = new Map();
  /** Answers to the question where the ranks are, by rank of the world. */
  readonly #answers = new Map<number, Position | null>();

  constructor(private readonly control: ControlChannel) {}

  /** A rank has answered. */
  heard(from: number, position: Position | null): void {
    this.#answers.set(from, position);
  }

  /** What to check while a collective waits; it may give up, which takes a while. */
  checkOf(group: Group): () => Task | null {
    const deadline = performance.now() + group.timeoutMs;
    const here = group.begun;
    return () => {
      if (group.broken !== null) throw new WorkerFailure(group.broken);
      const now = performance.now();
      this.#refuseDeparted(group, here, now);
      return now > deadline ? this.#giveUp(group) : null;
    };
  }

  #refuseDeparted(group: Group, collective: number, now: number): void {
    if (this.departures.size === 0) return;
    for (const [rank, worldRank] of group.worldRanks.entries()) {
      const gone = this.departures.get(worldRank);
      if (gone === undefined) continue;
      const { begun, completed } = gone.groups[group.key] ?? { begun: 0, completed: 0 };
      if (completed >= collective) continue;
      if ((gone.failed || begun >= collective) && now - gone.at < GRACE_MS) continue;
      throw mismatch(
        `Rank ${rank} has ended${gone.failed ? ' with an error' : ''} after ${completed} collectives of group '${group.key}', and this rank waits for it in collective ${collective}: ${group.last}.`,
      );
    }
  }

  /** What to check while a message is awaited from `peer`, or goes there. */
  checkPeer(group: Group, peer: number, what: string): () => null {
    const deadline = performance.now() + group.timeoutMs;
    return () => {
      const now = performance.now();
      const gone = this.departures.get(group.worldRanks[peer]!);
      if (gone !== undefined && now - gone.at > (gone.failed ? GRACE_MS : DELIVERY_MS))
        throw mismatch(`Rank ${peer} has ended, and this rank waits for it in ${what}.`);
      if (now < deadline) return null;
      throw new WorkerFailure({
        code: 'distributed-timeout',
        message: `${what} waited longer than ${group.timeoutMs} ms for rank ${peer}.`,
        hints: ['Check that the other rank makes the matching call, with the same tag.'],
      });
    };
  }

  /** What to check while the group of all processes is made. */
  checkStart(timeoutMs: number): () => null {
    const deadline = performance.now() + timeoutMs;
    return () => {
      for (const rank of this.departures.keys())
        throw mismatch(`Rank ${rank} has ended, and this rank waits for it in initProcessGroup().`);
      if (performance.now() < deadline) return null;
      throw new WorkerFailure({
        code: 'distributed-timeout',
        message: `initProcessGroup() waited longer than ${timeoutMs} ms for the other processes.`,
        hints: ['Every process that the launcher started must call it.'],
      });
    };
  }

  /** Asks who is missing, tells everybody, and throws. */
  *#giveUp(group: Group): Task {
    const others = group.worldRanks.filter((rank) => rank !== this.control.rank);
    this.#answers.clear();
    for (const rank of others) this.control.send(rank, { type: 'where', group: group.key });
    const until = performance.now() + ANSWER_MS;
    while (performance.now() < until && others.some((rank) => !this.#answers.has(rank)))
      yield 'waiting';
    const missing: number[] = [];
    const where: string[] = [];
    for (const [rank, worldRank] of group.worldRanks.entries()) {
      if (worldRank === this.control.rank) continue;
      const position = this.#answers.get(worldRank);
      if (position !== undefined && position !== null && position.begun >= group.begun) continue;
      missing.push(rank);
      if (position === undefined) where.push(`rank ${rank} does not answer`);
      else if (position === null) where.push(`rank ${rank} is not in the group`);
      else where.push(`rank ${rank} is after collective ${position.begun}, ${position.last}`);
    }
    const whom = missing.length === 0 ? 'ranks that have all begun it' : listRanks(missing);
    const failure = {
      code: 'distributed-timeout',
      message: `Collective ${group.begun} of group '${group.key}', ${group.last}, waited longer than ${group.timeoutMs} ms for ${whom}${where.length === 0 ? '' : ` (${where.join('; ')})`}. Rank ${group.rank} gave up.`,
      hints: [
        'Every rank must call this collective; a rank that takes a branch of its own, has fewer batches or is stuck does not.',
        'Where ranks are only slow, raise the timeout: initProcessGroup({ timeout: milliseconds }).',
      ],
    } as const;
    group.broken = failure;
    for (const rank of others)
      this.control.send(rank, { type: 'broken', group: group.key, failure });
    throw new WorkerFailure(failure);
  }
}
