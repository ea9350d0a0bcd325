/**
 * @file Modules and optimizers under the tracer: what recompiles, what does not, what a replay skips.
 */
import { beforeEach, describe, expect, it, vi } from 'vitest';
import { type Tensor, manualSeed, ones, tensor } from '@tessera/tensor';
import {
  BatchNorm1d,
  Dropout,
  Flatten,
  Linear,
  Module,
  Parameter,
  ReLU,
  Sequential,
  type TensorModule,
  clipGradNorm_,
  functional,
  lrScheduler,
  optim,
} from '../src/index.js';
import { trustUpdate } from '../src/optim/trusted-updates.js';
import { type CompiledForTest, compileForTest } from './compile-for-test.js';
import { digitBatch, initialState } from './oracle.js';

/** Runs of the body of Sequential's forward. */
const bodies = vi.spyOn(Sequential.prototype, 'forward');
beforeEach(() => void bodies.mockClear());

function layers(): TensorModule[] {
  return [new Flatten(), new Linear(64, 128), new ReLU(), new Linear(128, 10)];
}

function mlp(): Sequential {
  const model = new Sequential(...layers());
  model.loadStateDict(initialState('digits_mlp'));
  return model;
}

type Step = (images: Tensor, labels: Tensor) => Tensor;

function trainingStep(model: TensorModule, optimizer: optim.Optimizer): Step {
  return (images, labels) => {
    optimizer.zeroGrad();
    const loss = functional.crossEntropy(model.call(images), labels);
    loss.backward();
    optimizer.step();
    return loss;
  };
}

function run(step: Step, count: number, between: (i: number) => void = () => {}): number[] {
  return Array.from({ length: count }, (_, i) => {
    if (i > 0) between(i);
    const { images, labels } = digitBatch(i);
    return step(images, labels).item();
  });
}

/** Runs the same program eagerly and compiled; the losses must be equal. */
function compare(
  make: () => {
    model: TensorModule;
    optimizer: optim.Optimizer;
    between?: (i: number) => void;
  },
  count: number,
): CompiledForTest<[Tensor, Tensor], Tensor> {
  const eager = make();
  const expected = run(trainingStep(eager.model, eager.optimizer), count, eager.between);
  const { model, optimizer, between } = make();
  const compiled = compileForTest(trainingStep(model, optimizer));
  expect(run(compiled.call, count, between)).toEqual(expected);
  return compiled;
}

