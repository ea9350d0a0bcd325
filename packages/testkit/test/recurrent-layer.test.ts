/**
 * @file Layers of recurrent networks as one op: one kernel for all steps, equal to the steps one by one.
 */
import { compile, explain, initWebGpu, observeCompilations, setLogs } from '@tessera/compile';
import {
  GRU,
  LSTM,
  Linear,
  RNN,
  functional as F,
  packPaddedSequence,
  padPackedSequence,
} from '@tessera/nn';
import { setLogSink } from '@tessera/shared';
import {
  type DeviceType,
  type Tensor,
  allclose,
  grad,
  manualSeed,
  noGrad,
  randint,
  randn,
  tensor,
} from '@tessera/tensor';
import { grad as slopeOf, vmap } from '@tessera/tensor/func';
import { fullTests, sampleName, sampled } from '../../../tooling/full-tests.js';
import { runAndGetCode } from '../src/index.js';
import { type Network, outputs, stepByStep } from './steps-one-by-one.js';
import { beforeAll, describe, expect, it, vi } from 'vitest';

const wanted = process.env['TESSERA_REQUIRE_WEBGPU'] === '1';

// Compiling for SwiftShader takes seconds.
vi.setConfig({ testTimeout: 120_000 });

/** Networks by name, with the same parameters on every device. */
const NETWORKS: Readonly<Record<string, () => Network>> = {
  'LSTM, two layers both ways': () => new LSTM(5, 8, { numLayers: 2, bidirectional: true }),
  'LSTM of odd width without biases': () => new LSTM(3, 7, { bias: false }),
  'LSTM whose threads have two terms': () => new LSTM(4, 90),
  'GRU both ways': () => new GRU(5, 9, { bidirectional: true }),
  'RNN of tanh': () => new RNN(4, 6),
  'RNN of relu': () => new RNN(4, 6, { nonlinearity: 'relu' }),
  'one unit': () => new LSTM(2, 1),
};

/** Output and last states, then gradients of input and parameters. */
async function results(
  network: Network,
  x: Tensor,
  run: (x: Tensor) => Tensor[],
): Promise<number[][]> {
  const input = x.detach().requiresGrad_();
  network.zeroGrad();
  const outs = run(input);
  const loss = outs.reduce(
    (sum: Tensor, out, i) =>
      sum.add(
        out
          .mul(out)
          .mul(i + 1)
          .sum(),
      ),
    outs[0]!.sum(),
  );
  loss.backward();
  const grads = [input, ...network.parameters()].map((leaf) => leaf.grad!);
  const lists = await Promise.all([...outs, ...grads].map((tensor) => tensor.flatten().toArray()));
  return lists as number[][];
}

describe.runIf(wanted)('layers of recurrent networks on WebGPU', () => {
  beforeAll(async () => {
    await initWebGpu();
  });
  ofDevice('wgpu');
});

describe('layers of recurrent networks on the CPU', () => {
  ofDevice('cpu');

  it('may be of any width', async () => {
    manualSeed(5);
    const network = new GRU(6, 200);
    const x = randn([3, 9, 6]);
    const expected = await results(network, x, stepByStep(network));
    const found = await results(network, x, compile(outputs(network)));
    for (const [i, list] of expected.entries())
      for (const [j, value] of list.entries()) expect(found[i]![j]).toBeCloseTo(value, 4);
    expect((await kindsOf(network, x)).filter((kind) => kind === 'recurrence')).toHaveLength(1);
  });
});

/** Kinds of all kernels that are launched. */
async function kindsOf(network: Network, x: Tensor): Promise<string[]> {
  const { compiled } = await runAndGetCode(compile(outputs(network)), x);
  const plans = compiled.map(({ plan }) => plan);
  return plans.flatMap(({ launches, kernels }) =>
    launches.map(({ kernel }) => kernels[kernel]!.kind),
  );
}

/** Lengths of steps and labels of some batches. */
const BATCHES: readonly (readonly [lengths: number[], labels: number[]])[] = [
  [
    [11, 13, 12],
    [7, 1, 2],
  ],
  [
    [9, 14, 6],
    [6, 3, 3],
  ],
  [
    [4, 8],
    [1, 5],
  ],
  [
    [7, 5, 10, 12],
    [5, 4, 6, 1],
  ],
  [
    [15, 6],
    [7, 0],
  ],
];

/** Losses and gradients of a recurrent acoustic model, over batches of different lengths. */
async function acoustic(device: DeviceType, compiled: boolean): Promise<number[][]> {
  manualSeed(9);
  const network = new LSTM(3, 4, { bidirectional: true }).to(device);
  const head = new Linear(8, 5).to(device);
  const loss = (x: Tensor, lengths: number[], labels: Tensor, counts: Tensor): Tensor => {
    const packed = packPaddedSequence(x, lengths, { enforceSorted: false });
    const [output, [hidden]] = network.call(packed);
    const [padded, steps] = padPackedSequence(output);
    const logProbs = F.logSoftmax(head.call(padded), -1);
    const given = F.ctcLoss(logProbs, labels, steps, counts, { zeroInfinity: true });
    const sum = given.add(hidden.pow(2).mean());
    sum.backward();
    return sum;
  };
  const run = compiled ? compile(loss) : loss;
  const found: number[][] = [];
  for (const [lengths, counts] of BATCHES) {
    const x = randn([Math.max(...lengths), lengths.length, 3]).to(device);
    const labels = randint(1, 5, [lengths.length, Math.max(...counts)]).to(device);
    network.zeroGrad();
    head.zeroGrad();
    const value = run(x, lengths, labels, tensor(counts, { dtype: 'int64' }).to(device));
    const grads = [...network.parameters(), ...head.parameters()].map(({ grad: own }) => own!);
    for (const each of [value, ...grads]) found.push((await each.flatten().toArray()) as number[]);
  }
  return found;
}

