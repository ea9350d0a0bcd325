import { describe, expect, it } from 'vitest';
import { isTesseraError } from '@tessera/shared';
import { type Tensor, ones, tensor, zeros } from '@tessera/tensor';
import {
  Linear,
  Parameter,
  clipGradNorm_,
  clipGradValue_,
  lrScheduler,
  optim,
} from '../src/index.js';
import { type OptimizerCase, expectRecorded, reference, restore } from './reference.js';
import { thrownBy } from './thrown-by.js';

const makers: Record<
  keyof typeof reference.optimizers,
  (params: Tensor[], options: Record<string, unknown>) => optim.Optimizer
> = {
  SGD: (params, options) => new optim.SGD(params, options),
  Adam: (params, options) => new optim.Adam(params, options),
  AdamW: (params, options) => new optim.AdamW(params, options),
  RMSprop: (params, options) => new optim.RMSprop(params, options),
  Adagrad: (params, options) => new optim.Adagrad(params, options),
};

/** One unit in the last place of float32 at the size of the values, for a few operations. */
const RELATIVE = 5e-7;

function follow(
  make: (params: Tensor[], options: Record<string, unknown>) => optim.Optimizer,
  recorded: OptimizerCase,
): void {
  const params = recorded.start.map((start) => new Parameter(restore(start)));
  const optimizer = make(params, recorded.options);
  recorded.grads.forEach((grads, step) => {
    if (step === 4) optimizer.paramGroups[0]!.lr *= 0.5;
    params.forEach((param, i) => (param.grad = restore(grads[i]!)));
    optimizer.step();
    params.forEach((param, i) =>
      expectRecorded(
        param,
        recorded.after[step]![i]!,
        `parameter ${i} after step ${step}`,
        RELATIVE,
        RELATIVE,
      ),
    );
  });
  const state = optimizer.state.get(params[0]!)!;
  for (const [name, value] of Object.entries(recorded.state)) {
    if (name === 'step') expect(state.step).toBe(value.values[0]);
    else expectRecorded(state.tensors[name]!, value, name, RELATIVE, RELATIVE);
  }
}

const optimizerCases = (
  Object.entries(reference.optimizers) as [keyof typeof makers, OptimizerCase[]][]
).flatMap(([name, cases]) =>
  cases.map((recorded) => [name, JSON.stringify(recorded.options), recorded] as const),
);

describe('optimizers', () => {
  it.each(optimizerCases)("%s %s: parameters and state are PyTorch's", (name, _, recorded) =>
    follow(makers[name], recorded),
  );
});

