/**
 * @file Events of a profile: backward nodes.
 */
import { profiling } from '@tessera/shared';
import { isFakeMode, isTensor } from '../tensor-factory.js';
import type { GradNode } from './grad-node.js';

/** The tensors among values and lists of them. */
export function tensorsOf(
  values: readonly unknown[],
): { sizes: readonly number[]; isFake: boolean }[] {
  return values.flatMap((value) =>
    isTensor(value) ? [value] : Array.isArray(value) ? value.filter(isTensor) : [],
  );
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
