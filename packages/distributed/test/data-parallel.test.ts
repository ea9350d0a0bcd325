/**
 * @file `DistributedDataParallel` on ranks that all hold the same: training is that of the model alone.
 *
 * Ranks with different samples are tested under `mpirun`; here it is what the wrapper does, and when.
 */
import { compile } from '@tessera/compile';
import {
  Linear,
  Module,
  ReLU,
  Sequential,
  type TensorModule,
  functional as F,
  optim,
} from '@tessera/nn';
import { type Tensor, manualSeed, randn } from '@tessera/tensor';
import { beforeEach, describe, expect, test } from 'vitest';
import { DistributedDataParallel } from '../src/index.js';
import { launchesOf } from './launches.js';
import { type Mirror, mirrorGroup } from './mirror.js';

let mirror: Mirror;

beforeEach(() => {
  mirror = mirrorGroup(2);
});

function net(): Sequential {
  manualSeed(3);
  return new Sequential(new Linear(4, 300), new ReLU(), new Linear(300, 3));
}

interface Run {
  readonly losses: number[];
  readonly weights: unknown;
}

type Wrap = (step: () => Tensor) => () => Tensor;

/** Five steps of Adam on the same samples. */
function train(model: TensorModule, inner: Module, how: Wrap): Run {
  manualSeed(5);
  const x = randn([8, 4]);
  const y = randn([8, 3]);
  const optimizer = new optim.Adam(model.parameters(), { lr: 0.01 });
  const step = how(() => {
    optimizer.zeroGrad();
    const loss = F.mseLoss(model.call(x), y);
    loss.backward();
    optimizer.step();
    return loss;
  });
  const losses = Array.from({ length: 5 }, () => step().item() as number);
  return { losses, weights: inner.parameters().map((p) => p.toArray()) };
}

const eager: Wrap = (step) => step;
const whole: Wrap = (step) => compile(step, { fullgraph: true });

describe.each([
  ['eager', eager],
  ['a whole compiled step', whole],
])('%s', (_name, how) => {
  test('trains as the model alone', () => {
    const alone = net();
    const expected = train(alone, alone, how);
    const inner = net();
    const run = train(new DistributedDataParallel(inner), inner, how);
    expect(run).toEqual(expected);
  });
});

test('a compiled forward trains as the model alone', () => {
  const alone = net();
  const expected = train(alone, alone, eager);
  const inner = net();
  const wrapped = new DistributedDataParallel(inner);
  const forward = compile((x: Tensor) => wrapped.call(x) as Tensor);
  manualSeed(5);
  const x = randn([8, 4]);
  const y = randn([8, 3]);
  const optimizer = new optim.Adam(wrapped.parameters(), { lr: 0.01 });
  const losses = Array.from({ length: 5 }, () => {
    optimizer.zeroGrad();
    const loss = F.mseLoss(forward(x), y);
    loss.backward();
    optimizer.step();
    return loss.item() as number;
  });
  losses.forEach((loss, i) => expect(loss).toBeCloseTo(expected.losses[i]!, 5));
});

test('buckets are reduced in reverse order of the parameters, each once it is complete', () => {
  const model = new DistributedDataParallel(net(), { bucketCapMb: 1000 / 2 ** 20 });
  mirror.log.length = 0;
  const x = randn([2, 4]);
  (model.call(x) as Tensor).sum().backward();
  const starts = mirror.log.filter((line) => line.startsWith('start'));
  expect(starts).toEqual([
    'start all_reduce sum 3', // output bias
    'start all_reduce sum 900', // output weight: larger than a bucket
    'start all_reduce sum 300', // hidden bias
    'start all_reduce sum 1200', // hidden weight
  ]);
  // All are under way before the first is waited for.
  expect(mirror.log.findIndex((line) => line.startsWith('wait'))).toBe(starts.length);
});

