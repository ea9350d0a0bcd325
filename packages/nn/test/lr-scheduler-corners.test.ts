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

/** What PyTorch saved, and its rates of three more steps. */
const SAVED: Record<
  string,
  {
    readonly make: (sgd: optim.SGD) => {
      step(metric: number): void;
      loadStateDict(state: Readonly<Record<string, unknown>>): void;
    };
    readonly rates: readonly number[];
    readonly state: Readonly<Record<string, unknown>>;
    readonly next: readonly (readonly number[])[];
  }
> = {
  SequentialLR: {
    make: (sgd) =>
      new lrScheduler.SequentialLR(sgd, {
        schedulers: [
          new lrScheduler.LinearLR(sgd, { startFactor: 0.5, totalIters: 2 }),
          new lrScheduler.StepLR(sgd, { stepSize: 2, gamma: 0.5 }),
        ],
        milestones: [3],
      }),
    rates: [0.05, 0.1],
    state: {
      _milestones: [3],
      last_epoch: 5,
      _last_lr: [0.05, 0.1],
      _schedulers: [
        { total_iters: 2, base_lrs: [0.1, 0.2], last_epoch: 2, _last_lr: [0.1, 0.2] },
        { step_size: 2, base_lrs: [0.1, 0.2], last_epoch: 2, _last_lr: [0.05, 0.1] },
      ],
    },
    next: [
      [0.05, 0.1],
      [0.025, 0.05],
      [0.025, 0.05],
    ],
  },
  ChainedScheduler: {
    make: (sgd) =>
      new lrScheduler.ChainedScheduler(sgd, {
        schedulers: [
          new ConstantLR(sgd, { factor: 0.5, totalIters: 4 }),
          new lrScheduler.ExponentialLR(sgd, { gamma: 0.9 }),
        ],
      }),
    rates: [0.03645, 0.0729],
    state: {
      _last_lr: [0.03645, 0.0729],
      _schedulers: [
        { factor: 0.5, base_lrs: [0.1, 0.2], last_epoch: 3, _last_lr: [0.0405, 0.081] },
        { gamma: 0.9, base_lrs: [0.1, 0.2], last_epoch: 3, _last_lr: [0.03645, 0.0729] },
      ],
    },
    next: [
      [0.06561, 0.13122],
      [0.059049, 0.118098],
      [0.0531441, 0.1062882],
    ],
  },
  ReduceLROnPlateau: {
    make: (sgd) => new ReduceLROnPlateau(sgd, { factor: 0.5, patience: 1 }),
    rates: [0.1, 0.2],
    state: { last_epoch: 3, mode_worse: Infinity, best: 2, cooldown_counter: 0, num_bad_epochs: 1 },
    next: [
      [0.05, 0.1],
      [0.05, 0.1],
      [0.025, 0.05],
    ],
  },
};

/** As `loadTorchCheckpoint` gives it. */
function flattened(tree: object, prefix = ''): Record<string, unknown> {
  return Object.assign(
    {},
    ...Object.entries(tree).map(([name, value]: [string, unknown]) =>
      typeof value === 'object' && value !== null
        ? flattened(value, `${prefix}${name}.`)
        : { [`${prefix}${name}`]: value },
    ),
  ) as Record<string, unknown>;
}

it.each(Object.keys(SAVED))('%s goes on from what PyTorch saved', (name) => {
  const { make, rates, state, next } = SAVED[name]!;
  for (const given of [state, flattened(state)]) {
    const sgd = optimizer();
    const scheduler = make(sgd);
    scheduler.loadStateDict(given);
    sgd.paramGroups.forEach((group, i) => (group.lr = rates[i]!));
    for (const [i, want] of next.entries()) {
      scheduler.step(2.6 + i / 10);
      sgd.paramGroups.forEach(({ lr }, j) => expect(lr).toBeCloseTo(want[j]!, 12));
    }
  }
});

it('refuses what is no state of a schedule', () => {
  for (const { make } of Object.values(SAVED)) {
    const refused = (state: Record<string, unknown>): void =>
      expect(thrownBy(() => make(optimizer()).loadStateDict(state))).toMatchObject({
        code: 'state-dict-mismatch',
      });
    refused({});
    refused({ step: 3, loadStateDict: 1 });
  }
  const step = new lrScheduler.StepLR(optimizer(), { stepSize: 2 });
  const other = { last_epoch: 1, base_lrs: [0.1], _last_lr: [0.1] };
  expect(() => step.loadStateDict(other)).toThrow(
    'The schedule was saved for 1 parameter groups; the optimizer has 2.',
  );
});
