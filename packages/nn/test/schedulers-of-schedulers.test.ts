/**
 * @file Schedules made of others, and warm restarts at parts of epochs: rates of PyTorch 2.13.
 */
import { ones } from '@tessera/tensor';
import { describe, expect, it } from 'vitest';
import { Parameter, lrScheduler, optim } from '../src/index.js';
import { thrownBy } from './thrown-by.js';

const {
  ChainedScheduler,
  ConstantLR,
  CosineAnnealingWarmRestarts,
  CyclicLR,
  ExponentialLR,
  MultiplicativeLR,
  SequentialLR,
  StepLR,
} = lrScheduler;

function optimizer(): optim.SGD {
  const groups = [0.1, 0.5].map((lr) => ({ params: [new Parameter(ones([1]))], lr }));
  return new optim.SGD(groups, { momentum: 0.9 });
}

const ratesOf = (sgd: optim.SGD): number[] => sgd.paramGroups.map(({ lr }) => lr);

function expectRates(sgd: optim.SGD, expected: readonly number[]): void {
  ratesOf(sgd).forEach((rate, i) => expect(rate).toBeCloseTo(expected[i]!, 11));
}

type Made = InstanceType<typeof SequentialLR>;

it.each<[string, (sgd: optim.SGD) => Made, (readonly [number, number])[]]>([
  [
    'factors go on from the rates of the one before, drops from the initial ones',
    (sgd) =>
      new SequentialLR(sgd, {
        schedulers: [
          new ExponentialLR(sgd, { gamma: 0.5 }),
          new MultiplicativeLR(sgd, (epoch) => 0.9 + epoch / 100),
          new StepLR(sgd, { stepSize: 2 }),
        ],
        milestones: [2, 5],
      }),
    [
      [0.1, 0.5],
      [0.05, 0.25],
      [0.045, 0.225],
      [0.04095, 0.20475],
      [0.037674, 0.18837],
      [0.1, 0.5],
      [0.1, 0.5],
      [0.01, 0.05],
    ],
  ],
  [
    'averaging goes on from the rates of the one before',
    (sgd) =>
      new SequentialLR(sgd, {
        schedulers: [
          new ExponentialLR(sgd, { gamma: 0.5 }),
          new optim.swaUtils.SWALR(sgd, { swaLr: 0.03, annealEpochs: 3 }),
        ],
        milestones: [3],
      }),
    [
      [0.1, 0.5],
      [0.05, 0.25],
      [0.025, 0.125],
      [0.025, 0.125],
      [0.02625, 0.10125],
      [0.02875, 0.05375],
      [0.03, 0.03],
      [0.03, 0.03],
    ],
  ],
  [
    'cycles leave the initial rates to the ones before',
    (sgd) =>
      new SequentialLR(sgd, {
        schedulers: [
          new StepLR(sgd, { stepSize: 2 }),
          new CyclicLR(sgd, { baseLr: 0.01, maxLr: 0.3, stepSizeUp: 3 }),
        ],
        milestones: [5],
      }),
    [
      [0.1, 0.5],
      [0.1, 0.5],
      [0.01, 0.05],
      [0.01, 0.05],
      [0.001, 0.005],
      [0.01, 0.01],
      [0.32 / 3, 0.32 / 3],
      [0.61 / 3, 0.61 / 3],
    ],
  ],
  [
    'a sequence within a sequence',
    (sgd) =>
      new SequentialLR(sgd, {
        schedulers: [
          new SequentialLR(sgd, {
            schedulers: [
              new ConstantLR(sgd, { factor: 0.5, totalIters: 2 }),
              new ExponentialLR(sgd, { gamma: 0.9 }),
            ],
            milestones: [3],
          }),
          new StepLR(sgd, { stepSize: 2 }),
        ],
        milestones: [6],
      }),
    [
      [0.05, 0.25],
      [0.05, 0.25],
      [0.1, 0.5],
      [0.09, 0.45],
      [0.081, 0.405],
      [0.0729, 0.3645],
      [0.1, 0.5],
      [0.1, 0.5],
    ],
  ],
  [
    'a chain within a sequence',
    (sgd) =>
      new SequentialLR(sgd, {
        schedulers: [
          new ChainedScheduler(sgd, {
            schedulers: [
              new ConstantLR(sgd, { factor: 0.5, totalIters: 2 }),
              new ExponentialLR(sgd, { gamma: 0.9 }),
            ],
          }),
          new StepLR(sgd, { stepSize: 2 }),
        ],
        milestones: [4],
      }),
    [
      [0.045, 0.225],
      [0.0405, 0.2025],
      [0.0729, 0.3645],
      [0.06561, 0.32805],
      [0.1, 0.5],
      [0.1, 0.5],
      [0.01, 0.05],
      [0.01, 0.05],
    ],
  ],
])('SequentialLR: %s', (_name, make, rates) => {
  const sgd = optimizer();
  const scheduler = make(sgd);
  rates.forEach((expected, epoch) => {
    if (epoch > 0) scheduler.step();
    expectRates(sgd, expected);
    expect(scheduler.getLastLr()).toEqual(ratesOf(sgd));
  });
});

describe('CosineAnnealingWarmRestarts', () => {
  const make = (sgd: optim.SGD): InstanceType<typeof CosineAnnealingWarmRestarts> =>
    new CosineAnnealingWarmRestarts(sgd, { t0: 2, tMult: 2, etaMin: 0.05 });

  it('steps to parts of epochs, back and forth', () => {
    const sgd = optimizer();
    const scheduler = make(sgd);
    const steps: [epoch: number | null, first: number, second: number, last: number][] = [
      [0, 0.1, 0.5, 0],
      [0.25, 0.098096988313, 0.482872894815, 0],
      [1.75, 0.051903011687, 0.067127105185, 1],
      [2.5, 0.098096988313, 0.482872894815, 2],
      [13.9, 0.050019274094, 0.050173466846, 13],
      [14, 0.1, 0.5, 14],
      [null, 0.09951963201, 0.495676688091, 15],
      [2, 0.1, 0.5, 2],
      [null, 0.09267766953, 0.434099025767, 3],
    ];
    for (const [epoch, first, second, last] of steps) {
      if (epoch === null) scheduler.step();
      else scheduler.step(epoch);
      expectRates(sgd, [first, second]);
      expect(scheduler.lastEpoch).toBe(last);
    }
    expect(scheduler.stateDict()).toMatchObject({ tCur: 1, tI: 4 });
  });

  it.each([
    ['its own', { lastEpoch: 6, baseLrs: [0.1, 0.5], lastLr: [0.1, 0.5], tCur: 0.5, tI: 8 }],
    ["PyTorch's", { T_cur: 0.5, T_i: 8, base_lrs: [0.1, 0.5], last_epoch: 6 }],
  ])('continues from %s state within an epoch', (_name, state) => {
    const sgd = optimizer();
    const scheduler = make(sgd);
    scheduler.loadStateDict(state);
    scheduler.step();
    expectRates(sgd, [0.09578674030756364, 0.4620806627680727]);
  });

  it('counts the restarts of a state that has only an epoch', () => {
    const sgd = optimizer();
    const scheduler = make(sgd);
    scheduler.loadStateDict({ lastEpoch: 13 });
    scheduler.step();
    expectRates(sgd, [0.1, 0.5]);
  });

  it('refuses epochs before the first', () => {
    expect(thrownBy(() => make(optimizer()).step(-1)).message).toContain(
      'Expected non-negative epoch, but got -1',
    );
  });
});
