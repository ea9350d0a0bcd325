/**
 * @file Which fields of a module are its parts, and how a module is called.
 */
import { type Tensor, ones } from '@tessera/tensor';
import { describe, expect, it } from 'vitest';
import {
  LSTM,
  Linear,
  Module,
  ModuleDict,
  ModuleList,
  Parameter,
  ParameterList,
  ReLU,
  Sequential,
  optim,
} from '../src/index.js';
import { compileForTest } from './compile-for-test.js';

describe('a module', () => {
  it('finds fields that start with an underscore as others, also where they are private to TypeScript', () => {
    class Hidden extends Module {
      private readonly _fc = new Linear(2, 1);
      private readonly _layers = [new Linear(1, 1)];
      private readonly _scale = new Parameter(ones([1]));

      constructor() {
        super();
        this.registerBuffer('_shift', ones([1]));
      }

      override forward(x: Tensor): Tensor {
        const shift = this.getBuffer('_shift');
        return this._layers[0]!.call(this._fc.call(x)).mul(this._scale).add(shift);
      }
    }
    const model = new Hidden();
    const names = ['_fc.weight', '_fc.bias', '_layers.0.weight', '_layers.0.bias'];
    expect(Object.keys(model.stateDict())).toEqual(['_scale', '_shift', ...names]);
    expect(
      model
        .eval()
        .modules()
        .map(({ training }) => training),
    ).toEqual([false, false, false]);
    const optimizer = new optim.SGD(model.parameters(), { lr: 0.01 });
    const before = model.parameters().map((parameter) => parameter.clone());
    const step = compileForTest((x: Tensor) => {
      optimizer.zeroGrad();
      model.call(x).square().sum().backward();
      optimizer.step();
    }).call;
    step(ones([3, 2]));
    step(ones([3, 2]));
    model.parameters().forEach((parameter, i) => {
      expect(parameter.sub(before[i]!).abs().max().item()).toBeGreaterThan(0);
    });
    const dict = new ModuleDict({ _first: new Linear(1, 1) });
    expect(dict.keys()).toEqual(['_first']);
  });

  it('declares buffers where they are registered, and names tensors that are none', () => {
    class Codes extends Module {
      readonly codes = this.registerBuffer('codes', ones([2]));
      readonly none: Tensor | null = this.registerBuffer('none', null);
      usage = ones([2]);
      override forward(x: Tensor): Tensor {
        return x.mul(this.codes).mul(this.usage);
      }
    }
    const model = new Sequential(new Codes());
    expect(Object.keys(model.stateDict())).toEqual(['0.codes']);
    model.loadStateDict({ '0.codes': ones([2]).mul(3) });
    expect(model.call(ones([2])).toArray()).toEqual([3, 3]);
    const given = { '0.codes': ones([2]), '0.usage': ones([2]) };
    expect(() => model.loadStateDict(given)).toThrow(
      '0.usage is no buffer: register it by registerBuffer().',
    );
    expect(() => model.loadStateDict({ '0.codes': ones([2]), '0.rate': ones([2]) })).not.toThrow(
      'registerBuffer',
    );
  });

  it('is called with call(), which a compiler of types says', () => {
    const layer = new Linear(1, 1);
    // @ts-expect-error a module is no function
    expect(() => layer(ones([1, 1]))).toThrow(TypeError);
  });
});

describe('parts by position and name', () => {
  it('are typed as the fields that they are', () => {
    const layers = new ModuleList([new Linear(2, 3), new Linear(3, 1)]);
    const last: Linear | undefined = layers[1];
    expect(last).toBe(layers.at(-1));
    expect([...layers]).toEqual([layers[0], last]);
    expect(() => layers.at(-3)).toThrow('index -3 is out of range');
    const net = new Sequential(layers.at(0), new ReLU());
    expect(net[1]).toBeInstanceOf(ReLU);
    const scales = new ParameterList([ones([1]), ones([2])]);
    expect(scales[1]?.sizes).toEqual([2]);
    expect(scales.at(-1)).toBe(scales[1]);
    const lstm = new LSTM(2, 3, { bidirectional: true });
    const weight: Parameter | undefined = lstm.weight_ih_l0;
    expect(weight?.sizes).toEqual([12, 2]);
    expect(lstm.bias_hh_l0_reverse?.sizes).toEqual([12]);
  });
});
