/**
 * @file Recurrent layers that are too wide for a workgroup's registers, layers with projections, and CTC of many labels:
 * one program for all lengths and a kernel for each layer and direction, with the numbers of the steps one by one.
 */
import { compile, initWebGpu, observeCompilations } from '@tessera/compile';
import { GRU, LSTM, RNN, functional as F } from '@tessera/nn';
import { type DeviceType, type Tensor, manualSeed, randint, randn, tensor } from '@tessera/tensor';
import { sampleName, sampled } from '../../../tooling/full-tests.js';
import { runAndGetCode } from '../src/index.js';
import { type Network, outputs, stepByStep } from './steps-one-by-one.js';
import { beforeAll, describe, expect, it, vi } from 'vitest';

const wanted = process.env['TESSERA_REQUIRE_WEBGPU'] === '1';

vi.setConfig({ testTimeout: 240_000 });

type Run = (x: Tensor) => Tensor;

const NETWORKS: Readonly<Record<string, () => Network>> = {
  'LSTM of 128 units': () => new LSTM(6, 128),
  'LSTM with projections both ways': () => new LSTM(6, 24, { projSize: 5, bidirectional: true }),
  'GRU of 512 units': () => new GRU(6, 512),
  'LSTM of 512 units': () => new LSTM(6, 512),
  'GRU of 128 units both ways': () => new GRU(6, 128, { bidirectional: true }),
  'RNN of 512 units': () => new RNN(6, 512),
  'LSTM of 130 units with projections': () => new LSTM(6, 130, { projSize: 40 }),
};

const CTC = 'CTC of a hundred labels';
const tried = sampled([...Object.keys(NETWORKS), CTC], 4);

/** Sums of squares of output and last states, which depend on every one of them. */
function scored(parts: readonly Tensor[]): Tensor {
  return parts
    .map((x, i) =>
      x
        .pow(2)
        .mul(i + 1)
        .sum(),
    )
    .reduce((a, b) => a.add(b));
}

const whole =
  (network: Network): Run =>
  (x) =>
    scored(outputs(network)(x));

const oneByOne =
  (network: Network): Run =>
  (x) =>
    scored(stepByStep(network)(x));

/** Value and gradients of input and parameters. */
async function results(network: Network, x: Tensor, run: Run): Promise<number[][]> {
  const input = x.detach().requiresGrad_();
  network.zeroGrad();
  const value = run(input);
  value.backward();
  const grads = [input, ...network.parameters()].map((leaf) => leaf.grad!);
  const all = [value, ...grads].map((each) => each.flatten().toArray());
  return (await Promise.all(all)) as number[][];
}

/** Fails where numbers differ by more than a share of the largest. */
function expectEqual(found: readonly number[][], expected: readonly number[][]): void {
  expect(found).toHaveLength(expected.length);
  for (const [i, list] of expected.entries()) {
    const most = list.reduce((a, b) => Math.max(a, Math.abs(b)), 0);
    const off = list.reduce((a, b, j) => Math.max(a, Math.abs(b - found[i]![j]!)), 0);
    expect(most, `${i}`).toBeGreaterThan(0);
    expect(off, `${i}`).toBeLessThan(1e-5 * most);
  }
}

/** What a function gives, and how many programs were made for it. */
async function counted<T>(run: () => Promise<T>): Promise<{ result: T; made: number }> {
  let made = 0;
  const stop = observeCompilations((_, { isShared }) => (made += isShared ? 0 : 1));
  const result = await run();
  stop();
  return { result, made };
}

describe.runIf(wanted)('wide recurrent layers on WebGPU', () => {
  beforeAll(async () => {
    await initWebGpu();
  });
  ofDevice('wgpu');
});

describe('wide recurrent layers on the CPU', () => {
  ofDevice('cpu');
});

function ofDevice(device: DeviceType): void {
  it.each(tried.filter((name) => name in NETWORKS))(
    `%s: one program for all lengths, with the numbers of the steps (${sampleName})`,
    async (name) => {
      manualSeed(3);
      const onCpu = NETWORKS[name]!();
      const network = NETWORKS[name]!();
      network.loadStateDict(onCpu.stateDict());
      network.to(device);
      const inputs = [3, 6, 4].map((steps) => randn([steps, 2, 6]));
      const step = (x: Tensor): Tensor => {
        const value = whole(network)(x);
        value.backward();
        return value;
      };
      const run = compile(step, { dynamic: true });
      const { result, made } = await counted(async () => {
        const found: number[][][] = [];
        for (const x of inputs) {
          network.zeroGrad();
          const value = run(x.to(device));
          const grads = [...network.parameters()].map((leaf) => leaf.grad!);
          const all = [value, ...grads].map((each) => each.flatten().toArray());
          found.push((await Promise.all(all)) as number[][]);
        }
        return found;
      });
      expect(made).toBe(1);
      for (const [i, x] of inputs.entries()) {
        const [value, , ...grads] = await results(onCpu, x, oneByOne(onCpu));
        expectEqual(result[i]!, [value!, ...grads]);
      }
      const eager = await results(network, inputs[0]!.to(device), whole(network));
      expectEqual(eager, await results(onCpu, inputs[0]!, oneByOne(onCpu)));
      const { compiled } = await runAndGetCode(compile(step), inputs[0]!.to(device));
      const kinds = compiled.flatMap(({ plan }) =>
        plan.launches.map(({ kernel }) => plan.kernels[kernel]!.kind),
      );
      const directions = network.bidirectional ? 2 : 1;
      expect(kinds.filter((kind) => kind === 'recurrence')).toHaveLength(2 * directions);
      expect(kinds.length).toBeLessThan(30 * directions);
    },
  );

  if (!tried.includes(CTC)) return;

  it(`${CTC}: one program for all lengths, with the numbers of the CPU (${sampleName})`, async () => {
    manualSeed(4);
    const labels = randint(1, 20, [2, 100]);
    const counts = tensor([100, 61], { dtype: 'int64' });
    const loss =
      (on: DeviceType) =>
      (x: Tensor, lengths: Tensor): Tensor => {
        const logProbs = F.logSoftmax(x, -1);
        return F.ctcLoss(logProbs, labels.to(on), lengths, counts.to(on), { zeroInfinity: true });
      };
    const cases = [150, 190, 170].map((steps) => ({
      x: randn([steps, 2, 20]),
      lengths: tensor([steps, steps - 20], { dtype: 'int64' }),
    }));
    const trained = (run: (x: Tensor, lengths: Tensor) => Tensor, on: DeviceType) =>
      counted(async () => {
        const found: number[][] = [];
        for (const { x, lengths } of cases) {
          const leaf = x.to(on).detach().requiresGrad_();
          const value = run(leaf, lengths.to(on));
          value.backward();
          for (const each of [value, leaf.grad!])
            found.push((await each.flatten().toArray()) as number[]);
        }
        return found;
      });
    const eager = await trained(loss('cpu'), 'cpu');
    const { result, made } = await trained(compile(loss(device), { dynamic: true }), device);
    // Forward and backward.
    expect(made).toBe(2);
    expectEqual(result, eager.result);
  });
}
