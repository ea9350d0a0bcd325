/**
 * @file Optimizers whose steps compute what their losses say, inside compiled functions: untraced, at eager speed, the
 * closure compiled if it is a compiled function itself.
 */
import { type Tensor, manualSeed, randn } from '@tessera/tensor';
import { Linear, functional as F, optim } from '@tessera/nn';
import { describe, expect, it } from 'vitest';
import { compile, compiledFunctionOf, explain } from '../src/index.js';

/** A fit by LBFGS: a step, and what it moves. */
function fit(lineSearchFn: 'strong_wolfe' | null) {
  manualSeed(3);
  const model = new Linear(4, 2);
  const [x, y] = [randn([16, 4]), randn([16, 2])];
  const optimizer = new optim.LBFGS(model.parameters(), { lr: 0.5, maxIter: 6, lineSearchFn });
  const closure = (): Tensor => {
    optimizer.zeroGrad();
    const loss = F.mseLoss(model.call(x).tanh(), y);
    loss.backward();
    return loss;
  };
  return { model, optimizer, closure };
}

describe.each([null, 'strong_wolfe'] as const)(
  'LBFGS inside a compiled function, line search %s',
  (search) => {
    it('takes the steps that it takes outside, and no step makes a graph', () => {
      const [eager, inside] = [fit(search), fit(search)];
      const step = compile(() => inside.optimizer.step(inside.closure).mul(2));
      const graphs: number[] = [];
      for (let i = 0; i < 5; i++) {
        const want = Number(eager.optimizer.step(eager.closure).mul(2).item());
        expect(Number(step().item())).toBeCloseTo(want, 5);
        graphs.push(compiledFunctionOf(step).captures.length);
      }
      expect(inside.model.weight.toArray()).toEqual(eager.model.weight.toArray());
      expect(graphs).toEqual([1, 1, 1, 1, 1]);
    });

    it('compiles a closure that is a compiled function', () => {
      const [eager, inside] = [fit(search), fit(search)];
      const closure = compile(inside.closure);
      const step = compile(() => inside.optimizer.step(closure));
      for (let i = 0; i < 3; i++)
        expect(Number(step().item())).toBeCloseTo(
          Number(eager.optimizer.step(eager.closure).item()),
          5,
        );
      expect(compiledFunctionOf(closure).captures.length).toBeGreaterThan(0);
    });

    it('awaits losses in an async function', async () => {
      const [eager, inside] = [fit(search), fit(search)];
      const step = compile(async () => (await inside.optimizer.stepAsync(inside.closure)).mul(2));
      for (let i = 0; i < 3; i++)
        expect(Number((await step()).item())).toBeCloseTo(
          2 * Number(eager.optimizer.step(eager.closure).item()),
          5,
        );
    });
  },
);

describe('explain', () => {
  it('says why', () => {
    const { optimizer, closure } = fit(null);
    const { breakReasons } = explain(() => optimizer.step(closure).mul(2))();
    expect(breakReasons.map(({ code, reason }) => [code, reason])).toEqual([
      ['GB0004', 'a step that reads losses as it goes'],
    ]);
  });
});
