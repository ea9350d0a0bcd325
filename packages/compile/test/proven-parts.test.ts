/**
 * @file Graphs of several parts, over two devices or with operators between plans, at sizes that no graph is made for:
 * what they compute is what eager computes, and how many graphs it took.
 */
import { Linear, ReLU, Sequential, functional as F, optim } from '@tessera/nn';
import { type Tensor, download, eye, manualSeed, randint, randn } from '@tessera/tensor';
import { cholesky, solve } from '@tessera/tensor/linalg';
import { beforeAll, describe, expect, it } from 'vitest';
import { wantsGpu } from '../../../tooling/wants-gpu.js';
import { type Backend, compile, compileFx, initWebGpu } from '../src/node.js';

/** Sizes in the order in which they come; those that come again are in it once. */
const SIZES = [8, 5, 13, 4, 21, 2, 3, 16, 7, 64, 9, 12];

/** A program; one that trains has state of its own, so it is made anew for eager. */
interface Program {
  readonly fn: (...args: Tensor[]) => Tensor | readonly Tensor[];
  readonly inputs: (n: number) => Tensor[];
}

const gpu = (x: Tensor): Tensor => x.to('wgpu');

/** A symmetric positive definite matrix for each of a batch. */
function definite(n: number, size: number): Tensor {
  const x = randn([n, size, size]);
  return x.matmul(x.mT).add(eye(size).mul(size));
}

const PROGRAMS: Readonly<Record<string, () => Program>> = {
  'a batch that is normalised on the CPU and moved': () => {
    const model = new Sequential(new Linear(6, 8), new ReLU(), new Linear(8, 3)).to('wgpu');
    return {
      fn: (x) => model.call(gpu(x.sub(x.mean(0)).div(x.std(0, { correction: 0 }).add(1)))),
      inputs: (n) => [randn([n, 6])],
    };
  },
  'a training step of a batch that is moved inside': () => {
    const model = new Sequential(new Linear(6, 8), new ReLU(), new Linear(8, 3)).to('wgpu');
    const optimizer = new optim.SGD(model.parameters(), { lr: 0.1, momentum: 0.9 });
    return {
      fn: (x, labels) => {
        optimizer.zeroGrad();
        const loss = F.crossEntropy(model.call(gpu(x)), gpu(labels));
        loss.backward();
        optimizer.step();
        return loss;
      },
      inputs: (n) => [randn([n, 6]), randint(0, 3, [n])],
    };
  },
  'weights that are moved, of no size that varies': () => {
    const weights = randn([6, 4]);
    return {
      fn: (x) => [x.matmul(gpu(weights.mul(2))), x.mul(3)],
      inputs: (n) => [gpu(randn([n, 6]))],
    };
  },
  'results on both devices': () => ({
    fn: (x, y) => [x.add(1), gpu(x.t()).matmul(y), gpu(x).softmax(-1)],
    inputs: (n) => [randn([n, 5]), gpu(randn([n, 7]))],
  }),
  'systems that are solved on wgpu': () => ({
    fn: (a, b) => solve(a.mul(2), b.add(1)).sum(-1),
    inputs: (n) => [gpu(definite(n, 4)), gpu(randn([n, 4, 2]))],
  }),
  'factors on wgpu with their gradients': () => ({
    fn: (a) => {
      const x = a.detach().requiresGrad_();
      const factor = cholesky(x);
      factor.diagonal(0, -2, -1).log().sum().backward();
      return [factor, x.grad!];
    },
    inputs: (n) => [gpu(definite(n, 3))],
  }),
};

async function valuesOf(result: Tensor | readonly Tensor[]): Promise<number[][]> {
  const tensors = [result].flat() as Tensor[];
  return Promise.all(
    tensors.map(async (tensor) => {
      const { sizes, strides } = tensor;
      return [
        ...sizes,
        ...strides,
        ...((await download(tensor)).reshape([-1]).toArray() as number[]),
      ];
    }),
  );
}

describe.skipIf(!wantsGpu)('parts at sizes that no graph is made for', () => {
  beforeAll(async () => {
    await initWebGpu();
  });

  it.each(Object.entries(PROGRAMS))('%s', async (_, make) => {
    let graphs = 0;
    const backend: Backend = (module, examples, request) => {
      graphs++;
      return compileFx(module, examples, { request });
    };
    manualSeed(1);
    const eager = make();
    manualSeed(1);
    const program = make();
    const run = compile(program.fn, { backend });
    const made: number[] = [];
    for (const n of SIZES) {
      manualSeed(n);
      const inputs = program.inputs(n);
      const wanted = await valuesOf(eager.fn(...inputs));
      const got = await valuesOf(run(...inputs));
      expect(got.length).toBe(wanted.length);
      got.forEach((values, i) => {
        expect(values.length, `${n}`).toBe(wanted[i]!.length);
        values.forEach((value, k) =>
          expect(value, `${n}, ${i}, ${k}`).toBeCloseTo(wanted[i]![k]!, 3),
        );
      });
      made.push(graphs);
    }
    // The first, which is static; four that are samples.
    expect(made.at(-1), made.join()).toBeLessThanOrEqual(6);
  });
});