describe('Optimizer', () => {
  const withGrad = (value: number): Parameter => {
    const param = new Parameter(tensor([value]));
    param.grad = ones([1]);
    return param;
  };

  it('leaves parameters without gradients alone and starts their state late', () => {
    const [a, b] = [withGrad(1), new Parameter(tensor([1]))];
    const optimizer = new optim.Adam([a, b], { lr: 0.1 });
    optimizer.step();
    expect(b.toArray()).toEqual([1]);
    expect(optimizer.state.get(b)).toBeUndefined();
    b.grad = ones([1]);
    optimizer.step();
    expect([optimizer.state.get(a)!.step, optimizer.state.get(b)!.step]).toEqual([2, 1]);
    // Its first step has the size of the learning rate, whatever the others' counts are.
    expect(b.item()).toBeCloseTo(0.9, 5);
  });

  it('gives each group its options', () => {
    const [a, b] = [withGrad(0), withGrad(0)];
    const optimizer = new optim.SGD([{ params: [a] }, { params: b, lr: 3 }], { lr: 1 });
    optimizer.step();
    expect([a.item(), b.item()]).toEqual([-1, -3]);
    const late = withGrad(0);
    optimizer.addParamGroup({ params: [late], lr: 5 });
    optimizer.step();
    expect([a.item(), b.item(), late.item()]).toEqual([-2, -6, -5]);
  });

  it('clears gradients, or sets them to zero', () => {
    const param = withGrad(0);
    const optimizer = new optim.SGD([param]);
    const { grad } = param;
    optimizer.zeroGrad({ setToNone: false });
    expect(param.grad!.toArray()).toEqual([0]);
    expect(param.grad!.storage).toBe(grad!.storage);
    optimizer.zeroGrad();
    expect(param.grad).toBeNull();
  });

  it('runs a closure with gradients on and returns its loss', () => {
    const param = new Parameter(tensor([2]));
    const optimizer = new optim.SGD([param], { lr: 0.5 });
    const loss = optimizer.step(() => {
      optimizer.zeroGrad();
      const value = param.mul(param).sum();
      value.backward();
      return value;
    });
    expect(loss!.item()).toBe(4);
    expect(param.toArray()).toEqual([0]);
  });

  it('continues after its state dict was loaded, and shares nothing with the saved one', () => {
    const make = (): [Parameter, optim.AdamW] => {
      const param = new Parameter(tensor([1, 2]));
      return [param, new optim.AdamW([param], { lr: 0.1 })];
    };
    const step = (param: Parameter, optimizer: optim.AdamW): void => {
      param.grad = param.detach().mul(2);
      optimizer.step();
    };
    const [a, first] = make();
    step(a, first);
    first.paramGroups[0]!.lr = 0.01;
    const [b, second] = make();
    b.detach().copy_(a);
    second.loadStateDict(first.stateDict());
    expect(second.paramGroups[0]!.lr).toBe(0.01);
    for (let i = 0; i < 3; i++) {
      step(a, first);
      step(b, second);
    }
    expect(b.toArray()).toEqual(a.toArray());
    expect(second.state.get(b)!.step).toBe(4);
    expect(second.state.get(b)!.tensors.exp_avg!.storage).not.toBe(
      first.state.get(a)!.tensors.exp_avg!.storage,
    );
  });

  it('accepts a step count as a tensor, as PyTorch saves it', () => {
    const param = withGrad(1);
    const optimizer = new optim.Adam([param]);
    optimizer.loadStateDict({
      state: { 0: { step: tensor(7), exp_avg: zeros([1]), exp_avg_sq: zeros([1]) } },
      paramGroups: [{ lr: 0.1, params: [0] }],
    });
    optimizer.step();
    expect(optimizer.state.get(param)!.step).toBe(8);
  });

  it('refuses a state dict of other groups or shapes and stays as it was', () => {
    const param = withGrad(1);
    const optimizer = new optim.Adam([param], { lr: 0.1 });
    optimizer.step();
    const groups = thrownBy(() => optimizer.loadStateDict({ state: {}, paramGroups: [] }));
    const size = thrownBy(() =>
      optimizer.loadStateDict({ state: {}, paramGroups: [{ lr: 1, params: [0, 1] }] }),
    );
    const shape = thrownBy(() =>
      optimizer.loadStateDict({
        state: { 0: { step: 1, exp_avg: zeros([2]) } },
        paramGroups: [{ lr: 1, params: [0] }],
      }),
    );
    for (const error of [groups, size, shape])
      expect(isTesseraError(error, 'state-dict-mismatch')).toBe(true);
    expect(shape.message).toContain(
      'exp_avg of parameter 0 has shape [2], the parameter has shape [1]',
    );
    expect(optimizer.paramGroups[0]!.lr).toBe(0.1);
    expect(optimizer.state.get(param)!.step).toBe(1);
  });

  it.each([
    ['an empty list', () => new optim.SGD([]), 'optimizer got an empty parameter list'],
    ['a negative rate', () => new optim.SGD([withGrad(0)], { lr: -1 }), 'Invalid lr value: -1'],
    [
      'betas of one',
      () => new optim.Adam([withGrad(0)], { betas: [1, 0.9] }),
      'Invalid betas value: [1, 0.9]',
    ],
    [
      'nesterov without momentum',
      () => new optim.SGD([withGrad(0)], { nesterov: true }),
      'nesterov needs a momentum',
    ],
    [
      'a computed tensor',
      () => new optim.SGD([withGrad(0).mul(2)]),
      "can't optimize a non-leaf Tensor",
    ],
    [
      'a parameter twice',
      () => {
        const param = withGrad(0);
        return new optim.SGD([{ params: [param] }, { params: [param] }]);
      },
      'some parameters appear more than once',
    ],
  ])('refuses %s', (_, make, message) => {
    const error = thrownBy(make);
    expect(isTesseraError(error, 'invalid-argument')).toBe(true);
    expect(error.message).toContain(message);
  });

  it("prints as PyTorch's do", () => {
    expect(new optim.SGD(new Linear(1, 1).parameters(), { lr: 0.1 }).toString())
      .toMatchInlineSnapshot(`
      "SGD (
      Parameter Group 0
          dampening: 0
          lr: 0.1
          maximize: False
          momentum: 0
          nesterov: False
          weightDecay: 0
      )"
    `);
  });
});

