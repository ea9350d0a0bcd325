/**
 * @file Weight prepacking: frozen convolutions become `tessera::convolution_pointwise` with their weight in
 * the layout that it is read in.
 *
 * With `config.layoutOptimization` weights of images are stored channels last, and then so are results
 * (see layout-propagation), but not on the CPU: its products read rows of an image as fast as pixels, and
 * what is at the boundary has to be laid out anew (measured: from 10 % faster in long chains of small images
 * to 35 % slower for single convolutions). `config.forceLayoutOptimization` does it everywhere. Counted by the pattern matcher: one match and one node per convolution.
 */
import type { Node } from '@tessera/graph';
import { type Argument, type GraphModule, emitOp, tensorVal } from '@tessera/graph';
import { getOp } from '@tessera/tensor';
import { passesConfig } from '../config.js';
import { convolutionPointwise } from '../ops/convolution-pointwise.js';
import type { Match } from '../pattern/match.js';
import { PatternMatcherPass, registerGraphPattern } from '../pattern/pattern-matcher-pass.js';
import { CallFunction, Ignored, KeywordArg } from '../pattern/pattern.js';
import { isConstantNode } from './constant-nodes.js';

/** The pass. */
export const weightPrepacking: PatternMatcherPass = new PatternMatcherPass('weight-prepacking');

registerGraphPattern(
  CallFunction(
    'aten::convolution',
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
  const packed = graph.insertingBefore(output, () => packedWeight(graph, weight as Node));
  const args: Argument[] = [input, packed, bias, stride, padding, dilation, groups, 'none'];
  const node = graph.insertingBefore(output, () =>
    graph.callFunction(convolutionPointwise, args, 'convolution'),
  );
  node.meta = { ...output.meta };
  output.replaceAllUsesWith(node);
  graph.eraseNode(output);
}

function packedWeight(graph: GraphModule['graph'], weight: Node): Node {
  const val = tensorVal(weight);
  if (val?.ndim !== 4 || !prefersChannelsLast(val.device)) return weight;
  return emitOp(graph, getOp('aten::clone'), [weight, 'channelsLast']);
}

function prefersChannelsLast(device: string): boolean {
  const { layoutOptimization, forceLayoutOptimization } = passesConfig;
  return forceLayoutOptimization || (layoutOptimization && device !== 'cpu');
}
