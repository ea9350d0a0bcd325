/**
 * @file Layers of recurrent networks as one op: on WebGPU one kernel for all steps, equal to the steps one by one.
 */
import { compile, initWebGpu, observeCompilations } from '@tessera/compile';
import { GRU, LSTM, RNN } from '@tessera/nn';
import { type Tensor, allclose, grad, manualSeed, randn, tensor } from '@tessera/tensor';
import { vmap } from '@tessera/tensor/func';
import { runAndGetCode } from '../src/index.js';
import { beforeAll, describe, expect, it, vi } from 'vitest';

const wanted = process.env['TESSERA_REQUIRE_WEBGPU'] === '1';

// Compiling for SwiftShader takes seconds.
vi.setConfig({ testTimeout: 120_000 });

type Network = LSTM | GRU | RNN;

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

function outputs(network: Network): (x: Tensor) => Tensor[] {
  return (x) => {
    const run = network.call.bind(network) as (x: Tensor) => [Tensor, Tensor | [Tensor, Tensor]];
    const [output, last] = run(x);
    return [output, ...(Array.isArray(last) ? last : [last])];
  };
}

describe.runIf(wanted)('layers of recurrent networks on WebGPU', () => {
  beforeAll(async () => {
    await initWebGpu();
  });

  it.each(Object.keys(NETWORKS))('%s: outputs and gradients as on the CPU', async (name) => {
    manualSeed(3);
    const network = NETWORKS[name]!();
    const x = randn([6, 3, network.inputSize]);
    const expected = await results(network, x, outputs(network));
    network.to('wgpu');
    const moved = x.to('wgpu');
    for (const run of [outputs(network), compile(outputs(network))]) {
      const found = await results(network, moved, run);
      for (const [i, list] of expected.entries())
        for (const [j, value] of list.entries()) expect(found[i]![j]).toBeCloseTo(value, 4);
    }
  });

  it('give gradients of gradients, and take batches of examples, as on the CPU', async () => {
    const network = new LSTM(3, 4);
    const penalty = (x: Tensor): Tensor => {
      const input = x.detach().requiresGrad_();
      const [output] = network.call(input);
      const [slope] = grad(output.pow(2).sum(), [input], { createGraph: true }) as [Tensor];
      return grad(slope.pow(2).sum(), [input])[0]!;
    };
    const examples = (x: Tensor): Tensor => vmap((each: Tensor) => network.call(each)[0])(x);
    const x = randn([5, 2, 3]);
    const batch = randn([3, 5, 2, 3]);
    const wanted = [penalty(x), examples(batch)];
    network.to('wgpu');
    const found = [penalty(x.to('wgpu')), examples(batch.to('wgpu'))];
    for (const [i, result] of found.entries()) {
      const values = tensor(await result.toArray());
      expect(allclose(values, wanted[i]!, { rtol: 1e-4, atol: 1e-5 }), `${i}`).toBe(true);
    }
  });

  it('are a kernel per layer and direction, whatever the length', async () => {
    const network = new LSTM(5, 8, { numLayers: 2, bidirectional: true }).to('wgpu');
    const counts: number[] = [];
    for (const steps of [4, 19]) {
      const x = randn([steps, 3, 5]).to('wgpu');
      const { compiled } = await runAndGetCode(compile(outputs(network)), x);
      const plans = compiled.map(({ plan }) => plan);
      const kinds = plans.flatMap(({ launches, kernels }) =>
        launches.map(({ kernel }) => kernels[kernel]!.kind),
      );
      expect(kinds.filter((kind) => kind === 'recurrence')).toHaveLength(4);
      counts.push(kinds.length);
    }
    expect(counts[0]).toBe(counts[1]);
  });

  it('have one code for all lengths from the third on', async () => {
    const network = new GRU(5, 8);
    const onCpu = new GRU(5, 8);
    onCpu.loadStateDict(network.stateDict());
    network.to('wgpu');
    const run = compile(outputs(network), { dynamic: true });
    const isShared: boolean[] = [];
    const stop = observeCompilations((_, made) => isShared.push(made.isShared));
    for (const steps of [3, 7, 12, 5]) {
      const x = randn([steps, 2, 5]);
      const wantedOutputs = outputs(onCpu)(x);
      for (const [i, found] of run(x.to('wgpu')).entries()) {
        const values = await found.toArray();
        expect(allclose(tensor(values), wantedOutputs[i]!, { rtol: 1e-4, atol: 1e-5 })).toBe(true);
      }
    }
    stop();
    expect(isShared).toEqual([false, false, true, true]);
  });
});
