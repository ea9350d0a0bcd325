/**
 * @file What `explain()` says of operators because of which every new size costs something.
 */
import { functional as F } from '@tessera/nn';
import { type Tensor, cumprod, randn } from '@tessera/tensor';
import { describe, expect, it } from 'vitest';
import { explainTree } from '../src/exploration.js';
import { type Explanation, compile, explain, observeCompilations } from '../src/index.js';

/** What is told of a program after some sizes. */
function after(fn: (x: Tensor) => Tensor, inputs: (n: number) => Tensor): Explanation {
  const run = compile(fn);
  for (const n of [3, 5, 7, 4, 9, 6]) run(inputs(n));
  return explain(run)(inputs(8));
}

describe('explain() of a program at many sizes', () => {
  it('names operators of which nothing is known at other sizes, where they are called', () => {
    const told = after(
      (x) => cumprod(x.mul(2), 0).add(1),
      (n) => randn([n, 4]),
    );
    expect(told.perSize).toMatchObject([{ operator: 'aten::cumprod' }]);
    expect(told.perSize[0]!.location).toContain('explain-sizes.test.ts');
    expect(String(told)).toMatch(
      /^Every size costs something: aten::cumprod at .*explain-sizes\.test\.ts:\d+:\d+: it may do something else.*\n {2}hint: /m,
    );
    expect(explainTree(told)).toMatch(/every size costs something: aten::cumprod/);
    // Its code is shared all the same.
    expect(String(told)).toMatch(/also compiled for s0 = .* ms, by code that sizes share$/m);
  });

  it('names operators that need sizes as numbers', () => {
    const image = randn([1, 1, 40]);
    const told = after(
      (x) => F.conv1d(image, x.mul(2)),
      (n) => randn([1, 1, n]),
    );
    const found = told.perSize.find(({ operator }) => operator === 'aten::convolution');
    expect(found?.reason).toMatch(/needed as a number/);
    expect(found?.location).toContain('explain-sizes.test.ts');
  });

  it('names none in a training step with a convolution that keeps lengths, over batches and lengths', () => {
    const [weight, bias] = [randn([4, 3, 3]), randn([4])];
    for (const parameter of [weight, bias]) parameter.requiresGrad_();
    let graphs = 0;
    const step = compile((x: Tensor): Tensor => {
      const loss = F.conv1d(x, weight, { bias, padding: 'same' }).relu().square().mean();
      loss.backward();
      for (const parameter of [weight, bias]) parameter.grad = null;
      return loss.detach();
    });
    const inputs = (i: number): Tensor => randn([2 + ((i * 5) % 7), 3, 5 + ((i * 11) % 40)]);
    const stop = observeCompilations(() => graphs++);
    for (let i = 0; i < 60; i++) step(inputs(i));
    stop();
    expect(explain(step)(inputs(60)).perSize).toEqual([]);
    expect(graphs).toBeLessThan(16);
  });

  it('names none where one code serves all sizes, and no graph is needed', () => {
    const told = after(
      (x) => x.mul(2).sum(0).relu(),
      (n) => randn([n, 4]),
    );
    expect(told.perSize).toEqual([]);
    expect(String(told)).not.toContain('costs something');
  });
});
