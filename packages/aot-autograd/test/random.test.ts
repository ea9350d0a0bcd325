import { type Tensor, getRngState, manualSeed, ones, tensor } from '@tessera/tensor';
import { describe, expect, it } from 'vitest';
import { aotFunction, runEagerly } from '../src/index.js';
import { op, recording } from './support/compare.js';

/** Three draws, of which one is not used, and a mask that backward needs. */
function program(x: Tensor): Tensor[] {
  const mask = op('bernoulli.p', x, 0.5, null);
  op('rand_like', x, null, null, null, null, null);
  const noise = op('randn', [2, 3], null, null, null, null);
  const filled = op('uniform_', op('zeros', [2], null, null, null, null), 1, 2, null);
  return [x.mul(mask).add(noise), filled];
}

describe('random ops', () => {
  it('draw what eager draws, and the mask of the forward pass reaches backward', () => {
    const { compiler, modules } = recording();
    const observe = (fn: typeof program): unknown => {
      manualSeed(7);
      const x = tensor([
        [1, 2, 3],
        [4, 5, 6],
      ]).requiresGrad_();
      const rounds = [fn(x), fn(x)];
      for (const [y] of rounds) y.sum().backward();
      return [rounds.map((outs) => outs.map((t) => t.toArray())), x.grad?.toArray(), getRngState()];
    };
    expect(observe(aotFunction(program, { fwCompiler: compiler }))).toEqual(observe(program));
    const draws = (index: number): string[] =>
      modules[index].graph.nodes
        .filter((n) => typeof n.target === 'object' && n.target.hasTag('random'))
        .map((n) => String(n.target));
    expect(draws(0)).toEqual([
      'aten.bernoulli.p',
      'aten.rand_like.default',
      'aten.randn.default',
      'aten.uniform.default',
    ]);
    expect(draws(1)).toEqual([]);
  });

  it('give new numbers on every call', () => {
    const f = aotFunction((x: Tensor) => x.add(op('rand', [4], null, null, null, null)), {
      fwCompiler: runEagerly,
    });
    expect(f(ones([4])).toArray()).not.toEqual(f(ones([4])).toArray());
  });
});
