/**
 * @file Events of a profile: operators and backward nodes.
 */
import { type ProfileRecorder, profiling } from '@tessera/shared';
import { currentBackwardNode } from '../autograd/current-backward-node.js';
import { type GradNode, peekSequenceNr } from '../autograd/grad-node.js';
import type { OpOverload } from '../op/op-overload.js';
import { isFakeMode, isTensor } from '../tensor-factory.js';

function tensorsOf(values: readonly unknown[]): { sizes: readonly number[]; isFake: boolean }[] {
  return values.flatMap((value) =>
    isTensor(value) ? [value] : Array.isArray(value) ? (value as unknown[]).filter(isTensor) : [],
  );
}

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

/** Runs a backward node as an event, if a profile is being made. */
export function profileNode<R>(node: GradNode, grads: readonly (object | null)[], run: () => R): R {
  const recorder = profiling.active;
  const tensors = tensorsOf(grads);
  if (recorder === null || isFakeMode() || tensors.some((tensor) => tensor.isFake)) return run();
  const open = recorder.begin();
  try {
    return run();
  } finally {
    const shapes = tensors.map(({ sizes }) => sizes);
    recorder.end(open, 'backward', node.name, node.sequenceNr, shapes);
  }
}
