/**
 * @file A group of ranks that all hold the same: every reduction follows from this rank's own values. It notes what
 * was started and waited for, in order.
 */
import { onTestFinished } from 'vitest';
import type { Communicator, HostBuffer, Pending, ReduceOp } from '../src/index.js';
import { ProcessGroup, registerGroup } from '../src/index.js';
import { forgetGroup } from '../src/process-group.js';

/** See the file header. */
export interface Mirror {
  readonly group: ProcessGroup;
  readonly log: string[];
}

/** Makes the group known under a name, until the test is over. */
export function mirrorGroup(size: number, name = 'world'): Mirror {
  onTestFinished(() => forgetGroup(name));
  const log: string[] = [];
  const later = (text: string, work: () => void): Pending => {
    log.push(`start ${text}`);
    let isDone = false;
    // The work happens when somebody waits: who reads before sees the old values.
    const finish = (): void => {
      if (!isDone) work();
      isDone = true;
    };
    return {
      done: new Promise((resolve) => setTimeout(() => (finish(), resolve()), 50)),
      waitSync: () => {
        log.push(`wait ${text}`);
        finish();
      },
    };
  };
  const scaled = (buffer: HostBuffer, op: ReduceOp): void => {
    if (op !== 'sum') return;
    const values = new Float32Array(buffer.view().buffer, buffer.view().byteOffset, buffer.length);
    for (let i = 0; i < values.length; i++) values[i] = values[i]! * size;
  };
  const repeated = (input: HostBuffer, output: HostBuffer): void => {
    for (let r = 0; r < size; r++) output.view().set(input.view(), r * input.byteLength);
  };
  const communicator: Communicator = {
    backend: 'mirror',
    rank: 0,
    size,
    canBlock: true,
    allReduce: (buffer, op) => later(`all_reduce ${op} ${buffer.length}`, () => scaled(buffer, op)),
    reduce: (buffer, op) => later(`reduce ${op}`, () => scaled(buffer, op)),
    broadcast: (buffer) => later(`broadcast ${buffer.length}`, () => undefined),
    allGather: (input, output) =>
      later(`all_gather ${input.length}`, () => repeated(input, output)),
    reduceScatter: (input, output, op) =>
      later(`reduce_scatter ${op} ${output.length}`, () => {
        output.view().set(input.view().subarray(0, output.byteLength));
        scaled(output, op);
      }),
    allToAll: (input, output) =>
      later('all_to_all', () => output.view().set(input.view().subarray(0, output.byteLength))),
    barrier: () => later('barrier', () => undefined),
    send: () => later('send', () => undefined),
    receive: () => later('receive', () => undefined),
    split: () => Promise.resolve(null),
    close: () => Promise.resolve(),
  };
  const ranks = Array.from({ length: size }, (_, i) => i);
  return { group: registerGroup(new ProcessGroup(name, ranks, communicator)), log };
}
