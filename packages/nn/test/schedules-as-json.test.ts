/**
 * @file States of schedules as JSON, as the README keeps them beside a checkpoint: rates go on as if nothing had stopped.
 */
import { ones } from '@tessera/tensor';
import { expect, it } from 'vitest';
import { Parameter, lrScheduler, optim } from '../src/index.js';

const SCHEDULES: readonly (readonly [string, (sgd: optim.SGD) => lrScheduler.LRScheduler])[] = [
  ['StepLR', (sgd) => new lrScheduler.StepLR(sgd, { stepSize: 2 })],
  ['MultiStepLR', (sgd) => new lrScheduler.MultiStepLR(sgd, { milestones: [2, 6] })],
  ['PolynomialLR', (sgd) => new lrScheduler.PolynomialLR(sgd, { totalIters: 8 })],
  ['CosineAnnealingLR', (sgd) => new lrScheduler.CosineAnnealingLR(sgd, { tMax: 10 })],
  [
    'CosineAnnealingWarmRestarts',
    (sgd) => new lrScheduler.CosineAnnealingWarmRestarts(sgd, { t0: 3, tMult: 2 }),
  ],
  ['CyclicLR', (sgd) => new lrScheduler.CyclicLR(sgd, { baseLr: 0.01, maxLr: 0.1, stepSizeUp: 3 })],
  ['OneCycleLR', (sgd) => new lrScheduler.OneCycleLR(sgd, { maxLr: 0.5, totalSteps: 20 })],
  [
    'SequentialLR',
    (sgd) =>
      new lrScheduler.SequentialLR(sgd, {
        schedulers: [
          new lrScheduler.LinearLR(sgd, { totalIters: 3 }),
          new lrScheduler.ExponentialLR(sgd, { gamma: 0.9 }),
        ],
        milestones: [3],
      }),
  ],
  ['SWALR', (sgd) => new optim.swaUtils.SWALR(sgd, { swaLr: 0.01, annealEpochs: 7 })],
];

const optimizer = (): optim.SGD =>
  new optim.SGD([new Parameter(ones([1]))], { lr: 0.1, momentum: 0.9 });
const rate = (sgd: optim.SGD): number => sgd.paramGroups[0]!.lr;
const asJson = (state: unknown): never => JSON.parse(JSON.stringify(state)) as never;

it.each(SCHEDULES)('%s', (_name, make) => {
  const sgd = optimizer();
  const schedule = make(sgd);
  for (let i = 0; i < 5; i++) schedule.step();
  const resumed = optimizer();
  const again = make(resumed);
  resumed.loadStateDict(sgd.stateDict());
  again.loadStateDict(asJson(schedule.stateDict()));
  for (let i = 0; i < 5; i++) {
    schedule.step();
    again.step();
    expect(rate(resumed)).toBe(rate(sgd));
  }
});

it('ReduceLROnPlateau, whose best is infinite at first', () => {
  const sgd = optimizer();
  const schedule = new lrScheduler.ReduceLROnPlateau(sgd, { patience: 1 });
  const resumed = optimizer();
  const again = new lrScheduler.ReduceLROnPlateau(resumed, { patience: 1 });
  again.loadStateDict(asJson(schedule.stateDict()));
  for (let loss = 1; loss < 6; loss++) {
    schedule.step(loss);
    again.step(loss);
    expect(rate(resumed)).toBe(rate(sgd));
  }
  expect(rate(sgd)).toBeLessThan(0.1);
});