describe('a compiled training step', () => {
  it('is captured once, and a replay jumps over the optimizer', () => {
    const model = mlp();
    const optimizer = new optim.AdamW(model.parameters(), { lr: 1e-2 });
    const updates = vi.spyOn(optim.Adam.prototype as unknown as { update(): void }, 'update');
    trustUpdate(optim.Adam);
    const compiled = compileForTest(trainingStep(model, optimizer));
    run(compiled.call, 5);
    expect([compiled.function.captures.length, compiled.graphs.length]).toEqual([1, 1]);
    expect(bodies).toHaveBeenCalledTimes(5);
    expect(updates).toHaveBeenCalledTimes(1);
    updates.mockRestore();
    expect(optimizer.state.get(model.parameters()[0]!)!.step).toBe(5);
  });

  it('takes schedules, new rates, betas and step counts without another capture', () => {
    const compiled = compare(() => {
      const model = mlp();
      const optimizer = new optim.AdamW(model.parameters(), { lr: 1e-2 });
      const scheduler = new lrScheduler.CosineAnnealingLR(optimizer, { tMax: 4 });
      return {
        model,
        optimizer,
        between: (i) => {
          scheduler.step();
          if (i === 3) optimizer.paramGroups[0]!.betas = [0.8, 0.99];
          if (i === 4) optimizer.paramGroups[0]!.weightDecay = 0.5;
        },
      };
    }, 6);
    expect(compiled.function.captures.length).toBe(1);
  });

  it('is captured again for other choices of the optimizer', () => {
    const compiled = compare(() => {
      const model = mlp();
      const optimizer = new optim.AdamW(model.parameters(), { lr: 1e-2 });
      return {
        model,
        optimizer,
        between: (i) => (i === 3 ? (optimizer.paramGroups[0]!.amsgrad = true) : undefined),
      };
    }, 6);
    expect(compiled.function.captures.length).toBe(2);
  });

  it.each([
    [
      'SGD with momentum and weight decay',
      (model: Module) =>
        new optim.SGD(model.parameters(), {
          lr: 0.1,
          momentum: 0.9,
          dampening: 0.1,
          weightDecay: 1e-4,
        }),
    ],
    [
      'Nesterov SGD',
      (model: Module) =>
        new optim.SGD(model.parameters(), { lr: 0.1, momentum: 0.9, nesterov: true }),
    ],
    ['Adam with amsgrad', (model: Module) => new optim.Adam(model.parameters(), { amsgrad: true })],
    [
      'centered RMSprop',
      (model: Module) =>
        new optim.RMSprop(model.parameters(), { lr: 1e-3, centered: true, momentum: 0.5 }),
    ],
    ['Adagrad', (model: Module) => new optim.Adagrad(model.parameters(), { lrDecay: 0.1 })],
  ])('is captured once with %s', (_, make) => {
    const compiled = compare(() => {
      const model = mlp();
      return { model, optimizer: make(model) };
    }, 4);
    expect([compiled.function.captures.length, compiled.graphs.length]).toEqual([1, 1]);
  });

  it('follows parameters that lose and regain their gradients', () => {
    const compiled = compare(() => {
      const model = mlp();
      const optimizer = new optim.AdamW(model.parameters(), { lr: 1e-2 });
      const first = model.at(1) as Linear;
      return {
        model,
        optimizer,
        between: (i) =>
          i === 2 ? first.requiresGrad_(false) : i === 4 ? first.requiresGrad_() : undefined,
      };
    }, 7);
    // Two layers, one layer, and two layers whose step counts differ.
    expect(compiled.function.captures.length).toBe(3);
  });

  it('clips gradients in its graph', () => {
    const make = (): Step => {
      const model = mlp();
      const optimizer = new optim.SGD(model.parameters(), { lr: 0.5 });
      return (images, labels) => {
        optimizer.zeroGrad();
        const loss = functional.crossEntropy(model.call(images), labels);
        loss.backward();
        clipGradNorm_(model.parameters(), 0.1);
        optimizer.step();
        return loss;
      };
    };
    const compiled = compileForTest(make());
    expect(run(compiled.call, 4)).toEqual(run(make(), 4));
    expect([compiled.function.captures.length, compiled.graphs.length]).toEqual([1, 1]);
  });

  it('accumulates gradients into zeroed ones', () => {
    const make = (): Step => {
      const model = mlp();
      const optimizer = new optim.SGD(model.parameters(), { lr: 0.1 });
      return (images, labels) => {
        optimizer.zeroGrad({ setToNone: false });
        const loss = functional.crossEntropy(model.call(images), labels);
        loss.div(2).backward();
        functional.crossEntropy(model.call(images), labels).div(2).backward();
        optimizer.step();
        return loss;
      };
    };
    const compiled = compileForTest(make());
    expect(run(compiled.call, 5)).toEqual(run(make(), 5));
    // The first call finds no gradients, the others do.
    expect(compiled.function.captures.length).toBe(2);
  });

  it('sees a state dict that was loaded, without another capture', () => {
    const compiled = compare(() => {
      const model = mlp();
      const optimizer = new optim.AdamW(model.parameters(), { lr: 1e-2 });
      const start = Object.fromEntries(
        Object.entries(model.stateDict()).map(([name, value]) => [name, value.clone()]),
      );
      const saved = optimizer.stateDict();
      return {
        model,
        optimizer,
        between: (i) => {
          if (i !== 3) return;
          model.loadStateDict(start);
          optimizer.loadStateDict(saved);
        },
      };
    }, 6);
    expect(compiled.function.captures.length).toBe(1);
  });
});

