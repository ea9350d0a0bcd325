/**
 * @file `send`, `recv`, `isend`, `irecv`: a tensor from one rank to another, beside the collectives.
 */
import { TesseraError } from '@tessera/shared';
import type { Tensor } from '@tessera/tensor';
import { type ProcessGroup } from '../process-group.js';
import { groupOf, launch, rankIn } from './launch.js';
import { checkTensor, stage } from './staged-tensor.js';
import type { Work } from './work.js';

/** Options of messages. */
export interface MessageOptions {
  /** Default: all processes. */
  readonly group?: ProcessGroup | undefined;
  /** A message is received by the call with its tag (default 0). */
  readonly tag?: number | undefined;
}

/** The largest tag that every MPI has. */
const LARGEST_TAG = 32767;

function messageOf(
  name: string,
  tensor: Tensor,
  peer: number,
  what: string,
  options: MessageOptions,
): { readonly group: ProcessGroup; readonly place: number; readonly tag: number } {
  const { tag = 0 } = options;
  const group = groupOf<MessageOptions>(name, options, { tag: true, group: true });
  const place = rankIn(name, group, peer, what);
  checkTensor(name, tensor);
  if (place === group.rank)
    throw new TesseraError('invalid-argument', `${name}: ${what} ${peer} is this rank itself.`);
  if (!Number.isInteger(tag) || tag < 0 || tag > LARGEST_TAG)
    throw new TesseraError(
      'invalid-argument',
      `${name}: tag must be a whole number from 0 to ${LARGEST_TAG}, got ${tag}.`,
    );
  return { group, place, tag };
}

/**
 * Starts to send a tensor to rank `dst`.
 *
 * @throws distributed-unavailable, invalid-argument
 * @see torch.distributed.isend
 */
export function isend(tensor: Tensor, dst: number, options: MessageOptions = {}): Work {
  return sending('isend', tensor, dst, options);
}

function sending(name: string, tensor: Tensor, dst: number, options: MessageOptions): Work {
  const { group, place, tag } = messageOf(name, tensor, dst, 'dst', options);
  return launch(group, [stage(name, tensor, 'read')], ([buffer]) =>
    group.communicator.send(buffer!, place, tag),
  );
}

/**
 * Starts to receive a tensor from rank `src`, of the dtype and number of elements that it sends.
 *
 * @throws distributed-unavailable, invalid-argument
 * @see torch.distributed.irecv
 */
export function irecv(tensor: Tensor, src: number, options: MessageOptions = {}): Work {
  return receiving('irecv', tensor, src, options);
}

function receiving(name: string, tensor: Tensor, src: number, options: MessageOptions): Work {
  const { group, place, tag } = messageOf(name, tensor, src, 'src', options);
  return launch(group, [stage(name, tensor, 'write')], ([buffer]) =>
    group.communicator.receive(buffer!, place, tag),
  );
}

/**
 * Sends a tensor to rank `dst`.
 *
 * @throws distributed-unavailable, invalid-argument, distributed-mismatch, distributed-timeout
 * @see torch.distributed.send
 */
export async function send(
  tensor: Tensor,
  dst: number,
  options: MessageOptions = {},
): Promise<void> {
  await sending('send', tensor, dst, options).wait();
}

/**
 * Receives a tensor from rank `src`, of the dtype and number of elements that it sends.
 *
 * @throws distributed-unavailable, invalid-argument, distributed-mismatch, distributed-timeout
 * @see torch.distributed.recv
 */
export async function recv(
  tensor: Tensor,
  src: number,
  options: MessageOptions = {},
): Promise<void> {
  await receiving('recv', tensor, src, options).wait();
}
