/**
 * @file `broadcastObjectList`, `allGatherObject`: small JSON values instead of tensors.
 */
import { TesseraError } from '@tessera/shared';
import { arrayBuffer } from '../host-buffer.js';
import type { ProcessGroup } from '../process-group.js';
import { groupOf, rankIn } from './launch.js';

/** Options of collectives on objects. */
export interface ObjectOptions {
  /** Default: all processes. */
  readonly group?: ProcessGroup | undefined;
}

function encode(name: string, value: unknown): Uint8Array {
  refuseOther(name, value, []);
  return new TextEncoder().encode(JSON.stringify(value));
}

/** What JSON would leave out, or write as something else. @throws invalid-argument */
function refuseOther(name: string, value: unknown, holders: readonly unknown[]): void {
  if (value === null || typeof value === 'string' || typeof value === 'boolean') return;
  if (typeof value === 'number' && Number.isFinite(value)) return;
  const inside = [...holders, value];
  if (Array.isArray(value) && !holders.includes(value)) {
    for (const item of value) refuseOther(name, item, inside);
  } else if (isRecord(value) && !holders.includes(value)) {
    // A key without a value is as good as none.
    for (const item of Object.values(value))
      if (item !== undefined) refuseOther(name, item, inside);
  } else {
    throw new TesseraError('invalid-argument', `${name}: ${wordsFor(value)} is no JSON value.`, {
      hints: [
        'Send numbers, strings, booleans, null, arrays and plain objects; use tensors for tensors.',
      ],
    });
  }
}

function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  if (typeof value !== 'object' || value === null) return false;
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === Object.prototype || prototype === null;
}

function wordsFor(value: unknown): string {
  if (typeof value === 'number') return String(value);
  if (typeof value !== 'object' || value === null) return typeof value;
  const isPlain = Array.isArray(value) || isRecord(value);
  return isPlain ? 'a value that contains itself' : `a ${value.constructor.name}`;
}

function decode(bytes: Uint8Array): unknown {
  return JSON.parse(new TextDecoder().decode(bytes));
}

/** The largest of a number over the ranks. */
async function largest(group: ProcessGroup, value: number): Promise<number> {
  const number = Int32Array.of(value);
  const bytes = new Uint8Array(number.buffer);
  await group.communicator.allReduce(arrayBuffer(bytes, 'int32'), 'max').done;
  return number[0]!;
}

/**
 * Replaces the values of a list by those of rank `src`. All lists have one length.
 *
 * @throws distributed-unavailable, invalid-argument, distributed-mismatch, distributed-timeout
 * @see torch.distributed.broadcast_object_list
 */
export async function broadcastObjectList(
  list: unknown[],
  src: number,
  options: ObjectOptions = {},
): Promise<void> {
  const name = 'broadcastObjectList';
  const group = groupOf<ObjectOptions>(name, options, { group: true });
  const root = rankIn(name, group, src, 'src');
  const own = root === group.rank ? encode(name, list) : new Uint8Array();
  const bytes = new Uint8Array(await largest(group, own.length));
  bytes.set(own);
  await group.communicator.broadcast(arrayBuffer(bytes, 'uint8'), root).done;
  const got = decode(bytes) as unknown[];
  if (got.length !== list.length)
    throw new TesseraError(
      'distributed-mismatch',
      `${name}: rank ${src} has ${got.length} objects, this rank has ${list.length}.`,
      { hints: ['Make the lists equally long on all ranks before the call.'] },
    );
  if (root !== group.rank) list.splice(0, list.length, ...got);
}

/**
 * Fills `list` with the value of every rank; it has an element per rank.
 *
 * @throws distributed-unavailable, invalid-argument, distributed-mismatch, distributed-timeout
 * @see torch.distributed.all_gather_object
 */
export async function allGatherObject(
  list: unknown[],
  value: unknown,
  options: ObjectOptions = {},
): Promise<void> {
  const name = 'allGatherObject';
  const group = groupOf<ObjectOptions>(name, options, { group: true });
  if (list.length !== group.size)
    throw new TesseraError(
      'invalid-argument',
      `${name}: the list must have ${group.size} elements, one for each rank, got ${list.length}.`,
    );
  const own = encode(name, value);
  const room = await largest(group, own.length);
  // JSON does not mind blanks after it.
  const padded = new Uint8Array(room).fill(0x20);
  padded.set(own);
  const all = new Uint8Array(room * group.size);
  const { communicator } = group;
  await communicator.allGather(arrayBuffer(padded, 'uint8'), arrayBuffer(all, 'uint8')).done;
  for (let rank = 0; rank < group.size; rank++)
    list[rank] = decode(all.subarray(rank * room, (rank + 1) * room));
}
