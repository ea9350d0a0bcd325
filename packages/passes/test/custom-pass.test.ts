import { type Graph, type GraphModule, makeFx } from '@tessera/graph';
import { config } from '@tessera/shared';
import { type Tensor, getOp, ones } from '@tessera/tensor';
import { describe, expect, it } from 'vitest';
import {
  type CustomPass,
  jointPipeline,
  postGradPipeline,
  preGradPipeline,
  runPasses,
} from '../src/index.js';

const HOOKS = [
  ['preGradCustomPass', preGradPipeline],
  ['jointCustomPrePass', jointPipeline],
  ['jointCustomPostPass', jointPipeline],
  ['postGradCustomPrePass', postGradPipeline],
  ['postGradCustomPostPass', postGradPipeline],
] as const;

const traced = (): GraphModule => makeFx((x: Tensor) => [x.neg().sin(), x.cos()])(ones([2]));

/** Runs a hook's pipeline without the checks that only tests make. */
function run(hook: (typeof HOOKS)[number], pass: CustomPass): GraphModule {
  const module = traced();
  config.patch({ [hook[0]]: pass, 'passes.lint': false }, () => runPasses(module, hook[1]()));
  return module;
}

const BROKEN: readonly (readonly [string, (graph: Graph) => void, RegExp])[] = [
  [
    'uses a value before it is known',
    (graph) => {
      const calls = graph.nodes.filter((node) => node.op === 'call_function');
      graph.moveBefore(
        calls.find((node) => node.target === getOp('aten::sin'))!,
        calls[0]!,
      );
    },
    /left a broken graph: .*before it is defined/,
  ],
  ['has no output', (graph) => graph.eraseNode(graph.outputNode!), /no output node/],
  [
    'gives fewer results',
    (graph) => (graph.outputNode!.args = [[graph.placeholders[0]!]]),
    /from \(x\) → 2 results to \(x\) → 1 results/,
  ],
];

describe.each(HOOKS)('%s', (...hook) => {
  it('runs once, and what it adds gets values', () => {
    let calls = 0;
    const module = run(hook, (graph) => {
      calls++;
      const output = graph.outputNode!;
      const [first, second] = output.args[0] as readonly [never, never];
      const exp = graph.insertingBefore(output, () =>
        graph.callFunction(getOp('aten::exp'), [first]),
      );
      output.args = [[exp, second]];
    });
    expect(calls).toBe(1);
    expect(module.print()).toContain('aten.exp.default(sin); // f32[2]');
  });

  it.each(BROKEN)('is named when the graph that it leaves %s', (_, pass, message) => {
    expect(() => run(hook, pass)).toThrow(
      expect.objectContaining({
        code: 'graph-lint',
        message: expect.stringMatching(message) as string,
      }),
    );
    expect(() => run(hook, pass)).toThrow(`Pass '${hook[0]}'`);
  });
});