describe('a compiled module', () => {
  it('is captured again where eval() changes what runs, and not for switching back', () => {
    const model = new Sequential(...layers(), new Dropout());
    const { images } = digitBatch(0);
    const compiled = compileForTest((x: Tensor) => model.call(x));
    compiled.call(images);
    model.eval();
    compiled.call(images);
    expect(compiled.function.captures.length).toBe(2);
    model.train();
    compiled.call(images);
    model.eval();
    compiled.call(images);
    expect(compiled.function.captures.length).toBe(2);
    const plain = mlp();
    const same = compileForTest((x: Tensor) => plain.call(x));
    same.call(images);
    plain.eval();
    same.call(images);
    expect(same.function.captures.length).toBe(1);
  });

  it('takes a replaced parameter, matching it in place of the old one', () => {
    const model = new Sequential(new Linear(2, 2, { bias: false }));
    const compiled = compileForTest((x: Tensor) => model.call(x));
    const x = ones([1, 2]);
    compiled.call(x);
    (model.at(0) as Linear).weight = new Parameter(
      tensor([
        [1, 2],
        [3, 4],
      ]),
    );
    expect(compiled.call(x).toArray()).toEqual([[3, 7]]);
    expect(compiled.function.captures.length).toBe(1);
  });

  it('notices a child that was replaced by a module of another class', () => {
    const model = new Sequential(new ReLU());
    const compiled = compileForTest((x: Tensor) => model.call(x));
    const x = tensor([-1, 1]);
    compiled.call(x);
    (model as unknown as Record<string, Module>)['0'] = new Flatten(0);
    expect(compiled.call(x).toArray()).toEqual([-1, 1]);
    expect(compiled.function.captures.length).toBe(2);
  });

  it('runs hooks on every call, also those added later', () => {
    const model = new Sequential(new ReLU());
    const compiled = compileForTest((x: Tensor) => model.call(x));
    const x = tensor([-1, 1]);
    expect(compiled.call(x).toArray()).toEqual([0, 1]);
    let calls = 0;
    const hook = model.at(0).registerForwardHook((_, __, output) => {
      calls++;
      return (output as Tensor).add(1);
    });
    for (let i = 0; i < 3; i++) expect(compiled.call(x).toArray()).toEqual([1, 2]);
    expect(calls).toBe(3);
    hook.remove();
    expect(compiled.call(x).toArray()).toEqual([0, 1]);
    expect(compiled.function.captures.length).toBe(2);
  });

  it('runs user modules natively: a closure that changes is seen', () => {
    let factor = 2;
    class Scaled extends Module {
      fc = new Linear(2, 2);

      override forward(x: Tensor): Tensor {
        return this.fc.call(x).mul(factor);
      }
    }
    const model = new Sequential(new Scaled(), new ReLU());
    const compiled = compileForTest((x: Tensor) => model.call(x));
    const x = ones([1, 2]);
    const expected = (): unknown => model.call(x).toArray();
    for (const value of [2, 2, 5, 7, 7]) {
      factor = value;
      expect(compiled.call(x).toArray()).toEqual(expected());
    }
    expect(compiled.function.captures.length).toBe(2);
  });

  it('sees what a subclass adds to forward', () => {
    let offset = 0;
    class Shifted extends Linear {
      override forward(x: Tensor): Tensor {
        return super.forward(x).add(offset);
      }
    }
    const model = new Shifted(1, 1);
    const compiled = compileForTest((x: Tensor) => model.call(x));
    const x = ones([1, 1]);
    for (offset of [0, 3]) expect(compiled.call(x).toArray()).toEqual(model.call(x).toArray());
  });

  it('can be loaded inside the compiled function', () => {
    const model = new Sequential(new Linear(1, 1, { bias: false }));
    const compiled = compileForTest((weight: Tensor, x: Tensor) => {
      model.loadStateDict({ '0.weight': weight });
      return model.call(x);
    });
    for (const value of [2, 3, 5])
      expect(compiled.call(tensor([[value]]), ones([1, 1])).item()).toBe(value);
    expect((model.at(0) as Linear).weight.item()).toBe(5);
    expect(compiled.function.captures.length).toBe(1);
  });

  it('draws new dropout masks on every call, the same as eager from the same seed', () => {
    const model = new Sequential(new Linear(4, 4), new Dropout(0.5));
    const compiled = compileForTest((x: Tensor) => model.call(x));
    const x = ones([8, 4]);
    const runs = (call: (x: Tensor) => Tensor): unknown[] => {
      manualSeed(7);
      return [1, 2, 3].map(() => call(x).toArray());
    };
    const expected = runs((input) => model.call(input));
    expect(runs(compiled.call)).toEqual(expected);
    expect(expected[0]).not.toEqual(expected[1]);
    expect(compiled.function.captures.length).toBe(1);
    model.eval();
    expect(runs(compiled.call)).toEqual(runs((input) => model.call(input)));
    expect(compiled.function.captures.length).toBe(2);
  });

  it('averages all batches of a batch norm in one graph, as eager does', () => {
    const [eager, model] = [
      new BatchNorm1d(2, { momentum: null }),
      new BatchNorm1d(2, { momentum: null }),
    ];
    const compiled = compileForTest((x: Tensor) => model.call(x.mul(2)));
    for (let i = 0; i < 5; i++) {
      const x = tensor([
        [i, 1],
        [2, i * i],
      ]);
      expect(compiled.call(x).toArray()).toEqual(eager.call(x.mul(2)).toArray());
    }
    expect(model.running_mean!.toArray()).toEqual(eager.running_mean!.toArray());
    expect(model.running_var!.toArray()).toEqual(eager.running_var!.toArray());
    expect(model.num_batches_tracked!.item()).toBe(5);
    expect(compiled.function.captures.length).toBe(1);
    expect(compiled.function.captures[0]!.breaks).toEqual([]);
  });
});
