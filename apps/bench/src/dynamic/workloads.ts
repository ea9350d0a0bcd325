/**
 * @file Programs whose sizes change from call to call: `pnpm bench dynamic` runs them compiled and eagerly.
 */
import { compile, explain } from '@tessera/compile';
import { LSTM, Linear, type Module, ReLU, Sequential, functional as F, optim } from '@tessera/nn';
import { type Tensor, cat, noGrad, randint, randn, zeros } from '@tessera/tensor';
import { Gpt2, ResNet18 } from '../tracer/networks.js';

/** Where a program runs. */
export type DynamicDevice = 'cpu' | 'wgpu';

/** A program at one size; the inputs of a size are made before it is timed. */
export interface DynamicProgram {
  /** Inputs of a size; calls with the same ones are calls of one size. */
  inputs(size: number): readonly Tensor[];
  /** The program, eagerly. */
  step(size: number, inputs: readonly Tensor[]): Tensor | readonly Tensor[];
}

/** See the file header. */
export interface DynamicWorkload {
  readonly name: string;
  readonly about: string;
  /** Sizes in the order in which they come. */
  sizes(small: boolean): readonly number[];
  make(device: DynamicDevice, small: boolean): DynamicProgram;
  /** Whether the compiled function is run without gradients. */
  readonly isInference: boolean;
}

type TensorModule = Module & { call(x: Tensor): Tensor };

/**
 * Each of a range once, in an order that is the same in every run. A size of 1, which has code of its own because it
 * broadcasts, is the third.
 */
function shuffled(from: number, to: number, count: number): number[] {
  const all = Array.from({ length: to - from + 1 }, (_, i) => from + i);
  let state = 12345;
  for (let i = all.length - 1; i > 0; i--) {
    state = (Math.imul(state, 1103515245) + 12345) >>> 0;
    const j = state % (i + 1);
    [all[i], all[j]] = [all[j]!, all[i]!];
  }
  const one = all.indexOf(1);
  if (one >= 0) all.splice(2, 0, ...all.splice(one, 1));
  return all.slice(0, count);
}

function mlp(device: DynamicDevice, small: boolean): TensorModule {
  const [a, b, c] = small ? [32, 24, 16] : [784, 512, 256];
  const layers = [
    new Linear(a!, b!),
    new ReLU(),
    new Linear(b!, c!),
    new ReLU(),
    new Linear(c!, 10),
  ];
  return new Sequential(...layers).to(device) as unknown as TensorModule;
}

/** A step that trains a model with AdamW on what `lossOf` says. */
function training(
  model: Module,
  lossOf: (inputs: readonly Tensor[]) => Tensor,
): (inputs: readonly Tensor[]) => Tensor {
  const optimizer = new optim.AdamW(model.parameters(), { lr: 1e-3 });
  return (inputs) => {
    optimizer.zeroGrad();
    const loss = lossOf(inputs);
    loss.backward();
    optimizer.step();
    return loss.detach();
  };
}

const batches = (small: boolean): number[] => shuffled(1, 64, small ? 12 : 40);
const lengths = (small: boolean): number[] => shuffled(1, small ? 100 : 200, small ? 12 : 24);

function transformer(device: DynamicDevice, small: boolean): Gpt2 {
  const model = small ? new Gpt2(2, 32, 2, 64, 201) : new Gpt2(6, 256, 4, 1024, 201);
  return model.to(device) as Gpt2;
}

const vocabulary = (small: boolean): number => (small ? 64 : 1024);

