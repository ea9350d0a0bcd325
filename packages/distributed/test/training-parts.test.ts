/**
 * @file Batch norm over ranks, optimizers that share their state out, and shares of samples.
 */
import { compile } from '@tessera/compile';
import { BatchNorm1d, BatchNorm2d, Linear, Sequential, optim, skipInit } from '@tessera/nn';
import { type Tensor, cat, cpuHeap, manualSeed, ones, randn } from '@tessera/tensor';
import { beforeEach, describe, expect, test } from 'vitest';
import {
  ProcessGroup,
  SyncBatchNorm,
  ZeroRedundancyOptimizer,
  distributedSampler,
  registerGroup,
  soloCommunicator,
} from '../src/index.js';
import { mirrorGroup } from './mirror.js';

beforeEach(() => {
  manualSeed(2);
});

function close(a: Tensor, b: Tensor, most = 1e-5): void {
  expect(a.sizes).toEqual(b.sizes);
  expect(a.sub(b).abs().max().item()).toBeLessThan(most);
}

describe('SyncBatchNorm', () => {
  test.each([
    ['eager', (fn: (x: Tensor) => Tensor) => fn],
    ['compiled', (fn: (x: Tensor) => Tensor) => compile(fn, { fullgraph: true })],
  ])('%s: two ranks with the same samples are one with them twice', (_name, how) => {
    const { group } = mirrorGroup(2);
    const x = randn([3, 4, 2, 2], { requiresGrad: true });
    const weights = randn([3, 4, 2, 2]);
    const alone = new BatchNorm2d(4);
    const y = alone.call(cat([x, x]));
    y.mul(cat([weights, weights]))
      .sum()
      .backward();
    const gradient = x.grad!;
    x.grad = null;
    const model = SyncBatchNorm.convert(new Sequential(new BatchNorm2d(4)), group);
    const z = how((input) => model.call(input))(x);
    z.mul(weights).sum().backward();
    close(z, y.narrow(0, 0, 3));
    // Alone, x is there twice.
    close(x.grad!, gradient.div(2), 1e-4);
    const [own] = model.children();
    close((own as SyncBatchNorm).running_mean!, alone.running_mean!);
    close((own as SyncBatchNorm).running_var!, alone.running_var!);
    model.eval();
    close(model.call(x), alone.eval().call(x), 1e-4);
  });

  test('keeps the names of the state, and statistics alone with a group of one', () => {
    const group = registerGroup(new ProcessGroup('one', [0], soloCommunicator()));
    const model = SyncBatchNorm.convert(new Sequential(new BatchNorm1d(3)), group);
    expect(Object.keys(model.stateDict())).toEqual(
      Object.keys(new Sequential(new BatchNorm1d(3)).stateDict()),
    );
    const x = randn([5, 3]);
    close(model.call(x), new BatchNorm1d(3).call(x));
  });
});

describe('SyncBatchNorm of a number of channels', () => {
  test('is a batch norm of any rank over the ranks of its group', () => {
    const { group } = mirrorGroup(2);
    const x = randn([3, 4, 2]);
    const alone = new BatchNorm1d(4, { momentum: 0.2, eps: 1e-3 });
    const own = new SyncBatchNorm(4, { momentum: 0.2, eps: 1e-3, processGroup: group });
    close(own.call(x), alone.call(cat([x, x])).narrow(0, 0, 3));
    close(own.running_var!, alone.running_var!);
    expect(Object.keys(own.stateDict())).toEqual(Object.keys(alone.stateDict()));
    expect(String(own)).toBe(
      'SyncBatchNorm(4, eps=0.001, momentum=0.2, affine=True, bias=True, track_running_stats=True)',
    );
    close(own.eval().call(x), alone.eval().call(x));
  });

  test('has the statistics of its own samples while it evaluates, and without ranks', () => {
    const x = randn([3, 4]);
    const options = { trackRunningStats: false, affine: false };
    const { group } = mirrorGroup(2);
    const other = new SyncBatchNorm(4, { ...options, processGroup: group }).eval();
    const own = SyncBatchNorm.convertSyncBatchnorm(new Sequential(new BatchNorm1d(4, options)));
    for (const module of [other, own]) close(module.call(x), new BatchNorm1d(4, options).call(x));
  });

  test('evaluates with a state that was assigned', () => {
    const trained = new BatchNorm1d(4);
    trained.call(randn([8, 4]).mul(3));
    const own = skipInit(() => new SyncBatchNorm(4));
    own.loadStateDict(trained.stateDict(), { assign: true });
    const x = randn([3, 4]);
    close(own.eval().call(x), trained.eval().call(x));
  });

  test('refuses what has no channels, and options that it does not have', () => {
    expect(() => new SyncBatchNorm(4).call(ones([4]))).toThrow(
      'expected at least 2D input (got 1D',
    );
    expect(() => new SyncBatchNorm(4, { processgroup: null } as never)).toThrow(
      "SyncBatchNorm has no option 'processgroup'",
    );
  });
});

