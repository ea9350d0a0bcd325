/**
 * A communicator over message ports, each rank in a thread of its own: what a third party writes, in its simplest form.
 *
 * Everything is made of messages: a collective gathers the buffers of all ranks everywhere, then each rank
 * computes what is its. It proves nothing about speed.
 */
import { type MessagePort } from 'node:worker_threads';
import {
  type Communicator,
  type HostBuffer,
  type Pending,
  type ReduceOp,
} from '@tessera/distributed';
import { TesseraError } from '@tessera/shared';
import { bufferOf, reduced, valuesOf } from '../../src/communicator-conformance/elements.js';

interface Message {
  readonly channel: string;
  readonly bytes: Uint8Array;
}

/** Messages of one rank, by who sent them and what they belong to. */
export class Mailbox {
  readonly #arrived = new Map<string, Uint8Array[]>();
  readonly #awaited = new Map<string, ((bytes: Uint8Array) => void)[]>();

  /** `ports[r]` leads to rank r; null is this rank. */
  constructor(private readonly ports: readonly (MessagePort | null)[]) {
    for (const [from, port] of ports.entries())
      port?.on('message', ({ channel, bytes }: Message) => this.#put(`${from} ${channel}`, bytes));
  }

  #put(key: string, bytes: Uint8Array): void {
    const waiting = this.#awaited.get(key)?.shift();
    if (waiting !== undefined) waiting(bytes);
    else this.#arrived.set(key, [...(this.#arrived.get(key) ?? []), bytes]);
  }

  send(to: number, channel: string, bytes: Uint8Array): void {
    const port = this.ports[to]!;
    if (port === null) this.#put(`${to} ${channel}`, bytes.slice());
    else port.postMessage({ channel, bytes: bytes.slice() });
  }

  receive(from: number, channel: string): Promise<Uint8Array> {
    const key = `${from} ${channel}`;
    const there = this.#arrived.get(key)?.shift();
    if (there !== undefined) return Promise.resolve(there);
    return new Promise((resolve) => {
      this.#awaited.set(key, [...(this.#awaited.get(key) ?? []), resolve]);
    });
  }
}

/** `ranks` are the mailbox's numbers of the ranks of this communicator. */
export function portCommunicator(
  mailbox: Mailbox,
  ranks: readonly number[],
  rank: number,
  name = 'world',
): Communicator {
  const size = ranks.length;
  let collectives = 0;
  let splits = 0;
  let tail: Promise<unknown> = Promise.resolve();

  const pending = (done: Promise<void>): Pending => ({
    done,
    waitSync: () => {
      throw new TesseraError('data-async-only', 'Message ports need an event loop.');
    },
  });

  /** Exchanges bytes with every rank, after the collectives before it. */
  const collective = (
    outgoing: (to: number) => Uint8Array,
    finish: (incoming: readonly Uint8Array[]) => void,
  ): Pending => {
    const channel = `${name} collective ${collectives++}`;
    const done = tail.then(async () => {
      for (let to = 0; to < size; to++) mailbox.send(ranks[to]!, channel, outgoing(to));
      finish(await Promise.all(ranks.map((from) => mailbox.receive(from, channel))));
    });
    tail = done.catch(() => undefined);
    return pending(done);
  };
  const part = (buffer: HostBuffer, from: number, count: number): Uint8Array => {
    const item = buffer.length === 0 ? 0 : buffer.byteLength / buffer.length;
    return buffer.view().subarray(from * item, (from + count) * item);
  };
  const combine = (buffer: HostBuffer, op: ReduceOp, all: readonly Uint8Array[]): Uint8Array => {
    const { dtype } = buffer;
    const lists = all.map((bytes) =>
      valuesOf({ ...buffer, view: () => bytes, length: 0, byteLength: bytes.length }),
    );
    return bufferOf(dtype, reduced(dtype, op, lists)).view();
  };
  const before = (counts: readonly number[], index: number): number =>
    counts.slice(0, index).reduce((sum, count) => sum + count, 0);

  return {
    backend: 'ports',
    rank,
    size,
    canBlock: false,
    allReduce: (buffer, op) =>
      collective(
        () => buffer.view(),
        (all) => buffer.view().set(combine(buffer, op, all)),
      ),
    reduce: (buffer, op, root) =>
      collective(
        () => buffer.view(),
        (all) => {
          if (rank === root) buffer.view().set(combine(buffer, op, all));
        },
      ),
    broadcast: (buffer, root) =>
      collective(
        () => buffer.view(),
        (all) => buffer.view().set(all[root]!),
      ),
    allGather: (input, output) =>
      collective(
        () => input.view(),
        (all) => {
          for (const [from, bytes] of all.entries()) output.view().set(bytes, from * bytes.length);
        },
      ),
    reduceScatter: (input, output, op) =>
      collective(
        (to) => part(input, to * output.length, output.length),
        (all) => output.view().set(combine(output, op, all)),
      ),
    allToAll: (input, output, sends, receives) =>
      collective(
        (to) => part(input, before(sends, to), sends[to]!),
        (all) => {
          for (const [from, bytes] of all.entries())
            part(output, before(receives, from), receives[from]!).set(bytes);
        },
      ),
    barrier: () =>
      collective(
        () => new Uint8Array(),
        () => undefined,
      ),
    send: (buffer, to, tag) => {
      mailbox.send(ranks[to]!, `${name} message ${tag}`, buffer.view());
      return pending(Promise.resolve());
    },
    receive: (buffer, from, tag) =>
      pending(
        mailbox
          .receive(ranks[from]!, `${name} message ${tag}`)
          .then((bytes) => buffer.view().set(bytes)),
      ),
    split: (wanted) => {
      const group = `${name}.${splits++}`;
      const place = wanted.indexOf(rank);
      const members = wanted.map((other) => ranks[other]!);
      return Promise.resolve(place < 0 ? null : portCommunicator(mailbox, members, place, group));
    },
    close: () => Promise.resolve(),
  };
}
