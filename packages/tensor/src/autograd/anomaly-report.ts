/**
 * @file What anomaly mode says when a backward node fails: where its forward call was.
 */
import { TesseraError, isTesseraError } from '@tessera/shared';
import type { Tensor } from '../tensor.js';
import type { GradNode } from './grad-node.js';

/** The forward call of a node and, if that ran in a backward pass, of the node that made it. */
function forwardCalls(node: GradNode): string[] {
  if (node.forwardStack === null)
    return [
      `No forward pass information available for ${node.name}: turn anomaly mode on before the forward pass.`,
    ];
  const calls = [`Traceback of forward call that caused the error:\n${node.forwardStack}`];
  for (let parent = node.anomalyParent; parent !== null; parent = parent.anomalyParent)
    calls.push(
      `Traceback of forward call that induced the previous calculation (${parent.name}):\n${parent.forwardStack ?? 'none'}`,
    );
  return calls;
}

/** Refuses NaN gradients. Only values in CPU memory can be read. @throws nan-gradient */
export function checkFinite(node: GradNode, results: readonly (Tensor | null)[]): void {
  results.forEach((grad, i) => {
    if (grad === null || grad.isFake || grad.device !== 'cpu') return;
    if (!grad.hasNaN()) return;
    throw new TesseraError(
      'nan-gradient',
      `Function '${node.name}' returned nan values in its ${i}th output.`,
      { context: { forwardStack: node.forwardStack }, hints: forwardCalls(node) },
    );
  });
}

/** Runs `fn`, adding the forward call to what it throws. */
export function withForwardStack<R>(node: GradNode, fn: () => R): R {
  try {
    return fn();
  } catch (error) {
    if (!isTesseraError(error) || 'forwardStack' in error.context) throw error;
    const { code, context, hints, location } = error;
    const [firstLine] = error.message.split('\n');
    throw new TesseraError(code, firstLine!, {
      context: { ...context, forwardStack: node.forwardStack },
      hints: [...hints, `Error detected in ${node.name}.`, ...forwardCalls(node)],
      location,
      cause: error,
    });
  }
}
