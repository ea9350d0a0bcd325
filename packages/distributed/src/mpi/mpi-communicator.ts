/**
 * @file The communicator over MPI.
 *
 * Buffers in the heap of CPU tensors are used in place. Others are copied to shared memory and back.
 */
import type { DType } from '@tessera/tensor';
import { cpuHeap } from '@tessera/tensor';
import type { Communicator, Pending, ReduceOp } from '../communicator.js';
import { describeCollective } from '../describe-collective.js';
import type { HostBuffer } from '../host-buffer.js';
import { type MpiEngine, type Request, mpiEngine } from './mpi-engine.js';
import type { CollectiveKind, Place } from './protocol.js';

const NOWHERE: Place = { buffer: null, offset: 0, count: 0 };

interface CollectiveOptions {
  readonly kind: CollectiveKind;
  readonly dtype?: DType;
  readonly input?: HostBuffer;
  readonly output?: HostBuffer;
  readonly op?: ReduceOp;
  readonly root?: number;
  readonly sendCounts?: readonly number[];
  readonly receiveCounts?: readonly number[];
}

/** A buffer as the worker can reach it, and what copies results back. */
interface Reached {
  readonly place: Place;
  readonly store: (() => void) | null;
}

function reach(buffer: HostBuffer, reads: boolean): Reached {
  const count = buffer.length;
  const bytes = buffer.view();
  const heap = cpuHeap();
  if (heap.shared && bytes.buffer === heap.memory.buffer)
    return { place: { buffer: null, offset: bytes.byteOffset, count }, store: null };
  const copy = new SharedArrayBuffer(buffer.byteLength);
  if (reads) new Uint8Array(copy).set(bytes);
  const store = (): void => buffer.view().set(new Uint8Array(copy));
  return { place: { buffer: copy, offset: 0, count }, store };
}

/** See the file header. Made by `mpiCommunicator` and `split`. */
class MpiCommunicator implements Communicator {
  readonly backend = 'mpi';
  readonly canBlock = true;

  constructor(
    private readonly engine: MpiEngine,
    private readonly comm: number,
    readonly rank: number,
    readonly size: number,
    private readonly timeoutMs: number,
  ) {}

  allReduce(buffer: HostBuffer, op: ReduceOp): Pending {
    return this.#inPlace(buffer, { kind: 'all_reduce', op });
  }

  reduce(buffer: HostBuffer, op: ReduceOp, root: number): Pending {
    return this.#inPlace(buffer, { kind: 'reduce', op, root });
  }

  broadcast(buffer: HostBuffer, root: number): Pending {
    return this.#inPlace(buffer, { kind: 'broadcast', root });
  }

  allGather(input: HostBuffer, output: HostBuffer): Pending {
    return this.#between(input, output, { kind: 'all_gather' });
  }

  reduceScatter(input: HostBuffer, output: HostBuffer, op: ReduceOp): Pending {
    return this.#between(input, output, { kind: 'reduce_scatter', op });
  }

  allToAll(
    input: HostBuffer,
    output: HostBuffer,
    sendCounts: readonly number[],
    receiveCounts: readonly number[],
  ): Pending {
    return this.#between(input, output, { kind: 'all_to_all', sendCounts, receiveCounts });
  }

  barrier(): Pending {
    return this.engine.submit(this.#request({ kind: 'barrier' }, NOWHERE, NOWHERE));
  }

  send(buffer: HostBuffer, to: number, tag: number): Pending {
    const { place } = reach(buffer, true);
    const { dtype } = buffer;
    const { comm } = this;
    return this.engine.submit({ type: 'send', comm, dtype, data: place, peer: to, tag });
  }

  receive(buffer: HostBuffer, from: number, tag: number): Pending {
    const { place, store } = reach(buffer, false);
    const { dtype } = buffer;
    const { comm } = this;
    return this.engine.submit(
      { type: 'receive', comm, dtype, data: place, peer: from, tag },
      store ?? undefined,
    );
  }

  async split(ranks: readonly number[]): Promise<Communicator | null> {
    const { engine, comm, timeoutMs } = this;
    const made = engine.nextComm();
    const print = `split([${ranks.join(', ')}])`;
    await engine.submit({ type: 'split', comm, made, ranks, timeoutMs, print }).done;
    const rank = ranks.indexOf(this.rank);
    return rank < 0 ? null : new MpiCommunicator(engine, made, rank, ranks.length, timeoutMs);
  }

  close(): Promise<void> {
    return this.engine.submit({ type: 'close', comm: this.comm, print: 'destroy()' }).done;
  }

  #inPlace(buffer: HostBuffer, options: CollectiveOptions): Pending {
    const { kind, root } = options;
    const { place, store } = reach(buffer, kind !== 'broadcast' || root === this.rank);
    const writes =
      kind === 'all_reduce' || (kind === 'reduce') === (root === this.rank) ? store : null;
    const request = this.#request(
      { ...options, dtype: buffer.dtype, output: buffer },
      place,
      place,
    );
    return this.engine.submit(request, writes ?? undefined);
  }

  #between(input: HostBuffer, output: HostBuffer, options: CollectiveOptions): Pending {
    const from = reach(input, true);
    const to = reach(output, false);
    const all = { ...options, dtype: input.dtype, input, output };
    return this.engine.submit(this.#request(all, from.place, to.place), to.store ?? undefined);
  }

  #request(options: CollectiveOptions, input: Place, output: Place): Request {
    const { kind, dtype = 'uint8', op = 'sum', root = -1 } = options;
    const { sendCounts = [], receiveCounts = [] } = options;
    const print = describeCollective(kind, {
      dtype,
      buffer:
        kind === 'all_to_all' || kind === 'barrier'
          ? null
          : (options.input ?? options.output ?? null),
      op: options.op,
      root: options.root,
    });
    return {
      type: 'collective',
      comm: this.comm,
      kind,
      dtype,
      input,
      output,
      op,
      root,
      sendCounts,
      receiveCounts,
      print,
    };
  }
}

/** The communicator of all processes that the launcher started. @throws distributed-unavailable, distributed-timeout */
export async function mpiCommunicator(timeoutMs: number): Promise<Communicator> {
  const engine = await mpiEngine();
  const comm = engine.nextComm();
  await engine.submit({ type: 'world', comm, timeoutMs }).done;
  return new MpiCommunicator(engine, comm, engine.rank, engine.size, timeoutMs);
}