test('in a compiled step reductions start between the kernels of the backward', () => {
  const model = new DistributedDataParallel(net(), { bucketCapMb: 1000 / 2 ** 20 });
  const optimizer = new optim.SGD(model.parameters(), { lr: 0.1 });
  const x = randn([2, 4]);
  const step = compile(
    () => {
      optimizer.zeroGrad();
      const loss = (model.call(x) as Tensor).pow(2).sum();
      loss.backward();
      optimizer.step();
      return loss;
    },
    { fullgraph: true },
  );
  expect(launchesOf(() => step())).toMatchInlineSnapshot(`
    [
      "fused_addmm_relu_0",
      "fused_addmm_mul_1",
      "fused_sum_mul_2",
      "extern_all_reduce_3",
      "fused_mm_mul_4",
      "extern_all_reduce_5",
      "fused_mm_threshold_backward_6",
      "fused_sum_mul_7",
      "extern_all_reduce_8",
      "fused_mm_mul_9",
      "extern_all_reduce_10",
      "fused_addmm_pow_11",
      "extern_wait_tensor_12",
      "fused_add_13",
      "extern_wait_tensor_14",
      "fused_add_15",
      "extern_wait_tensor_16",
      "fused_add_17",
      "extern_wait_tensor_18",
      "fused_add_19",
    ]
  `);
  mirror.log.length = 0;
  step();
  expect(mirror.log.map((line) => line.replace(' sum', ''))).toEqual([
    'start all_reduce 3',
    'start all_reduce 900',
    'start all_reduce 300',
    'start all_reduce 1200',
    'wait all_reduce 3',
    'wait all_reduce 900',
    'wait all_reduce 300',
    'wait all_reduce 1200',
  ]);
});

test('noSync accumulates; the next backward reduces the whole gradient', () => {
  const inner = net();
  const model = new DistributedDataParallel(inner);
  const x = randn([2, 4]);
  const loss = (): Tensor => (model.call(x) as Tensor).pow(2).sum();
  mirror.log.length = 0;
  model.noSync(() => loss().backward());
  expect(mirror.log).toEqual([]);
  const once = inner.parameters().map((p) => p.grad!.clone());
  loss().backward();
  expect(mirror.log.length).toBeGreaterThan(0);
  inner
    .parameters()
    .forEach((p, i) => expect(p.grad!.toArray()).toEqual(once[i]!.mul(2).toArray()));
});

test('noSync of async functions that overlap ends with the last of them', async () => {
  const model = new DistributedDataParallel(net());
  const opened: (() => void)[] = [];
  const wait = (): Promise<void> => new Promise((resolve) => opened.push(resolve));
  const scopes = [model.noSync(wait), model.noSync(wait)];
  const backward = (): void => (model.call(randn([2, 4])) as Tensor).sum().backward();
  opened[0]!();
  await scopes[0];
  mirror.log.length = 0;
  backward();
  expect(mirror.log).toEqual([]);
  opened[1]!();
  await scopes[1];
  backward();
  expect(mirror.log.length).toBeGreaterThan(0);
});

class TwoHeads extends Module {
  left = new Linear(2, 1);
  right = new Linear(2, 1);
  override forward(x: Tensor, useRight: boolean): Tensor {
    return useRight ? this.right.call(x) : this.left.call(x);
  }
}

test('a parameter without gradient is an error that names it, unless such are looked for', () => {
  const x = randn([3, 2]);
  const strict = new DistributedDataParallel(new TwoHeads());
  expect(() => strict.call(x, true).sum().backward()).toThrow(/left\.bias/);
  const model = new DistributedDataParallel(new TwoHeads(), { findUnusedParameters: true });
  model.call(x, true).sum().backward();
  // Unused on all ranks: no gradient, as in a model alone.
  expect(model.module.left.weight.grad).toBeNull();
  expect(model.module.right.weight.grad).not.toBeNull();
});

test('state has the names of PyTorch, and mistakes say what to do', () => {
  const model = new DistributedDataParallel(net());
  expect(Object.keys(model.stateDict())).toEqual([
    'module.0.weight',
    'module.0.bias',
    'module.2.weight',
    'module.2.bias',
  ]);
  expect(() => new DistributedDataParallel(net(), { bucketCapMb: 0 })).toThrow(/positive/);
  expect(() => new DistributedDataParallel(net(), { bucketCap: 3 } as never)).toThrow(/no option/);
  expect(() => new DistributedDataParallel(new ReLU())).toThrow(/no parameter/);
  expect(() => new DistributedDataParallel(3 as never)).toThrow(/wraps a module, not 3/);
});
