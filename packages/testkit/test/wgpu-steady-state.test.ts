/**
 * @file On WebGPU a loop makes no buffers and no bind groups once it is under way, whatever in it is held,
 * changes or takes turns.
 */
import { compile, initWebGpu } from '@tessera/compile';
import { BatchNorm2d, Conv2d, Flatten, LSTM, Linear, MaxPool2d } from '@tessera/nn';
import { ReLU, Sequential, functional as F, optim } from '@tessera/nn';
import { counters } from '@tessera/shared';
import {
  type DeviceType,
  type Tensor,
  grad,
  manualSeed,
  noGrad,
  randint,
  randn,
} from '@tessera/tensor';
import { beforeAll, describe, expect, it, vi } from 'vitest';
import { fullTests } from '../../../tooling/full-tests.js';
import { wantsGpu } from '../../../tooling/wants-gpu.js';

const gpu = wantsGpu ? await initWebGpu() : null;

vi.setConfig({ testTimeout: 300_000 });

// Twice the longest loop: results that are held for a while return to the same places every twelfth round.
const WARM_UP = 24;
const STEPS = fullTests ? 100 : 30;

/** What a loop makes after its first rounds. */
async function made(step: (i: number) => void | Promise<void>): Promise<Record<string, number>> {
  let before: Readonly<Record<string, number>> = {};
  for (let i = 0; i < WARM_UP + STEPS; i++) {
    if (i === WARM_UP) before = counters.get('wgpu');
    await step(i);
  }
  const after = counters.get('wgpu');
  // What is counted is counted.
  expect(before['buffers_created']).toBeGreaterThan(0);
  expect(before['bind_groups_created']).toBeGreaterThan(0);
  await gpu!.synchronize();
  const since = (name: string): number => (after[name] ?? 0) - (before[name] ?? 0);
  return { buffers: since('buffers_created'), bindGroups: since('bind_groups_created') };
}

const NOTHING = { buffers: 0, bindGroups: 0 };

interface Training {
  readonly model: Sequential;
  readonly optimizer: optim.Optimizer;
  readonly step: (x: Tensor, y: Tensor) => Tensor;
}

function training(
  model: Sequential,
  optimizerOf: (parameters: Tensor[]) => optim.Optimizer,
  device: DeviceType = 'wgpu',
): Training {
  model.to(device);
  const optimizer = optimizerOf([...model.parameters()]);
  const step = compile((x: Tensor, y: Tensor) => {
    optimizer.zeroGrad();
    const loss = F.crossEntropy(model.call(x) as Tensor, y);
    loss.backward();
    optimizer.step();
    return loss;
  });
  return { model, optimizer, step };
}

const adamW = (parameters: Tensor[]): optim.Optimizer => new optim.AdamW(parameters, { lr: 1e-3 });

function perceptron(widths: readonly number[], device: DeviceType = 'wgpu'): Training {
  const layers = widths.slice(1).flatMap((outputs, i) => {
    const linear = new Linear(widths[i]!, outputs);
    return i === widths.length - 2 ? [linear] : [linear, new ReLU()];
  });
  return training(new Sequential(...layers), adamW, device);
}

function batch(sizes: readonly number[], device: DeviceType = 'wgpu'): [Tensor, Tensor] {
  return [randn(sizes).to(device), randint(0, 10, [sizes[0]!]).to(device)];
}

const SMALL = [48, 40, 24, 10];

