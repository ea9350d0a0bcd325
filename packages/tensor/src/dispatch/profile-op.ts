/**
 * @file Events of a profile: operators.
 */
import type { ProfileRecorder } from '@tessera/shared';
import { currentBackwardNode } from '../autograd/current-backward-node.js';
import { peekSequenceNr } from '../autograd/grad-node.js';
import { tensorsOf } from '../autograd/profile-node.js';
import type { OpOverload } from '../op/op-overload.js';
import { isFakeMode } from '../tensor-factory.js';

/** Runs an op as an event, unless it only works on FakeTensors. */
export function profileOp(
  recorder: ProfileRecorder,
  op: OpOverload,
  args: readonly unknown[],
  run: () => unknown,
): unknown {
  const tensors = tensorsOf(args);
  if (isFakeMode() || tensors.some((tensor) => tensor.isFake)) return run();
  const node = currentBackwardNode();
  const next = peekSequenceNr();
  const open = recorder.begin();
  try {
    return run();
  } finally {
    // Made by this op: the newest of the nodes that its parts made, if it is a composite one.
    const made = peekSequenceNr() > next ? peekSequenceNr() - 1 : -1;
    recorder.end(
      open,
      node === null ? 'forward' : 'backward',
      op.qualifiedName,
      node?.sequenceNr ?? made,
      tensors.map(({ sizes }) => sizes),
    );
  }
}
