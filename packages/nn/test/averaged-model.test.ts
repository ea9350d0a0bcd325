/**
 * @file Averages of weights, against what PyTorch 1.13 computed (data/reference-more-optim.py).
 */
import { readFileSync } from 'node:fs';
import { gunzipSync } from 'node:zlib';
import { type Tensor, manualSeed, randn } from '@tessera/tensor';
import { describe, expect, it } from 'vitest';
import { BatchNorm1d, Linear, Sequential, optim } from '../src/index.js';
import { compileForTest } from './compile-for-test.js';
import { type Recorded, expectRecorded, restore } from './reference.js';

interface AverageCase {
  readonly models: Record<string, Recorded>[];
  readonly state: Record<string, Recorded>;
  readonly batches: Recorded[];
  readonly normed: Record<string, Recorded>;
}

const { averages: recordings } = JSON.parse(
  gunzipSync(
    readFileSync(new URL('./data/reference-more-optim.json.gz', import.meta.url)),
  ).toString(),
) as { averages: Record<'swa' | 'ema', AverageCase> };

const { AveragedModel, getEmaAvgFn, getEmaMultiAvgFn, getSwaMultiAvgFn, updateBn } = optim.swaUtils;

describe('averages of weights', () => {
  const build = (): Sequential => new Sequential(new Linear(2, 3), new BatchNorm1d(3));
  const load = (model: Sequential, state: Record<string, Recorded>): void =>
    void model.loadStateDict(
      Object.fromEntries(Object.entries(state).map(([name, value]) => [name, restore(value)])),
    );

  it.each(Object.entries(recordings))(
    "%s: the averages, and batch norms taken anew, are PyTorch's",
    async (name, entry) => {
      const model = build();
      const average = new AveragedModel(model, name === 'ema' ? { avgFn: getEmaAvgFn(0.9) } : {});
      for (const state of entry.models) {
        load(model, state);
        average.updateParameters(model);
      }
      const compare = (expected: Record<string, Recorded>): void => {
        const state = average.stateDict();
        expect(Object.keys(state).sort()).toEqual(Object.keys(expected).sort());
        for (const [key, value] of Object.entries(expected))
          expectRecorded(state[key]!, value, key);
      };
      // Buffers follow the module, as they do from PyTorch 2.0 on.
      const last = entry.models.at(-1)!['1.running_mean']!;
      compare({ ...entry.state, 'module.1.running_mean': last });
      await updateBn(entry.batches.map(restore), average);
      compare(entry.normed);
    },
  );

  it.each(Object.entries(recordings))(
    "%s: averaging all parameters in one call gives PyTorch's averages",
    (name, entry) => {
      const whole = name === 'ema' ? getEmaMultiAvgFn(0.9) : getSwaMultiAvgFn();
      const calls: number[] = [];
      const model = build();
      const average = new AveragedModel(model, {
        multiAvgFn: (averages, values, count) => {
          calls.push(averages.length);
          whole(averages, values, count);
        },
      });
      for (const state of entry.models) {
        load(model, state);
        average.updateParameters(model);
      }
      // The first model is copied.
      const parameters = [...model.parameters()].length;
      expect(calls).toEqual(entry.models.slice(1).map(() => parameters));
      for (const [key] of model.namedParameters())
        expectRecorded(average.stateDict()[`module.${key}`]!, entry.state[`module.${key}`]!, key);
    },
  );

  it('two ways of averaging are refused', () => {
    expect(
      () => new AveragedModel(build(), { avgFn: getEmaAvgFn(), multiAvgFn: getEmaMultiAvgFn() }),
    ).toThrow('Only one of avgFn and multiAvgFn should be provided');
  });

  it('continues after a state dict was loaded', () => {
    const model = build();
    const average = new AveragedModel(model);
    average.updateParameters(model);
    const again = new AveragedModel(build());
    again.loadStateDict(average.stateDict());
    for (const p of model.parameters()) p.detach().zero_();
    average.updateParameters(model);
    again.updateParameters(model);
    expect(again.stateDict()['module.0.weight']!.toArray()).toEqual(
      average.stateDict()['module.0.weight']!.toArray(),
    );
    expect(again.n_averaged.item()).toBe(2);
  });

  it('an update is part of a compiled training step', () => {
    const train = (compiled: boolean): { weight: unknown; graphs: number } => {
      manualSeed(7);
      const model = build();
      const average = new AveragedModel(model, { avgFn: getEmaAvgFn(0.9) });
      const optimizer = new optim.SGD(model.parameters(), { lr: 0.1 });
      const step = (x: Tensor): void => {
        optimizer.zeroGrad();
        model.call(x).square().mean().backward();
        optimizer.step();
        average.updateParameters(model);
      };
      const counted = compileForTest(step);
      for (let i = 0; i < 4; i++) (compiled ? counted.call : step)(randn([4, 2]));
      return {
        weight: average.stateDict()['module.0.weight']!.toArray(),
        graphs: counted.graphs.length,
      };
    };
    const [eager, compiled] = [train(false), train(true)];
    expect(compiled.weight).toEqual(eager.weight);
    // The first update copies.
    expect(compiled.graphs).toBeLessThanOrEqual(2);
  });
});
