/**
 * @file State dicts that an optimizer takes: PyTorch's form, and the names of a file that torch.save wrote.
 */
import { describe, expect, it } from 'vitest';
import { tensor } from '@tessera/tensor';
import { Parameter, optim } from '../src/index.js';
import { thrownBy } from './thrown-by.js';

const parameter = (): Parameter => new Parameter(tensor([1, 2]));
const group = {
  lr: 0.5,
  betas: [0.8, 0.9],
  eps: 1e-6,
  weight_decay: 0.25,
  amsgrad: false,
  foreach: null,
  maximize: false,
  capturable: false,
  differentiable: false,
  fused: null,
  decoupled_weight_decay: true,
  initial_lr: 0.75,
  params: [0],
};
const expected = {
  lr: 0.5,
  betas: [0.8, 0.9],
  eps: 1e-6,
  weightDecay: 0.25,
  amsgrad: false,
  maximize: false,
  decoupledWeightDecay: true,
  initialLr: 0.75,
};

describe('loadStateDict', () => {
  it('takes names of a file as names', () => {
    const optimizer = new optim.AdamW([parameter()]);
    const hostile = {
      'state.__proto__.polluted': 1,
      'state.0': 2,
      'state.0.exp_avg': tensor([1, 2]),
    };
    thrownBy(() => optimizer.loadStateDict({ ...hostile, 'param_groups.0.constructor.x': 1 }));
    expect(({} as { polluted?: number }).polluted).toBeUndefined();
    expect(Object.hasOwn(Object, 'x')).toBe(false);
  });

  it("takes PyTorch's form", () => {
    const param = parameter();
    const optimizer = new optim.AdamW([param]);
    const state = { step: tensor(3), exp_avg: tensor([1, 2]), exp_avg_sq: tensor([3, 4]) };
    optimizer.loadStateDict({ state: { 0: state }, param_groups: [group] });
    expect(optimizer.paramGroups[0]).toEqual({ ...expected, params: [param] });
    expect(optimizer.state.get(param)!.step).toBe(3);
    expect(optimizer.state.get(param)!.tensors['exp_avg_sq']!.toArray()).toEqual([3, 4]);
  });

  it('takes the names of a checkpoint, with or without its values', () => {
    const tensors = {
      'state.0.step': tensor(3),
      'state.0.exp_avg': tensor([1, 2]),
      'state.0.exp_avg_sq': tensor([3, 4]),
    };
    const values: Record<string, unknown> = {};
    for (const [name, value] of Object.entries(group)) {
      if (Array.isArray(value))
        value.forEach((v, i) => (values[`param_groups.0.${name}.${i}`] = v));
      else values[`param_groups.0.${name}`] = value;
    }
    for (const all of [false, true]) {
      const param = parameter();
      const optimizer = new optim.AdamW([param], { lr: 2 });
      optimizer.loadStateDict(all ? { ...tensors, ...values } : tensors);
      expect(optimizer.paramGroups[0]!.lr).toBe(all ? 0.5 : 2);
      if (all) expect(optimizer.paramGroups[0]).toEqual({ ...expected, params: [param] });
      expect(optimizer.state.get(param)!.step).toBe(3);
      expect(optimizer.state.get(param)!.tensors['exp_avg']!.toArray()).toEqual([1, 2]);
    }
  });

  it('maps choices by name, and keeps what PyTorch leaves open', () => {
    const optimizer = new optim.Muon([new Parameter(tensor([[1, 2]]))]);
    const load = (adjust_lr_fn: string | null): void =>
      optimizer.loadStateDict({ state: {}, param_groups: [{ adjust_lr_fn, params: [0] }] });
    load(null);
    expect(optimizer.paramGroups[0]!.adjustLrFn).toBe('original');
    load('match_rms_adamw');
    expect(optimizer.paramGroups[0]!.adjustLrFn).toBe('matchRmsAdamw');
  });

  it('refuses options that the optimizer has not, and changes nothing', () => {
    const optimizer = new optim.AdamW([parameter()]);
    const before = { ...optimizer.paramGroups[0] };
    for (const [wrong, hint] of [
      ['weightdecay', "Did you mean 'weightDecay'?"],
      ['momentum', 'Its options are: lr, betas,'],
    ] as const) {
      const error = thrownBy(() =>
        optimizer.loadStateDict({
          state: {},
          paramGroups: [{ lr: 3, [wrong]: 0.5, params: [0] }],
        }),
      );
      expect(error).toMatchObject({ code: 'state-dict-mismatch' });
      expect(error.message).toContain(`'${wrong}'`);
      expect(error.message).toContain(hint);
    }
    expect(optimizer.paramGroups[0]).toEqual(before);
  });

  it.each([[{ weight: tensor([1]) }], [{}], [null], ['state']])('refuses %s', (dict) => {
    const error = thrownBy(() => new optim.SGD([parameter()]).loadStateDict(dict as never));
    expect(error).toMatchObject({ code: 'state-dict-mismatch' });
    expect(error.message).toContain('no state dict of an optimizer');
  });
});