describe('clipping', () => {
  const clipped = (
    recorded: (typeof reference.clip)['norm'],
    clip: (params: Parameter[]) => Tensor | void,
  ): void => {
    const params = recorded.grads.map((grad) => {
      const param = new Parameter(zeros(grad.shape));
      param.grad = restore(grad);
      return param;
    });
    const total = clip(params);
    if (recorded.total !== null) expect((total as Tensor).item()).toBeCloseTo(recorded.total, 5);
    params.forEach((param, i) =>
      expectRecorded(param.grad!, recorded.after[i]!, `gradient ${i}`, 1e-6, 1e-6),
    );
  };

  it('scales gradients to a norm', () => {
    clipped(reference.clip.norm, (params) => clipGradNorm_(params, 1));
    clipped(reference.clip.normInf, (params) => clipGradNorm_(params, 0.5, { normType: Infinity }));
    clipped(reference.clip.normLoose, (params) => clipGradNorm_(params, 100));
  });

  it('clamps gradients', () =>
    clipped(reference.clip.value, (params) => clipGradValue_(params, 0.5)));

  it('does nothing without gradients, and reports a norm that is not finite if asked to', () => {
    const param = new Parameter(zeros([1]));
    expect(clipGradNorm_([param], 1).item()).toBe(0);
    param.grad = tensor([NaN]);
    expect(
      isTesseraError(
        thrownBy(() => clipGradNorm_([param], 1, { errorIfNonfinite: true })),
        'nan-gradient',
      ),
    ).toBe(true);
  });
});

describe('learning-rate schedules', () => {
  const groups = (): optim.SGD =>
    new optim.SGD(
      [{ params: [new Parameter(zeros([1]))] }, { params: [new Parameter(zeros([1]))], lr: 0.3 }],
      { lr: 0.1 },
    );
  const schedulers: Record<
    keyof typeof reference.schedules,
    (optimizer: optim.SGD, options: Record<string, number>) => lrScheduler.LRScheduler
  > = {
    StepLR: (optimizer, options) => new lrScheduler.StepLR(optimizer, options as never),
    CosineAnnealingLR: (optimizer, options) =>
      new lrScheduler.CosineAnnealingLR(optimizer, options as never),
    LinearLR: (optimizer, options) => new lrScheduler.LinearLR(optimizer, options),
    LambdaLR: (optimizer) => new lrScheduler.LambdaLR(optimizer, (epoch) => 0.9 ** epoch),
  };

  for (const [name, cases] of Object.entries(reference.schedules) as [
    keyof typeof schedulers,
    (typeof reference.schedules)['StepLR'],
  ][]) {
    it.each(cases.map((recorded) => [JSON.stringify(recorded.options), recorded] as const))(
      `${name} %s: rates are PyTorch's`,
      (_, recorded) => {
        const optimizer = groups();
        const scheduler = schedulers[name](optimizer, recorded.options);
        recorded.rates.forEach((rates, epoch) => {
          if (epoch > 0) scheduler.step();
          optimizer.paramGroups.forEach((group, i) =>
            expect(group.lr, `group ${i}, epoch ${epoch}`).toBeCloseTo(rates[i]!, 12),
          );
        });
        expect(scheduler.getLastLr()).toEqual(optimizer.paramGroups.map((group) => group.lr));
      },
    );
  }

  it('continues from a saved position', () => {
    const [a, b] = [groups(), groups()];
    const first = new lrScheduler.StepLR(a, { stepSize: 2 });
    for (let i = 0; i < 3; i++) first.step();
    const second = new lrScheduler.StepLR(b, { stepSize: 2 });
    b.loadStateDict(a.stateDict());
    second.loadStateDict(first.stateDict());
    first.step();
    second.step();
    expect(second.getLastLr()).toEqual(first.getLastLr());
    expect(second.lastEpoch).toBe(4);
  });

  it('refuses factors out of range and the wrong number of functions', () => {
    expect(
      isTesseraError(
        thrownBy(() => new lrScheduler.LinearLR(groups(), { startFactor: 2 })),
        'invalid-argument',
      ),
    ).toBe(true);
    expect(
      isTesseraError(
        thrownBy(() => new lrScheduler.LambdaLR(groups(), [() => 1])),
        'invalid-argument',
      ),
    ).toBe(true);
  });
});
