/**
 * @file State dicts of `LBFGS` against PyTorch 2.13: its own in the middle of a run, and PyTorch's.
 */
import { type Tensor, isTensor, tensor } from '@tessera/tensor';
import { describe, expect, it } from 'vitest';
import { Parameter, optim } from '../src/index.js';
import { thrownBy } from './thrown-by.js';

interface Run {
  readonly options: ConstructorParameters<typeof optim.LBFGS>[1];
  /** Loss, and the three numbers, of four steps. */
  readonly rows: readonly (readonly number[])[];
  /** State of PyTorch's optimizer after the second. */
  readonly saved: {
    readonly state: Readonly<Record<string, unknown>>;
    readonly group: Readonly<Record<string, unknown>>;
  };
}

/** Of (1 - a₀)² + 10 (a₁ - a₀²)² + (b - a₀)⁴ from a = [-1, 2] and b = 0.5. */
const runs: Readonly<Record<string, Run>> = {
  'steps of one length': {
    options: { lr: 0.1, maxIter: 3, historySize: 3 },
    rows: [
      [19.0625, -1.068538801112302, 1.9291685970897348, 0.4327153305082179],
      [15.558188892235037, -1.108048570417321, 1.8543921869590885, 0.3114311189164908],
      [12.430314981454945, -1.1285272789852006, 1.7874300290081417, 0.19641329110846048],
      [10.252776612464197, -1.1398760390257716, 1.7195015282643726, 0.099103915324971],
    ],
    saved: {
      state: {
        func_evals: 6,
        n_iter: 4,
        d: [-0.16572073211560018, -0.3636946875915507, -0.6189335138404465],
        t: 0.1,
        old_dirs: [
          [-3.8083763495353544, -2.35371492346939, 0.43859441053206716],
          [-2.708173959998742, -1.8984165243862314, -0.4047045376576168],
          [-2.20123193584865, -1.7590543168306638, -0.9621366986586217],
        ],
        old_stps: [
          [-0.040178571428571425, -0.03571428571428571, -0.024107142857142855],
          [-0.028360229683730722, -0.03511711719597948, -0.04317752663463918],
          [-0.022937696093459137, -0.03840694137149114, -0.059390860207682465],
        ],
        ro: [4.414950410562887, 6.2132836851894835, 5.707983729646346],
        H_diag: 0.019761453357960156,
        prev_flat_grad: [13.782217754617253, 13.988814235313715, 12.571753174215829],
        prev_loss: 13.870226084327395,
      },
      group: {
        lr: 0.1,
        max_iter: 3,
        max_eval: 3,
        tolerance_grad: 1e-7,
        tolerance_change: 1e-9,
        history_size: 3,
        line_search_fn: null,
      },
    },
  },
  'a line search': {
    options: { maxIter: 2, lineSearchFn: 'strong_wolfe' },
    rows: [
      [19.0625, -1.4017857142857142, 1.6428571428571428, 0.25892857142857145],
      [14.41276458142847, -1.2020933769364872, 1.6976479920991492, 0.2036999854022892],
      [9.392965121418692, -1.1778610866765695, 1.6201690380469114, 0.06716404599895096],
      [7.687866085125731, -1.1230994555617624, 1.3376815968707825, -0.28816375649947334],
    ],
    saved: {
      state: {
        func_evals: 4,
        n_iter: 2,
        d: [0.199692337349227, 0.05479084924200646, -0.05522858602628226],
        t: 1,
        old_dirs: [[-63.68757402514576, -26.442920918367342, 4.8208135932944565]],
        old_stps: [[-0.40178571428571425, -0.3571428571428571, -0.24107142857142855]],
        ro: [0.029524219567451753],
        H_diag: 0.007087990567261388,
        prev_flat_grad: [-41.18757402514576, -6.442920918367343, 18.320813593294456],
        prev_loss: 14.41276458142847,
      },
      group: {
        lr: 1,
        max_iter: 2,
        max_eval: 2,
        tolerance_grad: 1e-7,
        tolerance_change: 1e-9,
        history_size: 100,
        line_search_fn: 'strong_wolfe',
      },
    },
  },
};