/** All of them. */
export const DYNAMIC_WORKLOADS: readonly DynamicWorkload[] = [
  {
    name: 'mlp_forward',
    about: 'an MLP, batches of 1 to 64 in random order',
    isInference: true,
    sizes: batches,
    make(device, small) {
      const model = mlp(device, small);
      return {
        inputs: (n) => [randn([n, small ? 32 : 784], { device })],
        step: (_, [x]) => model.call(x!),
      };
    },
  },
  {
    name: 'mlp_training',
    about: 'a training step of the MLP with AdamW, batches of 1 to 64 in random order',
    isInference: false,
    sizes: batches,
    make(device, small) {
      const model = mlp(device, small);
      const step = training(model, ([x, y]) => F.crossEntropy(model.call(x!), y!));
      return {
        inputs: (n) => [randn([n, small ? 32 : 784], { device }), randint(0, 10, [n], { device })],
        step: (_, inputs) => step(inputs),
      };
    },
  },
  {
    name: 'transformer_forward',
    about: 'a transformer of 6 layers of width 256, lengths of 1 to 200',
    isInference: true,
    sizes: lengths,
    make(device, small) {
      const model = transformer(device, small);
      return {
        inputs: (n) => [randint(0, vocabulary(small), [1, n], { device })],
        step: (_, [ids]) => model.call(ids!) as Tensor,
      };
    },
  },
  {
    name: 'transformer_training',
    about: 'a training step of the transformer with AdamW, lengths of 1 to 200',
    isInference: false,
    sizes: lengths,
    make(device, small) {
      const model = transformer(device, small);
      const step = training(model, ([ids, next]) =>
        F.crossEntropy((model.call(ids!) as Tensor).flatten(0, 1), next!),
      );
      return {
        inputs: (n) => [
          randint(0, vocabulary(small), [1, n], { device }),
          randint(0, vocabulary(small), [n], { device }),
        ],
        step: (_, inputs) => step(inputs),
      };
    },
  },
  {
    name: 'growing_cache',
    about: 'attention over a cache of keys and values that grows by one token, 200 tokens',
    isInference: true,
    sizes: (small) => Array.from({ length: small ? 12 : 200 }, (_, i) => i + 1),
    make(device, small) {
      const [heads, width] = small ? [2, 8] : [4, 64];
      const qkv = new Linear(heads! * width!, 3 * heads! * width!).to(device) as Linear;
      const split = (t: Tensor): Tensor => t.reshape([1, 1, heads!, width!]).transpose(1, 2);
      return {
        inputs: (n) => [
          randn([1, 1, heads! * width!], { device }),
          randn([1, heads!, n, width!], { device }),
          randn([1, heads!, n, width!], { device }),
        ],
        step: (_, [x, keys, values]) => {
          const [q, k, v] = qkv.call(x!).chunk(3, -1).map(split);
          const allKeys = cat([keys!, k!], 2);
          const allValues = cat([values!, v!], 2);
          return [F.scaledDotProductAttention(q!, allKeys, allValues), allKeys, allValues];
        },
      };
    },
  },
  {
    name: 'resnet18_images',
    about: 'ResNet-18 on images of 160 to 256 pixels',
    isInference: true,
    sizes: (small) =>
      shuffled(0, 12, small ? 7 : 13).map((i) => (small ? 32 + 4 * i : 160 + 8 * i)),
    make(device, small) {
      const model = new ResNet18(small ? 4 : 64).to(device) as ResNet18;
      model.eval();
      return {
        inputs: (n) => [randn([1, 3, n, n], { device })],
        step: (_, [x]) => model.call(x!) as Tensor,
      };
    },
  },
  {
    name: 'lstm_lengths',
    about: 'an LSTM over sequences of 1 to 120 steps',
    isInference: true,
    sizes: (small) => shuffled(1, small ? 12 : 120, small ? 7 : 20),
    make(device, small) {
      const width = small ? 8 : 128;
      const model = new LSTM(width, width).to(device) as LSTM;
      return {
        inputs: (n) => [randn([n, 4, width], { device })],
        step: (_, [x]) => model.call(x!)[0],
      };
    },
  },
  {
    name: 'moved_batch',
    about:
      'a batch that is normalised on the CPU and classified on the device: a graph in parts on a GPU',
    isInference: true,
    sizes: (small) => shuffled(1, 64, small ? 20 : 40),
    make(device, small) {
      const model = mlp(device, small);
      const width = small ? 32 : 784;
      return {
        inputs: (size) => [randn([size, width])],
        step: (_, [x]) => model.call(x!.sub(x!.mean(1, { keepdim: true })).to(device)),
      };
    },
  },
  {
    name: 'moving_slice',
    about: 'a row written to a cache at a place that moves, and the sum of the cache',
    isInference: true,
    sizes: (small) => shuffled(0, small ? 15 : 199, small ? 12 : 60),
    make(device, small) {
      const rows = small ? 16 : 200;
      const cache = zeros([4, rows, 64], { device });
      return {
        inputs: () => [randn([4, 1, 64], { device })],
        step: (at, [x]) => {
          cache.slice(1, at, at + 1).copy_(x!);
          return cache.sum(1);
        },
      };
    },
  },
];

/** A compiled program. */
export interface CompiledStep {
  readonly step: DynamicProgram['step'];
  /** Operators that a call of it captured, in all its graphs. It is called once more. */
  operators(size: number, inputs: readonly Tensor[]): number;
}

/** The program compiled; without gradients where it is inference. */
export function compiledStep(workload: DynamicWorkload, program: DynamicProgram): CompiledStep {
  const run = compile((size: number, inputs: readonly Tensor[]) => program.step(size, inputs));
  const within = <R>(fn: () => R): R => (workload.isInference ? noGrad(fn) : fn());
  return {
    step: (size, inputs) => within(() => run(size, inputs)),
    operators(size, inputs) {
      const { opCount, traceCount } = within(() => explain(run)(size, inputs));
      return Math.round(opCount / traceCount);
    },
  };
}
