/**
 * @file Corners of learning-rate schedules as PyTorch 2.13 has them.
 */
import { expect, it } from 'vitest';
import { ones } from '@tessera/tensor';
import { Parameter, lrScheduler, optim } from '../src/index.js';
import { thrownBy } from './thrown-by.js';

function optimizer(): optim.SGD {
  const groups = [0.1, 0.2].map((lr) => ({ params: [new Parameter(ones([1]))], lr }));
  return new optim.SGD(groups, { momentum: 0.9 });
}

/** Steps that reach the odd place of any schedule below. */
function run(scheduler: { step(): void }): void {
  for (let i = 0; i < 12; i++) scheduler.step();
}

it('ReduceLROnPlateau takes a lowest rate for each group', () => {
  const sgd = optimizer();
  const scheduler = new lrScheduler.ReduceLROnPlateau(sgd, { patience: 0, minLr: [0.03, 0.05] });
  for (const metric of [1, 1, 1]) scheduler.step(metric);
  expect(scheduler.getLastLr()).toEqual([0.03, 0.05]);
});

const { ConstantLR, CosineAnnealingLR, CyclicLR, OneCycleLR, ReduceLROnPlateau } = lrScheduler;

it.each([
  ['a factor above 1', () => new ConstantLR(optimizer(), { factor: 1.5 })],
  ['a negative factor', () => new ConstantLR(optimizer(), { factor: -1 })],
  ['a way back from a factor of 0', () => run(new ConstantLR(optimizer(), { factor: 0 }))],
  ['a cosine of no epochs', () => run(new CosineAnnealingLR(optimizer(), { tMax: 0 }))],
  [
    'cycles of no steps',
    () => run(new CyclicLR(optimizer(), { baseLr: 0.01, maxLr: 0.1, stepSizeUp: 0 })),
  ],
  [
    'a way down of no steps',
    () => run(new OneCycleLR(optimizer(), { maxLr: 1, totalSteps: 12, pctStart: 1 })),
  ],
  [
    'an unknown way',
    () => new OneCycleLR(optimizer(), { maxLr: 1, totalSteps: 9, annealStrategy: 'x' as never }),
  ],
  ['an unknown mode', () => new ReduceLROnPlateau(optimizer(), { mode: 'x' as never })],
  [
    'an unknown threshold mode',
    () => new ReduceLROnPlateau(optimizer(), { thresholdMode: 'x' as never }),
  ],
  ['too few lowest rates', () => new ReduceLROnPlateau(optimizer(), { minLr: [0.1] })],
  ['an unknown option', () => new CosineAnnealingLR(optimizer(), { T_max: 5 } as never)],
  [
    'an unknown option of ReduceLROnPlateau',
    () => new ReduceLROnPlateau(optimizer(), { min: 5 } as never),
  ],
  [
    'ReduceLROnPlateau in a sequence',
    () => {
      const sgd = optimizer();
      const schedulers = [new ConstantLR(sgd), new ReduceLROnPlateau(sgd) as never];
      return new lrScheduler.SequentialLR(sgd, { schedulers, milestones: [4] });
    },
  ],
])('refused: %s', (_name, make) => {
  expect(thrownBy(make)).toMatchObject({ code: 'invalid-argument' });
});
