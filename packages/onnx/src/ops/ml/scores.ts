/**
 * @file From scores of classes to what a classifier gives: labels, and scores after a transform.
 *
 * Labels that are texts are told by their place in the list of them, since no tensor holds texts.
 */
import { type Tensor, argmax, cat, erfinv, where } from '@tessera/tensor';
import type { NodeCall } from '../../run/node-call.js';
import { constantOf } from './constants.js';

const TRANSFORMS = ['NONE', 'SOFTMAX', 'LOGISTIC', 'SOFTMAX_ZERO', 'PROBIT'] as const;
/** A transform of scores. */
type Transform = (typeof TRANSFORMS)[number];

/** The transform that a node asks for, by name or, in newer operators, by number. */
export function transformOf(call: NodeCall, isNumber = false): Transform {
  if (!isNumber) return call.choice('post_transform', TRANSFORMS, 'NONE');
  return TRANSFORMS[call.int('post_transform', 0)] ?? call.fail('its post_transform is unknown');
}

/** Scores of that size count as none. */
const ZERO = 1e-7;

/** Scores [N, C] after a transform. A single score is only changed by PROBIT, as onnxruntime has it. */
export function transformed(scores: Tensor, transform: Transform): Tensor {
  if (scores.shape[1] === 1 && transform !== 'PROBIT') return scores;
  switch (transform) {
    case 'NONE':
      return scores;
    case 'LOGISTIC':
      return scores.sigmoid();
    case 'SOFTMAX':
      return scores.softmax(-1);
    case 'SOFTMAX_ZERO': {
      const top = scores.amax([-1], { keepdim: true });
      const powers = where(
        scores.abs().gt(ZERO),
        scores.sub(top).exp(),
        scores.mul(top.neg().exp()),
      );
      return powers.div(powers.sum([-1], { keepdim: true }));
    }
    case 'PROBIT':
      return erfinv(scores.mul(2).sub(1)).mul(Math.SQRT2);
  }
}

/** Scores are float32, whatever the features are. */
export function asScores(call: NodeCall, scores: Tensor): Tensor {
  return call.isDouble ? scores : scores.to('float32');
}

/** Two columns of one. */
export function pair(first: Tensor, second: Tensor): Tensor {
  return cat([first, second], 1);
}

/** Number of the node's labels. */
export function labelCount(call: NodeCall, names = 'classlabels_int64s'): number {
  return (call.texts('classlabels_strings') ?? call.ints(names) ?? []).length;
}

/** Labels of classes [N]; classes are told by number where labels are texts. */
export function labelled(call: NodeCall, classes: Tensor): Tensor {
  if (call.texts('classlabels_strings') !== null || call.literal('$labels') === null)
    return classes;
  return constantOf(call, '$labels').indexSelect(0, classes);
}

/** The label of the largest score of each row. */
export function labelOfLargest(call: NodeCall, scores: Tensor): Tensor {
  return labelled(call, argmax(scores, 1));
}
