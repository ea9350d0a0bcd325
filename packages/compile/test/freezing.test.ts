import { BatchNorm2d, Conv2d, Linear, Sequential } from '@tessera/nn';
import { type Tensor, emptyLike, library, mm, noGrad, ones, randn } from '@tessera/tensor';
import { fill_ } from '@tessera/tensor/internal';
import { describe, expect, it } from 'vitest';
import {
  compile,
  config,
  counters,
  graphBreak,
  observeCompilations,
  useFreezing,
} from '../src/index.js';

/** Prints of the graphs that are compiled while `fn` runs. */
function graphsOf(fn: () => void): string[] {
  const graphs: string[] = [];
  const stop = observeCompilations((module) => graphs.push(module.print()));
  try {
    fn();
  } finally {
    stop();
  }
  return graphs;
}

function expectClose(actual: Tensor, expected: Tensor): void {
  expect(actual.sizes).toEqual(expected.sizes);
  const a = actual.toTypedArray() as Float32Array;
  const e = expected.toTypedArray() as Float32Array;
  a.forEach((value, i) => expect(value).toBeCloseTo(e[i]!, 4));
}

describe('freezing', () => {
  it('is in a program that asks for it: others are told how', () => {
    const model = new Linear(4, 4);
    const run = (): unknown => noGrad(() => compile(model)(ones([2, 4])));
    for (const option of ['freezing', 'layoutOptimization']) {
      const left = expect.objectContaining({
        code: 'invalid-config-value',
        message: expect.stringContaining(`config.${option} needs code`) as string,
      }) as Error;
      config.patch({ [option]: true }, () => expect(run).toThrow(left));
    }
    useFreezing();
    counters.clear('inductor');
    config.patch({ freezing: true, layoutOptimization: true }, run);
    expect(counters.get('inductor', 'frozen_inputs')).toBe(2);
  });

  it('folds a batch norm and keeps the layout of the result', () => {
    const model = new Sequential(new Conv2d(3, 8, 3), new BatchNorm2d(8)).eval();
    const x = randn([1, 3, 6, 6]);
    const graphs = graphsOf(() => {
      config.patch({ freezing: true, forceLayoutOptimization: true }, () => {
        const expected = noGrad(() => model.call(x)) as Tensor;
        const actual = noGrad(() => compile(model)(x)) as Tensor;
        expectClose(actual, expected);
        expect(actual.strides).toEqual(expected.strides);
      });
    });
    expect(graphs).toHaveLength(1);
    expect(graphs[0]).not.toContain('batch_norm');
    expect(graphs[0]).toContain('prims.inductor_force_stride_order');
  });

  it('does not freeze where gradients are recorded', () => {
    const model = new Linear(4, 4);
    counters.clear('inductor');
    config.patch({ freezing: true }, () => compile(model)(ones([2, 4])));
    expect(counters.get('inductor', 'frozen_inputs')).toBe(0);
  });

  it('sees a parameter that changed in place, or became another', () => {
    const model = new Linear(2, 2, { bias: false });
    const run = compile((x: Tensor) => mm(x, model.weight.mul(2)));
    const x = ones([1, 2]);
    config.patch({ freezing: true }, () =>
      noGrad(() => {
        for (const value of [1, 3]) {
          fill_(model.weight, value);
          expect(run(x).toArray()).toEqual([[4 * value, 4 * value]]);
        }
        model.weight = new Linear(2, 2).weight;
        fill_(model.weight, 5);
        expect(run(x).toArray()).toEqual([[20, 20]]);
      }),
    );
  });

  it('runs unfrozen after parameters changed again and again', () => {
    const model = new Linear(2, 2, { bias: false });
    const run = compile((x: Tensor) => mm(x, model.weight));
    counters.clear('inductor');
    config.patch({ freezing: true }, () =>
      noGrad(() => {
        for (let i = 0; i < 8; i++) {
          fill_(model.weight, i);
          expect(run(ones([1, 2])).toArray()).toEqual([[2 * i, 2 * i]]);
        }
      }),
    );
    expect(counters.get('inductor', 'graphs')).toBe(5);
  });

  it('releases parameters and says so in eager: frozen-parameter', () => {
    const model = new Linear(4, 4).eval();
    const run = compile(model);
    config.patch({ freezing: true, freezingDiscardParameters: true }, () =>
      noGrad(() => {
        const first = run(ones([2, 4])).toArray();
        expect(() => model.call(ones([2, 4]))).toThrow(
          expect.objectContaining({ code: 'frozen-parameter' }),
        );
        expect(run(ones([2, 4])).toArray()).toEqual(first);
        // Another shape needs another graph, and the values are gone.
        expect(() => run(ones([3, 4]))).toThrow(/Trying to run .* after .* Freezing/);
      }),
    );
  });

  it('lets the graphs of one call share parameters before they are released', () => {
    const model = new Linear(4, 4).eval();
    const run = compile((x: Tensor) => {
      const y = model.call(x);
      graphBreak();
      return model.call(y);
    });
    const x = ones([2, 4]);
    const expected = noGrad(() => model.call(model.call(x)));
    config.patch({ freezing: true, freezingDiscardParameters: true }, () =>
      noGrad(() => {
        expectClose(run(x), expected);
        expectClose(run(x), expected);
      }),
    );
    expect(() => model.call(x)).toThrow(/after .* Freezing/);
  });

  it('takes options for one function', () => {
    const model = new Linear(4, 4);
    counters.clear('inductor');
    noGrad(() => compile(model, { options: { freezing: true } })(ones([2, 4])));
    expect(counters.get('inductor', 'frozen_inputs')).toBe(2);
    expect(config.get('freezing')).toBe(false);
    expect(() => compile(model, { options: { freezin: true } })).toThrow(/freezin/);
  });

  it('refuses reference kernels with nativeWrapper', () => {
    const lib = library('freezing_test')
      .define('twice(Tensor self) -> Tensor')
      .impl('twice', 'cpu', (x: Tensor) => x.mul(2))
      .impl('twice', 'meta', (x: Tensor) => emptyLike(x));
    const twice = lib.fn<(x: Tensor) => Tensor>('twice');
    const run = (x: Tensor): Tensor => twice(x).add(1);
    const x = randn([5]);
    expect(compile(run)(x).toArray()).toEqual(run(x).toArray());
    expect(() => compile(run, { options: { nativeWrapper: true } })(x)).toThrow(
      expect.objectContaining({ code: 'kernel-missing' }),
    );
  });
});
