/**
 * @file Rprop, ASGD, Adafactor, Muon, and further schedules: against what PyTorch 1.13 computed
 * (data/reference-more-optim.py), and, for what is newer, against a plain computation on numbers.
 */
import { readFileSync } from 'node:fs';
import { gunzipSync } from 'node:zlib';
import { type Tensor, manualSeed, ones, randn, tensor } from '@tessera/tensor';
import { svdvals } from '@tessera/tensor/linalg';
import { describe, expect, it } from 'vitest';
import {
  Linear,
  Parameter,
  lrScheduler,
  optim,
  parametersToVector,
  vectorToParameters,
} from '../src/index.js';
import { compileForTest } from './compile-for-test.js';
import { type OptimizerCase, expectRecorded, restore } from './reference.js';

const recorded = JSON.parse(
  gunzipSync(
    readFileSync(new URL('./data/reference-more-optim.json.gz', import.meta.url)),
  ).toString(),
) as {
  optimizers: Record<'Rprop' | 'ASGD', OptimizerCase[]>;
  schedules: Record<string, { options: object; rates: number[][]; momenta: number[] }[]>;
};

const { Rprop, ASGD } = optim;
const OPTIMIZERS = { Rprop, ASGD };
const { SWALR } = optim.swaUtils;

/** Runs `steps`, compiled or not; returns the number of graphs. */
function run(
  optimizer: optim.Optimizer,
  compiled: boolean,
  each: (step: () => void) => void,
): number {
  const plain = (): void => void optimizer.step();
  const counted = compiled ? compileForTest(plain) : null;
  each(counted?.call ?? plain);
  return counted?.graphs.length ?? 1;
}

const modes = [
  ['eager', false],
  ['compiled', true],
] as const;

describe.each(modes)('Rprop and ASGD, %s', (_, compiled) => {
  const cases = Object.entries(recorded.optimizers).flatMap(([name, list]) =>
    list.map((entry) => [name as 'Rprop' | 'ASGD', entry] as const),
  );
  it.each(cases)("%s: parameters and state are PyTorch's, in one graph", (name, entry) => {
    const params = entry.start.map((start) => new Parameter(restore(start)));
    const optimizer = new OPTIMIZERS[name](params, entry.options);
    const graphs = run(optimizer, compiled, (step) =>
      entry.grads.forEach((grads, i) => {
        if (i === 4) optimizer.paramGroups[0]!.lr *= 0.5;
        params.forEach((param, p) => (param.grad = restore(grads[p]!)));
        step();
        params.forEach((param, p) =>
          expectRecorded(param, entry.after[i]![p]!, `parameter ${p} after step ${i}`, 2e-6, 2e-6),
        );
      }),
    );
    for (const [key, value] of Object.entries(entry.state))
      expectRecorded(optimizer.state.get(params[0]!)!.tensors[key]!, value, key, 2e-6, 2e-6);
    expect(graphs).toBe(1);
  });
});

type Matrix = number[][];
const map2 = (a: Matrix, fn: (v: number, i: number, j: number) => number): Matrix =>
  a.map((row, i) => row.map((v, j) => fn(v, i, j)));
const total = (a: Matrix): number => a.flat().reduce((s, v) => s + v, 0);
const rms = (a: Matrix): number => Math.sqrt(total(map2(a, (v) => v * v)) / a.flat().length);

