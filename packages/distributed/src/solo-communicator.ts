/**
 * @file A communicator of one rank: what a program that was started alone runs on, without MPI.
 */
import type { Communicator, Pending } from './communicator.js';
import type { HostBuffer } from './host-buffer.js';

const DONE: Pending = { done: Promise.resolve(), waitSync: () => undefined };

function copy(from: HostBuffer, to: HostBuffer): Pending {
  to.view().set(from.view());
  return DONE;
}

/** See the file header. Sending and receiving have nobody to talk to: process groups refuse them. */
export function soloCommunicator(): Communicator {
  return {
    backend: 'solo',
    rank: 0,
    size: 1,
    canBlock: true,
    allReduce: () => DONE,
    reduce: () => DONE,
    broadcast: () => DONE,
    allGather: copy,
    reduceScatter: (input, output) => copy(input, output),
    allToAll: (input, output) => copy(input, output),
    barrier: () => DONE,
    send: () => DONE,
    receive: () => DONE,
    split: (ranks) => Promise.resolve(ranks.includes(0) ? soloCommunicator() : null),
    close: () => Promise.resolve(),
  };
}