describe.skipIf(gpu === null)('a training loop on wgpu', () => {
  beforeAll(() => {
    manualSeed(0);
  });

  it('makes nothing for a perceptron on one batch', async () => {
    const { step } = perceptron(fullTests ? [784, 512, 256, 10] : SMALL);
    const [x, y] = batch([2, fullTests ? 784 : SMALL[0]!]);
    expect(
      await made(() => {
        step(x, y).dispose();
      }),
    ).toEqual(NOTHING);
  });

  it('makes nothing while batches take turns', async () => {
    const { step } = perceptron(SMALL);
    const batches = Array.from({ length: 4 }, () => batch([4, 48]));
    expect(
      await made((i) => {
        step(...batches[i % 4]!).dispose();
      }),
    ).toEqual(NOTHING);
  });

  it('makes nothing while each batch is sent to the device anew', async () => {
    const { step } = perceptron(SMALL);
    const [x, y] = batch([4, 48], 'cpu');
    expect(
      await made(() => {
        const there = [x.to('wgpu'), y.to('wgpu')] as const;
        step(...there).dispose();
        for (const tensor of there) tensor.dispose();
      }),
    ).toEqual(NOTHING);
  });

  it('makes nothing for losses that are all held, and they stay what they were', async () => {
    manualSeed(7);
    const there = perceptron(SMALL);
    const [x, y] = batch([4, 48]);
    manualSeed(7);
    const here = perceptron(SMALL, 'cpu');
    const hostBatch = batch([4, 48], 'cpu');
    const losses: Tensor[] = [];
    const expected: number[] = [];
    expect(
      await made(() => {
        losses.push(there.step(x, y));
        expected.push(here.step(...hostBatch).item() as number);
      }),
    ).toEqual(NOTHING);
    for (const [i, loss] of losses.entries())
      expect((await loss.toArray()) as unknown as number).toBeCloseTo(expected[i]!, 4);
    expect(expected.at(-1)!).toBeLessThan(expected[0]! / 2);
  });

  it('makes nothing while the loss is read now and then and the learning rate changes', async () => {
    const { optimizer, step } = perceptron(SMALL);
    const [x, y] = batch([4, 48]);
    expect(
      await made(async (i) => {
        optimizer.paramGroups[0]!.lr = 1e-3 * (1 + (i % 7));
        const loss = step(x, y);
        if (i % 5 === 0) await loss.item();
        loss.dispose();
      }),
    ).toEqual(NOTHING);
  });

  it('makes nothing where the last gradients go only after the next ones are there', async () => {
    const { model, step } = perceptron(SMALL);
    const [x, y] = batch([4, 48]);
    let last: Tensor[] = [];
    expect(
      await made(() => {
        step(x, y).dispose();
        for (const gradient of last) gradient.dispose();
        last = [...model.parameters()].map((parameter) => parameter.grad!);
      }),
    ).toEqual(NOTHING);
  });

  it('makes nothing for a convolutional network', async () => {
    const model = new Sequential(
      ...[new Conv2d(1, 4, 3), new BatchNorm2d(4), new ReLU(), new MaxPool2d(2)],
      ...[new Flatten(), new Linear(4 * 5 * 5, 10)],
    );
    const { step } = training(
      model,
      (parameters) => new optim.SGD(parameters, { lr: 0.01, momentum: 0.9 }),
    );
    const batches = Array.from({ length: 2 }, () => batch([3, 1, 12, 12]));
    expect(
      await made((i) => {
        step(...batches[i % 2]!).dispose();
      }),
    ).toEqual(NOTHING);
  });

  it('makes nothing for an LSTM whose last states nobody uses', async () => {
    const lstm = new LSTM(6, 5).to('wgpu');
    const optimizer = new optim.SGD(lstm.parameters(), { lr: 0.01 });
    const step = compile((x: Tensor, y: Tensor) => {
      optimizer.zeroGrad();
      const loss = F.mseLoss(lstm.call(x)[0], y);
      loss.backward();
      optimizer.step();
      return loss;
    });
    const [x, y] = [randn([7, 3, 6]).to('wgpu'), randn([7, 3, 5]).to('wgpu')];
    expect(
      await made(() => {
        step(x, y).dispose();
      }),
    ).toEqual(NOTHING);
  });
});

describe.skipIf(gpu === null)('cross entropy on wgpu', () => {
  it('makes and copies nothing, forward and backward', async () => {
    const x = randn([6, 40], { device: 'wgpu' });
    x.requiresGrad_();
    const [, y] = batch([6, 1]);
    const both = compile((logits: Tensor, labels: Tensor) => {
      const loss = F.crossEntropy(logits, labels);
      return [loss, grad(loss, [logits])[0]!];
    });
    const copies = counters.get('wgpu', 'copies');
    expect(
      await made(() => {
        for (const result of both(x, y)) result.dispose();
      }),
    ).toEqual(NOTHING);
    expect(counters.get('wgpu', 'copies')).toBe(copies);
  });
});

describe.skipIf(gpu === null)('inference on wgpu', () => {
  const model = new Sequential(new Linear(48, 80), new ReLU(), new Linear(80, 100));
  beforeAll(() => void model.to('wgpu'));
  const predict = compile((x: Tensor) => noGrad(() => model.call(x) as Tensor));

  it('makes nothing where results are disposed of', async () => {
    const x = randn([4, 48]).to('wgpu');
    expect(await made(() => predict(x).dispose())).toEqual(NOTHING);
  });

  it('makes nothing where some results are held for a while and others not', async () => {
    const x = randn([5, 48]).to('wgpu');
    const held: Tensor[] = [];
    expect(
      await made((i) => {
        const result = predict(x);
        // A result of another function comes and goes in memory of the same size.
        result.relu().dispose();
        if (i % 3 === 0) held.push(result);
        else result.dispose();
        if (held.length === 4) for (const old of held.splice(0, 3)) old.dispose();
      }),
    ).toEqual(NOTHING);
  });
});