describe.each(modes)('Adafactor, %s', (_, compiled) => {
  it.each([
    [{}, [4, 3]],
    [{ lr: 0.1, d: 1.5, weightDecay: 0.2, beta2Decay: -0.5, eps: [1e-6, 1e-2] as const }, [2, 5]],
    [{ lr: 0.5, maximize: true }, [1, 6]],
  ])('%j: as computed on plain numbers', (options, shape) => {
    manualSeed(4);
    const asVector = shape[0] === 1;
    const start = randn(shape);
    const param = new Parameter(asVector ? start.reshape([-1]) : start);
    const all = {
      lr: 1e-2,
      beta2Decay: -0.8,
      eps: [null, 1e-3] as readonly [number | null, number],
      d: 1,
      weightDecay: 0,
      maximize: false,
      ...options,
    };
    const optimizer = new optim.Adafactor([param], options);
    let x = start.toArray() as Matrix;
    let rows = x.map(() => 0);
    let columns = x[0]!.map(() => 0);
    let variance = map2(x, () => 0);
    const graphs = run(optimizer, compiled, (step) => {
      for (let t = 1; t <= 5; t++) {
        const grad = randn(shape);
        param.grad = asVector ? grad.reshape([-1]) : grad;
        step();
        const g = map2(grad.toArray() as Matrix, (v) => (all.maximize ? -v : v));
        const mix = t ** all.beta2Decay;
        const least = all.eps[0] ?? 2 ** -23;
        const rate = Math.max(all.eps[1], rms(x)) * Math.min(all.lr, 1 / Math.sqrt(t));
        x = map2(x, (v) => v * (1 - all.lr * all.weightDecay));
        if (asVector) variance = map2(variance, (v, i, j) => v + mix * (g[i]![j]! ** 2 - v));
        else {
          rows = rows.map(
            (v, i) => v + mix * (g[i]!.reduce((s, w) => s + w * w, 0) / g[0]!.length - v),
          );
          columns = columns.map(
            (v, j) => v + mix * (g.reduce((s, row) => s + row[j]! ** 2, 0) / g.length - v),
          );
          const mean = Math.max(least, rows.reduce((s, v) => s + v, 0) / rows.length);
          variance = map2(variance, (_v, i, j) => (rows[i]! * columns[j]!) / mean);
        }
        const u = map2(g, (v, i, j) => v / Math.sqrt(Math.max(variance[i]![j]!, least * least)));
        const length = Math.max(1, rms(u) / all.d);
        x = map2(x, (v, i, j) => v - (rate / length) * u[i]![j]!);
        const got = param.detach().reshape(shape).toArray() as Matrix;
        map2(x, (v, i, j) => (expect(got[i]![j]!).toBeCloseTo(v, 5), v));
      }
    });
    expect(graphs).toBe(1);
  });

  it('saves and loads its rows and columns', () => {
    const make = (): [Parameter, optim.Adafactor] => {
      const param = new Parameter(ones([3, 2]));
      return [param, new optim.Adafactor([param])];
    };
    const [a, first] = make();
    a.grad = ones([3, 2]);
    first.step();
    const [b, second] = make();
    second.loadStateDict(first.stateDict());
    expect(Object.entries(second.state.get(b)!.tensors).map(([n, t]) => [n, t.sizes])).toEqual([
      ['row_var', [3, 1]],
      ['col_var', [1, 2]],
    ]);
    expect(second.state.get(b)!.step).toBe(1);
    const saved = first.stateDict();
    const odd = { ...saved, state: { 0: { ...saved.state[0], row_var: ones([2, 1]) } } };
    expect(() => second.loadStateDict(odd)).toThrow('row_var of parameter 0');
  });
});

