/**
 * @file Schedules that are resumed at an epoch without a state of their own; the numbers are of PyTorch 2.13, called
 * with `last_epoch=4` on an optimizer whose groups have rates and initial rates.
 */
import { describe, expect, it } from 'vitest';
import { ones } from '@tessera/tensor';
import { Parameter, lrScheduler, optim } from '../src/index.js';
import { thrownBy } from './thrown-by.js';

const {
  ConstantLR,
  CosineAnnealingLR,
  CosineAnnealingWarmRestarts,
  CyclicLR,
  ExponentialLR,
  LambdaLR,
  LinearLR,
  MultiplicativeLR,
  MultiStepLR,
  OneCycleLR,
  PolynomialLR,
  StepLR,
} = lrScheduler;

function optimizer(initialLrs: readonly (number | undefined)[] = [0.1, 0.2]): optim.SGD {
  const sgd = new optim.SGD(
    [0.05, 0.07].map((lr) => ({ params: [new Parameter(ones([1]))], lr })),
    { momentum: 0.9 },
  );
  sgd.paramGroups.forEach((group, i) => (group.initialLr = initialLrs[i]));
  return sgd;
}

const lastEpoch = 4;
type Rates = readonly [number, number];
const RESUMED: readonly [
  string,
  (sgd: optim.SGD) => lrScheduler.LRScheduler,
  readonly [Rates, Rates, Rates, Rates, Rates],
][] = [
  [
    'StepLR',
    (sgd) => new StepLR(sgd, { stepSize: 3, lastEpoch }),
    [
      [0.05, 0.07],
      [0.005, 0.007],
      [0.005, 0.007],
      [0.005, 0.007],
      [0.0005, 0.0007],
    ],
  ],
  [
    'ConstantLR',
    (sgd) => new ConstantLR(sgd, { factor: 0.5, totalIters: 6, lastEpoch }),
    [
      [0.05, 0.07],
      [0.1, 0.14],
      [0.1, 0.14],
      [0.1, 0.14],
      [0.1, 0.14],
    ],
  ],
  [
    'CosineAnnealingLR',
    (sgd) => new CosineAnnealingLR(sgd, { tMax: 8, etaMin: 0.01, lastEpoch }),
    [
      [0.05, 0.07],
      [0.0289784778, 0.0384677166],
      [0.0149323457, 0.0173985185],
      [0.01, 0.01],
      [0.013425421, 0.0172314444],
    ],
  ],
  [
    'CosineAnnealingWarmRestarts',
    (sgd) => new CosineAnnealingWarmRestarts(sgd, { t0: 4, tMult: 2, lastEpoch }),
    [
      [0.0961939766, 0.192387953],
      [0.0853553391, 0.170710678],
      [0.0691341716, 0.138268343],
      [0.05, 0.1],
      [0.0308658284, 0.0617316568],
    ],
  ],
  [
    'CyclicLR',
    (sgd) => {
      for (const group of sgd.paramGroups) group.initialLr = 0.01;
      return new CyclicLR(sgd, { baseLr: 0.01, maxLr: 0.1, stepSizeUp: 3, lastEpoch });
    },
    [
      [0.04, 0.04],
      [0.01, 0.01],
      [0.04, 0.04],
      [0.07, 0.07],
      [0.1, 0.1],
    ],
  ],
  [
    'ExponentialLR',
    (sgd) => new ExponentialLR(sgd, { gamma: 0.5, lastEpoch }),
    [
      [0.05, 0.07],
      [0.025, 0.035],
      [0.0125, 0.0175],
      [0.00625, 0.00875],
      [0.003125, 0.004375],
    ],
  ],
  [
    'LinearLR',
    (sgd) => new LinearLR(sgd, { startFactor: 0.25, totalIters: 7, lastEpoch }),
    [
      [0.05, 0.07],
      [0.0568181818, 0.0795454545],
      [0.0636363636, 0.0890909091],
      [0.0636363636, 0.0890909091],
      [0.0636363636, 0.0890909091],
    ],
  ],
  [
    'MultiStepLR',
    (sgd) => new MultiStepLR(sgd, { milestones: [5, 7], lastEpoch }),
    [
      [0.005, 0.007],
      [0.005, 0.007],
      [0.0005, 0.0007],
      [0.0005, 0.0007],
      [0.0005, 0.0007],
    ],
  ],
  [
    'PolynomialLR',
    (sgd) => new PolynomialLR(sgd, { totalIters: 8, power: 2, lastEpoch }),
    [
      [0.05, 0.07],
      [0.0222222222, 0.0311111111],
      [0.00555555556, 0.00777777778],
      [0, 0],
      [0, 0],
    ],
  ],
  [
    'SWALR',
    (sgd) => new optim.swaUtils.SWALR(sgd, { swaLr: 0.01, annealEpochs: 8, lastEpoch }),
    [
      [0.05, 0.07],
      [0.0484775907, 0.067716386],
      [0.0441421356, 0.0612132034],
      [0.0376536686, 0.051480503],
      [0.03, 0.04],
    ],
  ],
  [
    'LambdaLR',
    (sgd) => new LambdaLR(sgd, (epoch) => 1 / (1 + epoch), { lastEpoch }),
    [
      [0.0166666667, 0.0333333333],
      [0.0142857143, 0.0285714286],
      [0.0125, 0.025],
      [0.0111111111, 0.0222222222],
      [0.01, 0.02],
    ],
  ],
  [
    'MultiplicativeLR',
    (sgd) => new MultiplicativeLR(sgd, (epoch) => 1 / (1 + epoch), { lastEpoch }),
    [
      [0.05, 0.07],
      [0.00714285714, 0.01],
      [0.000892857143, 0.00125],
      [9.92063492e-5, 0.000138888889],
      [9.92063492e-6, 1.38888889e-5],
    ],
  ],
  [
    'OneCycleLR',
    (sgd) => new OneCycleLR(sgd, { maxLr: 1, totalSteps: 12, lastEpoch }),
    [
      [0.811745654, 0.811745654],
      [0.647378998, 0.647378998],
      [0.462637103, 0.462637103],
      [0.283060998, 0.283060998],
      [0.13347753, 0.13347753],
    ],
  ],
];

describe('lastEpoch', () => {
  it.each(RESUMED)('%s goes on after it', (_name, make, want) => {
    const scheduler = make(optimizer());
    expect(scheduler.lastEpoch).toBe(5);
    for (const [i, rates] of want.entries()) {
      if (i > 0) scheduler.step();
      scheduler.getLastLr().forEach((rate, j) => expect(rate).toBeCloseTo(rates[j]!, 8));
    }
  });

  it('wants the initial rates of the groups: invalid-argument', () => {
    const refused = thrownBy(() => new StepLR(optimizer([0.1]), { stepSize: 3, lastEpoch }));
    expect(refused).toMatchObject({ code: 'invalid-argument' });
    expect((refused as Error).message).toContain(
      "param 'initialLr' is not specified in paramGroups[1] when resuming scheduler with lastEpoch >= 0.",
    );
  });

  it('is no option of schedules of schedules', () => {
    const sgd = optimizer();
    const options = { schedulers: [new StepLR(sgd, { stepSize: 3 })], lastEpoch };
    expect(() => new lrScheduler.ChainedScheduler(sgd, options as never)).toThrow(
      "has no option 'lastEpoch'",
    );
  });
});
