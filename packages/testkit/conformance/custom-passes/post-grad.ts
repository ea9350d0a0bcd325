/**
 * @file A user's pattern matcher pass in the post-grad hooks: convolution and relu become one node.
 */
import { compile, config, counters } from '@tessera/compile';
import { Conv2d, Module } from '@tessera/nn';
import { Arg, CallFunction, PatternMatcherPass, registerLoweringPattern } from '@tessera/passes';
import { type Tensor, noGrad, randn } from '@tessera/tensor';
import { expect } from 'vitest';
import { assertClose, runAndGetCode } from '../../src/index.js';

class ConvReLU extends Module {
  conv = new Conv2d(16, 16, 3, { stride: 1, padding: 1 });

  override forward(x: Tensor): Tensor {
    return this.conv.call(x).relu();
  }
}

function convReluPass(): PatternMatcherPass {
  const passes = new PatternMatcherPass('conv-relu');
  const conv = CallFunction(
    'tessera::convolution_pointwise',
    ...Array.from({ length: 8 }, () => Arg()),
    { users: 1 },
  );
  registerLoweringPattern(
    CallFunction('aten::relu', conv),
    (lowering, args) =>
      lowering.call('tessera::convolution_pointwise', [...args.slice(0, -1), 'relu']),
    { passes, name: 'conv_relu' },
  );
  return passes;
}

async function fusesConvRelu(
  hook: 'postGradCustomPrePass' | 'postGradCustomPostPass',
): Promise<void> {
  const model = new ConvReLU().eval();
  const x = randn([1, 16, 56, 56]);
  const expected = noGrad(() => model.call(x));
  using _ = config.patch({ freezing: true, patternMatcher: false, [hook]: convReluPass() });
  counters.clear();
  const compiledModel = compile(model);
  const { result, compiled } = await runAndGetCode(() => noGrad(() => compiledModel(x)));
  assertClose(result, expected);
  // One match of two nodes by the user's pass, and one of one node by weight prepacking.
  expect(counters.get('inductor', 'pattern_matcher_count')).toBe(2);
  expect(counters.get('inductor', 'pattern_matcher_nodes')).toBe(3);
  expect(compiled).toHaveLength(1);
  expect(compiled[0]!.graph.print()).toMatch(/conv_relu_\d+\(/);
  expect(compiled[0]!.graph.print()).not.toContain('aten.relu');
}

/** The hook before the built-in post-grad passes. */
export function postGradPassBefore(): Promise<void> {
  return fusesConvRelu('postGradCustomPrePass');
}

/** The hook behind the built-in post-grad passes. */
export function postGradPassAfter(): Promise<void> {
  return fusesConvRelu('postGradCustomPostPass');
}
