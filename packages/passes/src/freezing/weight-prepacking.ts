/**
 * @file Weight prepacking: frozen convolutions become `tessera::convolution_pointwise`, whose weight layout
 * optimization lays out for good.
 *
 * Counted by the pattern matcher: one match and one node per convolution.
 */
import type { Argument } from '@tessera/graph';
import { convolutionOp } from '@tessera/tensor/internal';
import { convolutionPointwise } from '../ops/convolution-pointwise.js';
import type { Match } from '../pattern/match.js';
import { PatternMatcherPass, registerGraphPattern } from '../pattern/pattern-matcher-pass.js';
import { CallFunction, Ignored, KeywordArg } from '../pattern/pattern.js';
import { isConstantNode } from './constant-nodes.js';

/** The pass. */
export const weightPrepacking: PatternMatcherPass = new PatternMatcherPass('weight-prepacking');

registerGraphPattern(
  CallFunction(
    convolutionOp,
    KeywordArg('input'),
    KeywordArg('weight'),
    KeywordArg('bias'),
    KeywordArg('stride'),
    KeywordArg('padding'),
    KeywordArg('dilation'),
    false,
    Ignored(),
    KeywordArg('groups'),
  ),
  pack,
  { passes: weightPrepacking, extraCheck: ({ kwargs }) => isConstantNode(kwargs.weight) },
);

function pack({ graph, output, kwargs }: Match): void {
  const { input, weight, bias, stride, padding, dilation, groups } = kwargs;
  const args: Argument[] = [input, weight, bias, stride, padding, dilation, groups, 'none'];
  const node = graph.insertingBefore(output, () =>
    graph.callFunction(convolutionPointwise, args, 'convolution'),
  );
  node.meta = { ...output.meta };
  output.replaceAllUsesWith(node);
  graph.eraseNode(output);
}
