/**
 * @file What a program keeps in groups under names of its own, and edits of `optimizer.state`, eager and compiled.
 */
import { describe, expect, it } from 'vitest';
import { type Tensor, manualSeed, randn, tensor, zeros } from '@tessera/tensor';
import { Linear, Parameter, optim } from '../src/index.js';
import { compileForTest } from './compile-for-test.js';
import { thrownBy } from './thrown-by.js';

const parameter = (): Parameter => new Parameter(tensor([1, 2]));

describe('names of the program in a group', () => {
  it('are kept in the group and in the state dict', () => {
    const [a, b] = [parameter(), parameter()];
    const optimizer = new optim.AdamW([
      { params: [a], lr: 0.5, name: 'head', lrScale: 0.1, layer_id: 3 },
      { params: [b], name: 'body' },
    ]);
    expect(optimizer.paramGroups.map(({ name }) => name)).toEqual(['head', 'body']);
    expect(optimizer.paramGroups[0]).toMatchObject({ lr: 0.5, lrScale: 0.1, layer_id: 3 });
    expect(optimizer.stateDict().paramGroups[0]).toMatchObject({ name: 'head', lrScale: 0.1 });
    expect(optimizer.toString()).toContain("name: 'head'");
  });

  it('come back with a state dict, also where the new group has none', () => {
    const first = new optim.SGD([{ params: [parameter()], name: 'my_head', layer_id: 3 }]);
    const second = new optim.SGD([parameter()]);
    second.loadStateDict(first.stateDict());
    expect(second.paramGroups[0]).toMatchObject({ name: 'my_head', layer_id: 3 });
    const { params: _params, ...saved } = first.stateDict().paramGroups[0]!;
    const pytorch = { ...saved, weight_decay: 0.5, lr_scale: 2, params: [0] };
    second.loadStateDict({ state: {}, param_groups: [pytorch] });
    expect(second.paramGroups[0]).toMatchObject({ name: 'my_head', lrScale: 2, weightDecay: 0.5 });
  });

  it('may make another optimizer from the same groups', () => {
    const first = new optim.AdamW([{ params: [['w', parameter()]], name: 'head' }]);
    const second = new optim.Adam(first.paramGroups);
    expect(second.paramGroups[0]).toMatchObject({ name: 'head', weightDecay: 0.01 });
  });

  it.each([
    ['weight_decay', "Did you mean 'weightDecay'?"],
    ['wieghtDecay', "Did you mean 'weightDecay'?"],
    ['LR', "Did you mean 'lr'?"],
    ['learning_rate', 'Its options are: params, lr'],
    ['learningRate', 'Its options are: params, lr'],
  ])('%s is a misspelt option', (name, hint) => {
    for (const make of [optim.AdamW, optim.LBFGS]) {
      if (make === optim.LBFGS && /decay/i.test(name)) continue;
      const error = thrownBy(() => new make([{ params: [parameter()], [name]: 1 }]));
      expect(error).toMatchObject({ code: 'invalid-argument' });
      expect(error.message).toContain(hint);
    }
  });
});

describe('optimizer.state', () => {
  const edits: Record<string, (optimizer: optim.Optimizer, param: Tensor) => void> = {
    'a deleted entry': ({ state }, param) => state.delete(param),
    'all entries deleted': ({ state }) => state.clear(),
    'another step count': ({ state }, param) => (state.get(param)!.step = 100),
    'another tensor': ({ state }, param) => {
      const own = state.get(param)!;
      own.tensors['exp_avg'] = zeros(own.tensors['exp_avg']!.sizes);
    },
    'a tensor deleted': ({ state }, param) => delete state.get(param)!.tensors['exp_avg_sq'],
    'another entry': ({ state }, param) =>
      state.set(param, { step: 7, carried: {}, tensors: { exp_avg: zeros(param.sizes) } }),
    'an edit in place': ({ state }, param) =>
      state.get(param)!.tensors['exp_avg_sq']!.detach().fill_(2),
  };

  /** Parameters after six steps, with an edit after the third. */
  function trained(edit: (typeof edits)[string], isCompiled: boolean): unknown {
    manualSeed(0);
    const model = new Linear(3, 2);
    const optimizer = new optim.Adam(model.parameters(), { lr: 0.1 });
    const step = (x: Tensor): Tensor => {
      optimizer.zeroGrad();
      const loss = model.call(x).square().mean();
      loss.backward();
      optimizer.step();
      return loss;
    };
    const run = isCompiled ? compileForTest(step).call : step;
    for (let i = 0; i < 6; i++) {
      run(randn([4, 3]));
      if (i === 2) edit(optimizer, model.weight);
    }
    return model.parameters().map((param) => param.detach().toArray());
  }

  it.each(Object.entries(edits))('%s counts from the next step on', (_name, edit) => {
    const eager = trained(edit, false);
    expect(eager).not.toEqual(trained(() => {}, false));
    expect(trained(edit, true)).toEqual(eager);
  });

  it('starts a parameter anew', () => {
    const param = parameter();
    const optimizer = new optim.SGD([param], { lr: 1, momentum: 0.5 });
    const step = (): void => {
      param.grad = tensor([1, 1]);
      optimizer.step();
    };
    step();
    optimizer.state.delete(param);
    step();
    expect(param.detach().toArray()).toEqual([-1, 0]);
    expect(optimizer.state.get(param)!.step).toBe(1);
  });
});