const float64 = (values: unknown): Tensor => tensor(values as number[], { dtype: 'float64' });

function started(run: Run, at: readonly number[]) {
  const a = new Parameter(float64(at.slice(0, 2)));
  const b = new Parameter(float64(at[2]));
  const optimizer = new optim.LBFGS([a, b], run.options);
  const step = (): number[] => {
    const loss = optimizer.step(() => {
      optimizer.zeroGrad();
      const [first, second] = [a.select(0, 0), a.select(0, 1)];
      const value = first
        .sub(1)
        .square()
        .add(second.sub(first.square()).square().mul(10))
        .add(b.sub(first).pow(4));
      value.backward();
      return value;
    });
    return [loss.item(), ...(a.toArray() as number[]), b.item()];
  };
  return { optimizer, step };
}

function expectRow(actual: readonly number[], expected: readonly number[]): void {
  actual.forEach((value, i) => expect(value).toBeCloseTo(expected[i]!, 10));
}

/** Vectors of a state as tensors. */
const asTensors = (state: Readonly<Record<string, unknown>>): Record<string, unknown> =>
  Object.fromEntries(
    Object.entries(state).map(([name, value]) => [
      name,
      !Array.isArray(value)
        ? value
        : name === 'old_dirs' || name === 'old_stps'
          ? value.map(float64)
          : name === 'ro'
            ? value
            : float64(value),
    ]),
  );

describe.each(Object.entries(runs))('%s', (_name, run) => {
  it('continues from its own state', () => {
    const first = started(run, [-1, 2, 0.5]);
    run.rows.slice(0, 2).forEach((row) => expectRow(first.step(), row));
    const second = started({ ...run, options: {} }, run.rows[1]!.slice(1));
    second.optimizer.loadStateDict(first.optimizer.stateDict());
    // What was loaded is a copy.
    first.step();
    run.rows.slice(2).forEach((row) => expectRow(second.step(), row));
  });

  it("continues from PyTorch's", () => {
    const { optimizer, step } = started({ ...run, options: {} }, run.rows[1]!.slice(1));
    optimizer.loadStateDict({
      state: { 0: asTensors(run.saved.state) },
      param_groups: [{ ...run.saved.group, params: [0, 1] }],
    });
    expect(optimizer.paramGroups[0]).toMatchObject(run.options!);
    run.rows.slice(2).forEach((row) => expectRow(step(), row));
  });

  it("has PyTorch's names and numbers", () => {
    const { optimizer, step } = started(run, [-1, 2, 0.5]);
    expect(optimizer.stateDict().state).toEqual({});
    step();
    step();
    const flat = (value: unknown): number[] =>
      isTensor(value)
        ? (value.toArray() as number[])
        : Array.isArray(value)
          ? value.flatMap(flat)
          : [value as number];
    const state = optimizer.stateDict().state[0]!;
    expect(Object.keys(state).sort()).toEqual(Object.keys(run.saved.state).sort());
    for (const [name, value] of Object.entries(run.saved.state)) {
      const expected = Array.isArray(value) ? value.flat() : [value];
      expectRow(flat(state[name]), expected as number[]);
    }
  });
});

it('refuses the state of other parameters, and changes nothing', () => {
  const run = runs['a line search']!;
  const { optimizer, step } = started(run, [-1, 2, 0.5]);
  step();
  const before = optimizer.evaluations;
  const other = new optim.LBFGS([new Parameter(tensor([1, 2]))]);
  expect(thrownBy(() => other.loadStateDict(optimizer.stateDict()))).toMatchObject({
    code: 'state-dict-mismatch',
  });
  const state = { ...asTensors(run.saved.state), d: tensor([1, 2]) };
  const params = [0, 1];
  expect(
    thrownBy(() =>
      optimizer.loadStateDict({ state: { 0: state }, paramGroups: [{ params, lr: 5 }] }),
    ),
  ).toMatchObject({ code: 'state-dict-mismatch' });
  expect([optimizer.evaluations, optimizer.paramGroups[0].lr]).toEqual([before, 1]);
});
