/**
 * @file The further optimizers and schedules against what PyTorch computed (data/reference-optim.py).
 */
import { readFileSync } from 'node:fs';
import { gunzipSync } from 'node:zlib';
import { type Tensor, tensor } from '@tessera/tensor';
import { describe, expect, it } from 'vitest';
import { Parameter, lrScheduler, optim } from '../src/index.js';
import { compileForTest } from './compile-for-test.js';
import { type OptimizerCase, expectRecorded, restore } from './reference.js';

interface ScheduleCase {
  readonly options: Record<string, never>;
  readonly rates: number[][];
  readonly momenta: number[];
  readonly metrics: number[] | null;
}

const recorded = JSON.parse(
  gunzipSync(readFileSync(new URL('./data/reference-optim.json.gz', import.meta.url))).toString(),
) as {
  optimizers: Record<'Adadelta' | 'Adamax' | 'NAdam' | 'RAdam', OptimizerCase[]>;
  lbfgs: { options: object; losses: number[]; points: number[][] }[];
  schedules: Record<string, ScheduleCase[]>;
};

/** A few units in the last place of float32, for updates of about ten operations. */
const RELATIVE = 2e-6;

const { Adadelta, Adamax, NAdam, RAdam } = optim;
const OPTIMIZERS = { Adadelta, Adamax, NAdam, RAdam };

const cases = Object.entries(recorded.optimizers).flatMap(([name, list]) =>
  list.map((entry) => [name as keyof typeof recorded.optimizers, entry] as const),
);

/** Runs the recorded steps; returns the number of graphs if they are compiled. */
function follow(
  name: keyof typeof recorded.optimizers,
  entry: OptimizerCase,
  compiled: boolean,
): number {
  const params = entry.start.map((start) => new Parameter(restore(start)));
  const optimizer = new OPTIMIZERS[name](params, entry.options);
  const plain = (): void => void optimizer.step();
  const counted = compiled ? compileForTest(plain) : null;
  entry.grads.forEach((grads, step) => {
    if (step === 4) optimizer.paramGroups[0]!.lr *= 0.5;
    params.forEach((param, i) => (param.grad = restore(grads[i]!)));
    (counted?.call ?? plain)();
    params.forEach((param, i) => {
      const what = `parameter ${i} after step ${step}`;
      expectRecorded(param, entry.after[step]![i]!, what, RELATIVE, RELATIVE);
    });
  });
  const state = optimizer.state.get(params[0]!)!;
  for (const [key, value] of Object.entries(entry.state))
    expectRecorded(state.tensors[key]!, value, key, RELATIVE, RELATIVE);
  return counted?.graphs.length ?? 0;
}

describe('further optimizers', () => {
  it.each(cases)(
    "%s: parameters and state are PyTorch's",
    (name, entry) => void follow(name, entry, false),
  );

  it.each(cases)('%s: one graph serves all steps, whatever the rate and the count', (name, entry) =>
    expect(follow(name, entry, true)).toBe(1),
  );

  it('NAdam saves the product of its momenta and does without it when loading', () => {
    const param = new Parameter(tensor([1]));
    const optimizer = new optim.NAdam([param]);
    param.grad = tensor([1]);
    optimizer.step();
    const dict = optimizer.stateDict();
    expect(dict.state[0]!.mu_product).toBeCloseTo(0.9 * (1 - 0.5 * 0.96 ** 0.004), 6);
    optimizer.loadStateDict({
      ...dict,
      state: { 0: { ...dict.state[0], mu_product: tensor(0.45) } },
    });
    expect(Object.keys(optimizer.state.get(param)!.tensors)).toEqual(['exp_avg', 'exp_avg_sq']);
  });
});