describe.each(modes)('Muon, %s', (_, compiled) => {
  const multiply = (a: Matrix, b: Matrix): Matrix =>
    a.map((row) => b[0]!.map((_v, j) => row.reduce((s, v, k) => s + v * b[k]![j]!, 0)));
  const transpose = (a: Matrix): Matrix => a[0]!.map((_v, j) => a.map((row) => row[j]!));

  /** Newton–Schulz in double precision. */
  function orthogonal(m: Matrix): Matrix {
    if (m.length > m[0]!.length) return transpose(orthogonal(transpose(m)));
    const norm = Math.sqrt(total(map2(m, (v) => v * v)));
    let x = map2(m, (v) => v / norm);
    for (let i = 0; i < 5; i++) {
      const gram = multiply(x, transpose(x));
      const squared = multiply(gram, gram);
      const polynomial = map2(gram, (v, r, c) => -4.775 * v + 2.0315 * squared[r]![c]!);
      const next = multiply(polynomial, x);
      x = map2(x, (v, r, c) => 3.4445 * v + next[r]![c]!);
    }
    return x;
  }

  it.each([
    [{ lr: 0.1 }, [6, 4], Math.sqrt(6 / 4)],
    [{ lr: 0.1, nesterov: false, weightDecay: 0, momentum: 0.5 }, [3, 5], 1],
    [{ lr: 0.1, adjustLrFn: 'matchRmsAdamw' as const }, [4, 4], 0.2 * 2],
  ])('%j: as computed in double precision, up to bfloat16', (options, shape, factor) => {
    manualSeed(5);
    const param = new Parameter(randn(shape));
    const all = { weightDecay: 0.1, momentum: 0.95, nesterov: true, ...options };
    const optimizer = new optim.Muon([param], options);
    let x = param.detach().clone().toArray() as Matrix;
    let buffer = map2(x, () => 0);
    const graphs = run(optimizer, compiled, (step) => {
      for (let t = 0; t < 4; t++) {
        param.grad = randn(shape);
        const g = param.grad.toArray() as Matrix;
        step();
        buffer = map2(buffer, (v, i, j) => v + (1 - all.momentum) * (g[i]![j]! - v));
        const look = all.nesterov
          ? map2(g, (v, i, j) => v + all.momentum * (buffer[i]![j]! - v))
          : buffer;
        const direction = orthogonal(look);
        x = map2(
          x,
          (v, i, j) => v * (1 - 0.1 * all.weightDecay) - 0.1 * factor * direction[i]![j]!,
        );
        const got = param.detach().toArray() as Matrix;
        map2(x, (v, i, j) => (expect(Math.abs(got[i]![j]! - v)).toBeLessThan(0.01 * (t + 1)), v));
      }
    });
    expect(graphs).toBe(1);
  });

  it('takes other options of its iteration between steps', () => {
    const play = (isCompiled: boolean): unknown => {
      manualSeed(7);
      const param = new Parameter(randn([4, 3]));
      const optimizer = new optim.Muon([param], { lr: 0.1 });
      const [group] = optimizer.paramGroups;
      run(optimizer, isCompiled, (step) => {
        for (const [nsSteps, eps] of [
          [5, 1e-7],
          [5, 1e-7],
          [1, 1e-7],
          [1, 3],
          [5, 1e-7],
        ] as const) {
          Object.assign(group!, { nsSteps, eps });
          param.grad = randn([4, 3]);
          step();
        }
      });
      return param.detach().toArray();
    };
    expect(play(compiled)).toEqual(play(false));
  });

  it('applies updates whose singular values are near 1', () => {
    manualSeed(6);
    const param = new Parameter(tensor(0).expand([8, 5]).clone());
    const optimizer = new optim.Muon([param], { lr: 1, weightDecay: 0 });
    param.grad = randn([8, 5]);
    run(optimizer, compiled, (step) => step());
    const values = svdvals(param.detach().div(Math.sqrt(8 / 5))).toArray() as number[];
    values.forEach((value) => expect(Math.abs(value - 0.95)).toBeLessThan(0.35));
  });
});

describe('options of the optimizers', () => {
  it('are checked', () => {
    const params = [new Parameter(ones([2]))];
    expect(() => new optim.Muon(params)).toThrow('only supports 2D');
    expect(() => new optim.Rprop(params, { etas: [1.5, 2] })).toThrow('eta values');
    expect(() => new optim.Adafactor(params, { d: 0.5 })).toThrow('Clipping threshold d');
    expect(() => new optim.ASGD(params, { lr: -1 })).toThrow('lr');
  });
});

