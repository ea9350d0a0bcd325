import { type Tensor, getRngState, manualSeed, ones, tensor } from '@tessera/tensor';
import { describe, expect, it } from 'vitest';
import { aotFunction, minCutPartitioner, runEagerly } from '../src/index.js';
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

  it('are repeated in backward on request: the same mask, nothing saved, nothing drawn', () => {
    const dropped = (x: Tensor): Tensor => {
      op('rand_like', x, null, null, null, null, null);
      const [a] = op('native_dropout', x, 0.5, true) as unknown as Tensor[];
      const [b] = op('native_dropout', a, 0.25, true) as unknown as Tensor[];
      return op('sin', b);
    };
    const observe = (fn: typeof dropped): unknown => {
      manualSeed(11);
      const x = ones([64]).requiresGrad_();
      const [first, second] = [fn(x), fn(x)];
      const drawn = getRngState();
      first.mul(second).sum().backward();
      expect(getRngState()).toEqual(drawn);
      return [first.toArray(), second.toArray(), x.grad!.toArray(), drawn];
    };
    const { compiler, modules } = recording();
    const partitionFn = minCutPartitioner({ allow: { random: true } });
    expect(observe(aotFunction(dropped, { fwCompiler: compiler, partitionFn }))).toEqual(
      observe(dropped),
    );
    expect(modules[1].graph.placeholders.map((node) => node.name)).toEqual([
      'x',
      'replay_seed',
      'replay_offset',
      'tangents_0',
    ]);
    const draws = modules[1].graph.nodes.filter((n) => String(n.target).includes('replay_'));
    expect(draws.filter((n) => n.op === 'call_function').map((n) => n.args[2])).toEqual([1, 2]);
  });
});