describe('LBFGS', () => {
  const rosenbrock = (x: Tensor): Tensor => {
    const next = x.narrow(0, 1, 3);
    const here = x.narrow(0, 0, 3);
    return next.sub(here.square()).square().mul(100).add(here.neg().add(1).square()).sum();
  };

  it.each(recorded.lbfgs.map((entry) => [JSON.stringify(entry.options), entry] as const))(
    'follows PyTorch down the Rosenbrock valley: %s',
    (_, { options, losses, points }) => {
      const x = new Parameter(tensor([-1.2, 1, 0.5, -0.3]));
      const optimizer = new optim.LBFGS([x], options);
      losses.forEach((loss, i) => {
        const first = optimizer.step(() => {
          optimizer.zeroGrad();
          const value = rosenbrock(x);
          value.backward();
          return value;
        });
        // Rounding is amplified by every iteration.
        expect(Math.abs(first.item() - loss)).toBeLessThan(2e-3 * Math.max(1, Math.abs(loss)));
        (x.toArray() as number[]).forEach((value, j) =>
          expect(Math.abs(value - points[i]![j]!)).toBeLessThan(5e-3),
        );
      });
    },
  );

  it.each(recorded.lbfgs.map(({ options }) => [JSON.stringify(options), options] as const))(
    'goes the same way with awaited losses: %s',
    async (_, options) => {
      const way = async (isAsync: boolean): Promise<unknown[]> => {
        const x = new Parameter(tensor([-1.2, 1, 0.5, -0.3]));
        const optimizer = new optim.LBFGS([x], options);
        const seen: unknown[] = [];
        const closure = (): Tensor => {
          optimizer.zeroGrad();
          const value = rosenbrock(x);
          value.backward();
          return value;
        };
        for (let i = 0; i < 3; i++) {
          const first = isAsync ? await optimizer.stepAsync(closure) : optimizer.step(closure);
          seen.push(first.item(), x.toArray(), optimizer.evaluations);
        }
        return seen;
      };
      expect(await way(true)).toEqual(await way(false));
    },
  );

  // PyTorch 2.13 in float64: evaluations and parameters after each of three steps.
  it.each([
    [
      3,
      [3, -1.418669289341586, 2.0262357131156175],
      [6, -1.4201542252964758, 2.0238007171340726],
      [9, -1.4182443689078426, 2.010921766573669],
    ],
    [
      5,
      [5, -1.4201542252964758, 2.0238007171340726],
      [10, -1.3964550385375922, 1.9322254260420488],
      [15, -1.1487481747268506, 1.2623108007140016],
    ],
  ])('a line search makes no more evaluations than are left of %i', (maxEval, ...expected) => {
    const x = new Parameter(tensor([-1.5, 2], { dtype: 'float64' }));
    const optimizer = new optim.LBFGS([x], {
      lr: 0.8,
      maxIter: 6,
      maxEval,
      lineSearchFn: 'strong_wolfe',
    });
    for (const [evaluations, ...point] of expected) {
      optimizer.step(() => {
        optimizer.zeroGrad();
        const [a, b] = [x.select(0, 0), x.select(0, 1)];
        const loss = b.sub(a.square()).square().mul(100).add(a.neg().add(1).square());
        loss.backward();
        return loss;
      });
      expect(optimizer.evaluations).toBe(evaluations);
      (x.toArray() as number[]).forEach((value, i) => expect(value).toBeCloseTo(point[i]!, 9));
    }
  });

  it('leaves grad mode to other code while it awaits', async () => {
    const x = new Parameter(tensor([3, -2]));
    const optimizer = new optim.LBFGS([x]);
    const done = optimizer.stepAsync(() => {
      optimizer.zeroGrad();
      const loss = x.square().sum();
      loss.backward();
      return loss;
    });
    expect(x.mul(2).requiresGrad).toBe(true);
    expect((await done).item()).toBe(13);
    expect(Math.max(...(x.toArray() as number[]).map(Math.abs))).toBeLessThan(1e-3);
  });

  it('needs a closure', async () => {
    const optimizer = new optim.LBFGS([new Parameter(tensor([1]))]);
    expect(() => optimizer.step(undefined as never)).toThrow('needs a closure');
    await expect(optimizer.stepAsync(undefined as never)).rejects.toThrow('needs a closure');
  });
});

describe('further schedules', () => {
  const make = (
    name: string,
    optimizer: optim.SGD,
    options: Record<string, never>,
  ): { step(metric?: number): void } => {
    if (name !== 'SequentialLR')
      return new (lrScheduler as unknown as Record<string, new (...args: unknown[]) => never>)[
        name
      ]!(optimizer, options);
    const { LinearLR, CosineAnnealingLR, ExponentialLR } = lrScheduler;
    return new lrScheduler.SequentialLR(optimizer, {
      schedulers: [
        new LinearLR(optimizer, { startFactor: 0.1, totalIters: 4 }),
        new CosineAnnealingLR(optimizer, { tMax: 6 }),
        new ExponentialLR(optimizer, { gamma: 0.5 }),
      ],
      milestones: [4, 10],
    });
  };
  const schedules = Object.entries(recorded.schedules).flatMap(([name, list]) =>
    list.map((entry) => [name, entry] as const),
  );

  it.each(schedules)("%s: rates are PyTorch's", (name, { options, rates, momenta, metrics }) => {
    const zero = (): Tensor => new Parameter(tensor([0]));
    const optimizer = new optim.SGD([{ params: [zero()] }, { params: [zero()], lr: 0.3 }], {
      lr: 0.1,
      momentum: momenta.some((momentum) => momentum !== 0) ? 0.9 : 0,
    });
    const scheduler = make(name, optimizer, options);
    rates.forEach((expected, epoch) => {
      if (epoch > 0) scheduler.step(...(metrics === null ? [] : [metrics[epoch - 1]!]));
      optimizer.paramGroups.forEach((group, i) =>
        expect(group.lr, `rate ${i} at epoch ${epoch}`).toBeCloseTo(expected[i]!, 10),
      );
      expect(optimizer.paramGroups[0]!.momentum).toBeCloseTo(momenta[epoch]!, 10);
    });
  });

  it('says what is given wrongly', () => {
    const optimizer = new optim.SGD([new Parameter(tensor([0]))], { lr: 0.1 });
    expect(() => new lrScheduler.OneCycleLR(optimizer, { maxLr: 1 })).toThrow('totalSteps');
    expect(
      () => new lrScheduler.SequentialLR(optimizer, { schedulers: [], milestones: [] }),
    ).toThrow('0 schedulers');
    expect(() => new lrScheduler.ReduceLROnPlateau(optimizer, { factor: 1 })).toThrow('Factor');
    expect(() => new lrScheduler.CosineAnnealingWarmRestarts(optimizer, { t0: 0 })).toThrow(
      'positive',
    );
  });
});