describe('further schedules', () => {
  const make = (name: string, optimizer: optim.SGD, options: object): lrScheduler.LRScheduler => {
    const { ConstantLR, ExponentialLR } = lrScheduler;
    if (name === 'SWALR') return new SWALR(optimizer, options as never);
    if (name === 'CyclicLR') return new lrScheduler.CyclicLR(optimizer, options as never);
    if (name === 'MultiplicativeLR')
      return new lrScheduler.MultiplicativeLR(optimizer, (epoch) => (epoch % 2 === 1 ? 0.9 : 1.05));
    return new lrScheduler.ChainedScheduler(optimizer, {
      schedulers: [
        new ConstantLR(optimizer, { factor: 0.1, totalIters: 2 }),
        new ExponentialLR(optimizer, { gamma: 0.9 }),
      ],
    });
  };
  const cases = Object.entries(recorded.schedules).flatMap(([name, list]) =>
    list.map((entry) => [name, entry] as const),
  );

  it.each(cases)("%s: rates and momenta are PyTorch's, also after a reload", (name, entry) => {
    const zero = (): Tensor => new Parameter(tensor([0]));
    const momentum = entry.momenta.some((m) => m !== 0) ? 0.9 : 0;
    const build = (): [optim.SGD, lrScheduler.LRScheduler] => {
      const groups = [{ params: [zero()] }, { params: [zero()], lr: 0.3 }];
      const optimizer = new optim.SGD(groups, { lr: 0.1, momentum });
      return [optimizer, make(name, optimizer, entry.options)];
    };
    let [optimizer, scheduler] = build();
    entry.rates.forEach((expected, epoch) => {
      if (epoch > 0) scheduler.step();
      if (epoch === 5) {
        const [state, position] = [optimizer.stateDict(), scheduler.stateDict()];
        [optimizer, scheduler] = build();
        optimizer.loadStateDict(state);
        scheduler.loadStateDict(position);
      }
      optimizer.paramGroups.forEach((group, i) =>
        expect(group.lr, `rate ${i} at epoch ${epoch}`).toBeCloseTo(expected[i]!, 10),
      );
      expect(optimizer.paramGroups[0]!.momentum).toBeCloseTo(entry.momenta[epoch]!, 10);
    });
    expect(scheduler.getLastLr()).toEqual(optimizer.paramGroups.map(({ lr }) => lr));
  });

  it('say what is given wrongly', () => {
    const optimizer = new optim.SGD([new Parameter(tensor([0]))], { lr: 0.1 });
    const { CyclicLR, ChainedScheduler } = lrScheduler;
    expect(() => new CyclicLR(optimizer, { baseLr: [1, 2], maxLr: 1 })).toThrow(
      '1 values for baseLr',
    );
    expect(() => new CyclicLR(optimizer, { baseLr: 1, maxLr: 2, mode: 'x' as never })).toThrow(
      'mode',
    );
    expect(() => new ChainedScheduler(optimizer, { schedulers: [] })).toThrow('at least one');
    expect(() => new SWALR(optimizer, { swaLr: 1, annealEpochs: -1 })).toThrow('annealEpochs');
    const adagrad = new optim.Adagrad([new Parameter(tensor([0]))]);
    expect(() => new CyclicLR(adagrad, { baseLr: 1, maxLr: 2 })).toThrow('no momentum');
  });
});

describe('parameters as a vector', () => {
  it('and back, eager and compiled', () => {
    const model = new Linear(2, 3);
    const vector = parametersToVector(model.parameters());
    expect(vector.sizes).toEqual([9]);
    expect(vector.requiresGrad).toBe(true);
    vector.sum().backward();
    expect(model.weight.grad!.sum().item()).toBe(6);
    const double = (): void =>
      vectorToParameters(parametersToVector(model.parameters()).mul(2), model.parameters());
    double();
    compileForTest(double).call();
    expect(model.bias!.toArray()).toEqual(vector.narrow(0, 6, 3).mul(4).toArray());
    expect(() => vectorToParameters(ones([4]), model.parameters())).toThrow('hold 9 elements');
    expect(() => parametersToVector([])).toThrow('at least one');
  });
});