function ofDevice(device: 'cpu' | 'wgpu'): void {
  // SwiftShader takes 20 seconds for their code.
  it.runIf(device === 'cpu' || fullTests)(
    'along packed sequences, and CTC, have few programs for all lengths',
    async () => {
      const wantedNumbers = await acoustic('cpu', false);
      let made = 0;
      const stop = observeCompilations((_, { isShared }) => (made += isShared ? 0 : 1));
      const found = await acoustic(device, true);
      stop();
      expect(made).toBeLessThanOrEqual(3);
      for (const [i, list] of wantedNumbers.entries())
        for (const [j, value] of list.entries()) expect(found[i]![j]).toBeCloseTo(value, 4);
    },
  );

  // SwiftShader takes up to 20 seconds for the code of one.
  const names = device === 'cpu' ? Object.keys(NETWORKS) : sampled(Object.keys(NETWORKS), 2);
  it.each(names)(`%s: outputs and gradients as step by step (${sampleName})`, async (name) => {
    manualSeed(3);
    const network = NETWORKS[name]!();
    const x = randn([6, 3, network.inputSize]);
    const expected = await results(network, x, stepByStep(network));
    network.to(device);
    const moved = x.to(device);
    for (const run of [outputs(network), compile(outputs(network))]) {
      const found = await results(network, moved, run);
      for (const [i, list] of expected.entries())
        for (const [j, value] of list.entries()) expect(found[i]![j]).toBeCloseTo(value, 4);
    }
  });

  it('give gradients of gradients, and take batches of examples, as step by step', async () => {
    const network = new LSTM(3, 4);
    type Run = (x: Tensor) => Tensor[];
    const penalty = (run: Run, x: Tensor): Tensor => {
      const input = x.detach().requiresGrad_();
      const output = run(input)[0]!;
      const [slope] = grad(output.pow(2).sum(), [input], { createGraph: true }) as [Tensor];
      return grad(slope.pow(2).sum(), [input])[0]!;
    };
    const examples = (run: Run, x: Tensor): Tensor => vmap((each: Tensor) => run(each)[0]!)(x);
    const x = randn([5, 2, 3]);
    const batch = randn([3, 5, 2, 3]);
    const steps = stepByStep(network);
    const wanted = [penalty(steps, x), examples(steps, batch)];
    network.to(device);
    const whole = outputs(network);
    const found = [penalty(whole, x.to(device)), examples(whole, batch.to(device))];
    for (const [i, result] of found.entries()) {
      const values = tensor(await result.toArray());
      expect(allclose(values, wanted[i]!, { rtol: 1e-4, atol: 1e-5 }), `${i}`).toBe(true);
    }
  });

  it('take the rows of all examples of a vmap as rows, forward and backward', async () => {
    manualSeed(7);
    const network = new LSTM(3, 4, { bidirectional: true });
    const batch = randn([3, 5, 2, 3]);
    const score =
      (run: (x: Tensor) => Tensor[]) =>
      (x: Tensor): Tensor => {
        const [output, hidden, cell] = run(x) as [Tensor, Tensor, Tensor];
        return output.pow(2).sum().add(hidden.sum()).add(cell.pow(3).sum());
      };
    const wanted = vmap(slopeOf(score(stepByStep(network))))(batch);
    network.to(device);
    const texts: string[] = [];
    const before = setLogSink((_, text) => texts.push(text));
    setLogs({ perf: true });
    try {
      const found = vmap(slopeOf(score(outputs(network))))(batch.to(device));
      expect(allclose(tensor(await found.toArray()), wanted, { rtol: 1e-4, atol: 1e-5 })).toBe(
        true,
      );
    } finally {
      setLogs({ perf: false });
      setLogSink(before);
    }
    expect(texts.filter((text) => text.includes('ran once for each'))).toEqual([]);
  });

  it('are a kernel per layer and direction, whatever the length', async () => {
    const network = new LSTM(5, 8, { numLayers: 2, bidirectional: true });
    network.to(device);
    const counts: number[] = [];
    for (const steps of [4, 19]) {
      const kinds = await kindsOf(network, randn([steps, 3, 5]).to(device));
      expect(kinds.filter((kind) => kind === 'recurrence')).toHaveLength(4);
      counts.push(kinds.length);
    }
    expect(counts[0]).toBe(counts[1]);
  });

  it('have one code for all lengths from the second on', async () => {
    const network = new GRU(5, 8);
    const onCpu = new GRU(5, 8);
    onCpu.loadStateDict(network.stateDict());
    network.to(device);
    const run = compile(outputs(network), { dynamic: true });
    const isShared: boolean[] = [];
    const stop = observeCompilations((_, made) => isShared.push(made.isShared));
    for (const steps of [3, 7, 12, 5]) {
      const x = randn([steps, 2, 5]);
      const wantedOutputs = stepByStep(onCpu)(x);
      for (const [i, found] of run(x.to(device)).entries()) {
        const values = await found.toArray();
        expect(allclose(tensor(values), wantedOutputs[i]!, { rtol: 1e-4, atol: 1e-5 })).toBe(true);
      }
    }
    stop();
    expect(isShared).toEqual([false, true, true, true]);
  });
}

it('what the derivative of a layer reads is no result of a compiled call', () => {
  const network = new LSTM(5, 8, { numLayers: 2, bidirectional: true });
  const run = compile((x: Tensor) => network.call(x)[0]);
  const x = randn([3, 2, 5]);
  const { code } = noGrad(() => explain(run)(x)).graphs[0]!;
  // The output, and both last states, which the program was given.
  expect(/return \[(.*)\]/.exec(code)![1]!.split(', ')).toHaveLength(3);
});
