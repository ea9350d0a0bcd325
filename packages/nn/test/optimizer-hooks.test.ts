/** @file Hooks of optimizers: when they run, what they may replace, eager and compiled. */
import { type Tensor, noGrad, ones, tensor } from '@tessera/tensor';
import { describe, expect, it } from 'vitest';
import { Parameter, optim } from '../src/index.js';
import { compileForTest } from './compile-for-test.js';

function setting(): { param: Parameter; sgd: optim.SGD; step: (x: Tensor) => Tensor } {
  const param = new Parameter(tensor([1, -2, 3]));
  const sgd = new optim.SGD([param], { lr: 0.5 });
  const step = (x: Tensor): Tensor => {
    sgd.zeroGrad();
    const loss = param.mul(x).sum();
    loss.backward();
    sgd.step();
    return loss;
  };
  return { param, sgd, step };
}

describe('hooks of a step', () => {
  it('run around it in order, with its arguments, until they are taken away', () => {
    const { param, sgd } = setting();
    const seen: unknown[] = [];
    const before = optim.registerStepPreHook(sgd, (optimizer, args) => {
      seen.push('before', optimizer === sgd, args.length, param.toArray());
    });
    optim.registerStepPostHook(sgd, () => void seen.push('after', param.toArray()));
    const closure = (): Tensor => {
      param.grad = null;
      const loss = param.sum();
      loss.backward();
      return loss;
    };
    expect(sgd.step(closure)!.item()).toBe(2);
    expect(seen).toEqual(['before', true, 1, [1, -2, 3], 'after', [0.5, -2.5, 2.5]]);
    before.remove();
    before.remove();
    sgd.step(closure);
    expect(seen.slice(6)).toEqual(['after', [0, -3, 2]]);
  });

  it('may replace its arguments', () => {
    const { sgd } = setting();
    const loss = ones([]);
    optim.registerStepPreHook(sgd, () => [() => loss]);
    optim.registerStepPreHook(sgd, (_optimizer, args) => {
      expect(args[0]!()).toBe(loss);
    });
    expect(sgd.step()).toBe(loss);
  });

  it('run in every compiled step, of which what they compute is part', () => {
    const train = (compiled: boolean): readonly unknown[] => {
      const { param, sgd, step } = setting();
      let calls = 0;
      optim.registerStepPreHook(sgd, () => {
        calls++;
        noGrad(() => param.grad!.clamp_(-1, 1));
      });
      optim.registerStepPostHook(sgd, () => {
        noGrad(() => param.mul_(0.5));
      });
      const { call, graphs } = compileForTest(step);
      const losses = [1, 2, 3, 4].map((factor) => {
        const x = tensor([0.5, 4, -4]).mul(factor);
        return (compiled ? call(x) : step(x)).item();
      });
      expect(graphs.length).toBe(compiled ? 1 : 0);
      return [calls, losses, param.toArray()];
    };
    expect(train(true)).toEqual(train(false));
    expect(train(true)[0]).toBe(4);
  });

  it('that are registered later make another graph', () => {
    const { param, sgd, step } = setting();
    const { call, graphs } = compileForTest(step);
    call(ones([3]));
    call(ones([3]));
    const handle = optim.registerStepPostHook(sgd, () => void noGrad(() => param.zero_()));
    call(ones([3]));
    expect(param.toArray()).toEqual([0, 0, 0]);
    expect(graphs.length).toBe(2);
    handle.remove();
    call(ones([3]));
    expect(param.toArray()).toEqual([-0.5, -0.5, -0.5]);
    expect(graphs.length).toBe(2);
  });

  it('of a step that waits run when it is over', async () => {
    const param = new Parameter(tensor([1, -2, 3]));
    const lbfgs = new optim.LBFGS([param], { maxIter: 2 });
    let after: unknown = null;
    optim.registerStepPostHook(lbfgs, () => void (after = param.toArray()));
    await lbfgs.step(() => {
      lbfgs.zeroGrad();
      const loss = param.square().sum();
      loss.backward();
      return loss;
    });
    expect(after).toEqual(param.toArray());
    expect(after).not.toEqual([1, -2, 3]);
  });

  it('are functions: invalid-argument', () => {
    expect(() => optim.registerStepPreHook(setting().sgd, 1 as never)).toThrow('takes a function');
  });
});

describe('hooks of a state dict', () => {
  it('run around making and loading one', () => {
    const { sgd } = setting();
    const seen: string[] = [];
    optim.registerStateDictPreHook(sgd, () => void seen.push('make'));
    optim.registerStateDictPostHook(sgd, (_optimizer, dict) => ({
      ...dict,
      paramGroups: dict.paramGroups.map((group) => ({ ...group, lr: 0.25 })),
    }));
    optim.registerLoadStateDictPreHook(sgd, (_optimizer, dict) => {
      seen.push('load');
      return { ...dict, state: {} };
    });
    optim.registerLoadStateDictPreHook(sgd, () => void seen.push('first'), { prepend: true });
    optim.registerLoadStateDictPostHook(sgd, ({ paramGroups }) => {
      seen.push(`loaded ${paramGroups[0]!.lr}`);
    });
    sgd.loadStateDict(sgd.stateDict());
    expect(seen).toEqual(['make', 'first', 'load', 'loaded 0.25']);
  });

  it('are given a copy of what is loaded', () => {
    const { sgd } = setting();
    const dict: Record<string, unknown> = { ...sgd.stateDict() };
    optim.registerLoadStateDictPreHook(sgd, (_optimizer, given) => {
      (given as Record<string, unknown>)['state'] = {};
    });
    const { state } = dict;
    sgd.loadStateDict(dict);
    expect(dict['state']).toBe(state);
  });
});