describe('ZeroRedundancyOptimizer', () => {
  test('alone it is the optimizer that it shares out', () => {
    const group = registerGroup(new ProcessGroup('one', [0], soloCommunicator()));
    const [a, b] = [net(), net()];
    const plain = new optim.AdamW(a.parameters(), { lr: 0.1 });
    const shared = new ZeroRedundancyOptimizer(
      b.parameters(),
      optim.AdamW,
      { lr: 0.1 },
      { processGroup: group },
    );
    const x = randn([4, 8]);
    for (let step = 0; step < 3; step++) {
      for (const [model, optimizer] of [
        [a, plain],
        [b, shared],
      ] as const) {
        optimizer.zeroGrad();
        model.call(x).pow(2).sum().backward();
        optimizer.step();
      }
    }
    a.parameters().forEach((p, i) => expect(b.parameters()[i]!.toArray()).toEqual(p.toArray()));
    expect(() => shared.stateDict()).toThrow(/has not been consolidated/);
    shared.consolidateStateDict();
    const dict = shared.stateDict();
    expect(Object.keys(dict.state)).toEqual(Object.keys(plain.stateDict().state));
    shared.loadStateDict(dict);
    plain.loadStateDict(dict);
  });

  test('keeps state for its share only', () => {
    const bytes = (make: (params: Iterable<Tensor>) => { step(): void }): number => {
      const model = new Linear(256, 256, { bias: false });
      const second = new Linear(256, 256, { bias: false });
      const params = [...model.parameters(), ...second.parameters()];
      for (const param of params) param.grad = randn(param.sizes);
      const optimizer = make(params);
      const before = cpuHeap().stats().liveBytes;
      optimizer.step();
      return cpuHeap().stats().liveBytes - before;
    };
    const { group } = mirrorGroup(2);
    const whole = bytes((params) => new optim.Adam(params, { lr: 0.1 }));
    const share = bytes(
      (params) =>
        new ZeroRedundancyOptimizer(params, optim.Adam, { lr: 0.1 }, { processGroup: group }),
    );
    expect(whole).toBeGreaterThanOrEqual(2 * 2 * 256 * 256 * 4);
    expect(share).toBeLessThan(0.55 * whole);
  });
});

function net(): Linear {
  manualSeed(7);
  return new Linear(8, 2);
}

describe('ZeroRedundancyOptimizer where it would have to wait for an event loop', () => {
  const refused = (what: string): unknown =>
    expect.objectContaining({
      code: 'data-async-only',
      message: expect.stringContaining(`ZeroRedundancyOptimizer.${what}`),
    });

  function stepped(param: Tensor, group: ProcessGroup): ZeroRedundancyOptimizer<object> {
    const options = { processGroup: group };
    const optimizer = new ZeroRedundancyOptimizer([param], optim.SGD, { lr: 1 }, options);
    param.grad = ones(param.sizes, { device: param.device });
    return optimizer;
  }

  test('a communicator that cannot block is refused before anything is changed', () => {
    const { group } = mirrorGroup(2);
    const communicator = { ...group.communicator, canBlock: false };
    const waiting = registerGroup(new ProcessGroup('world', group.ranks, communicator));
    const param = ones([3], { requiresGrad: true });
    const optimizer = stepped(param, waiting);
    expect(() => optimizer.step()).toThrow(refused('step'));
    expect(() => optimizer.consolidateStateDict()).toThrow(refused('consolidateStateDict'));
    expect(param.toArray()).toEqual([1, 1, 1]);
  });

  test('alone it need not wait', () => {
    const communicator = { ...soloCommunicator(), canBlock: false };
    const alone = registerGroup(new ProcessGroup('one', [0], communicator));
    const param = ones([3], { requiresGrad: true });
    const optimizer = stepped(param, alone);
    optimizer.step();
    optimizer.consolidateStateDict();
    expect(param.toArray()).toEqual([0, 0, 0]);
    expect(optimizer.stateDict().paramGroups[0]!.params).toEqual([0]);
  });
});

describe('distributedSampler', () => {
  const shares = (length: number, size: number, options: object, epoch = 0): number[][] =>
    Array.from({ length: size }, (_, rank) => [
      ...distributedSampler(length, { rank, size, ...options })(epoch),
    ]);

  test('together every sample once, in another order every epoch', () => {
    const first = shares(12, 4, {});
    expect(first.flat().sort((a, b) => a - b)).toEqual(Array.from({ length: 12 }, (_, i) => i));
    expect(shares(12, 4, {}, 1)).not.toEqual(first);
    expect(shares(12, 4, {})).toEqual(first);
  });

  test('equal shares: some twice, or the last left out', () => {
    expect(shares(10, 4, { shuffle: false })).toEqual([
      [0, 4, 8],
      [1, 5, 9],
      [2, 6, 0],
      [3, 7, 1],
    ]);
    expect(shares(10, 4, { shuffle: false, dropLast: true })).toEqual([
      [0, 4],
      [1, 5],
      [2, 6],
      [3, 7],
    ]);
    expect(shares(0, 2, {})).toEqual([[], []]);
    expect(() => distributedSampler(3, { rank: 2, size: 2 })).toThrow(/rank 2/);
    expect(() => distributedSampler(-1, { rank: 0, size: 2 })).toThrow(/samples is -1/);
  });
});
