import { describe, expect, expectTypeOf, it } from 'vitest';
import { isTesseraError } from '@tessera/shared';
import { type Tensor, ones, tensor, zeros } from '@tessera/tensor';
import {
  Embedding,
  type HookGradients,
  Linear,
  Module,
  Parameter,
  ParameterDict,
  ParameterList,
  ReLU,
  Sequential,
  cloneModule,
} from '../src/index.js';
import { compileForTest } from './compile-for-test.js';
import { thrownBy } from './thrown-by.js';

function values(grads: HookGradients): unknown[] {
  return grads.map((grad) => grad?.toArray() ?? null);
}

function doubling(): Linear {
  const layer = new Linear(1, 1, { bias: false });
  layer.loadStateDict({ weight: tensor([[2]]) });
  return layer;
}

describe('backward hooks', () => {
  it('see the gradients of arguments and results, and replace them', () => {
    const layer = doubling();
    const seen: unknown[] = [];
    layer.registerFullBackwardPreHook((_, gradOutput) => {
      seen.push(values(gradOutput));
      return [gradOutput[0]!.mul(3)];
    });
    const hook = layer.registerFullBackwardHook((module, gradInput, gradOutput) => {
      seen.push(module === layer, values(gradInput), values(gradOutput));
      return [gradInput[0]!.mul(10)];
    });
    const x = tensor([[5]]).requiresGrad_();
    layer.call(x).backward(tensor([[1]]));
    expect(seen).toEqual([[[[1]]], true, [[[6]]], [[[3]]]]);
    expect([x.grad!.item(), layer.weight.grad!.item()]).toEqual([60, 15]);
    hook.remove();
    x.grad = null;
    layer.call(x).backward(tensor([[1]]));
    expect(x.grad!.item()).toBe(6);
  });

  it('run without gradients of arguments when those need none', () => {
    const layer = new Embedding(2, 1);
    const seen: unknown[] = [];
    layer.registerFullBackwardHook((_, gradInput, gradOutput) => {
      seen.push(gradInput, values(gradOutput));
    });
    layer
      .call(tensor([1], { dtype: 'int64' }))
      .sum()
      .backward();
    expect(seen).toEqual([[null], [[[1]]]]);
  });

  it('leave evaluation without gradients alone, and know several arguments', () => {
    class Product extends Module {
      override forward(a: Tensor, b: Tensor, c: Tensor): [Tensor, Tensor] {
        return [a.mul(b), c];
      }
    }
    const product = new Product();
    const seen: unknown[] = [];
    product.registerFullBackwardHook((_, gradInput) => void seen.push(values(gradInput)));
    const [a, b, c] = [tensor([2]), tensor([3]).requiresGrad_(), tensor([4])];
    expect(product.call(a, tensor([3]), c)[0].item()).toBe(6);
    product.call(a, b, c)[0].backward();
    expect(seen).toEqual([[null, [2], null]]);
  });

  it('run in compiled functions too', () => {
    const layer = doubling();
    let calls = 0;
    layer.registerFullBackwardHook((_, gradInput) => {
      calls++;
      return [gradInput[0]!.mul(10)];
    });
    const compiled = compileForTest((x: Tensor) => layer.call(x.mul(1)));
    for (let i = 1; i <= 3; i++) {
      const x = tensor([[i]]).requiresGrad_();
      compiled.call(x).backward(tensor([[1]]));
      expect([x.grad!.item(), calls]).toEqual([20, i]);
    }
  });
});

describe('forward hooks', () => {
  it('may go before earlier ones', () => {
    const layer = new ReLU();
    const order: string[] = [];
    layer.registerForwardHook(() => void order.push('first'));
    layer.registerForwardHook(() => void order.push('second'), { prepend: true });
    layer.call(ones([1]));
    expect(order).toEqual(['second', 'first']);
  });
});

describe('state-dict hooks', () => {
  it('change what is saved, below and with the prefix', () => {
    const model = new Sequential(new Linear(1, 1), new ReLU());
    const seen: string[] = [];
    model.at(0).registerStateDictPreHook((_, prefix) => seen.push(`before ${prefix}`));
    model.at(0).registerStateDictPostHook((_, state, prefix) => {
      state[`${prefix}extra`] = state[`${prefix}weight`]!;
      delete state[`${prefix}weight`];
    });
    model.registerStateDictPostHook((_, state, prefix) =>
      seen.push(`after ${prefix}${Object.keys(state).join(' ')}`),
    );
    expect(Object.keys(model.stateDict())).toEqual(['0.bias', '0.extra']);
    expect(seen).toEqual(['before 0.', 'after 0.bias 0.extra']);
  });

  it('rename old keys before loading, without touching what was given', () => {
    const model = new Sequential(new Linear(1, 1));
    model.at(0).registerLoadStateDictPreHook((_, state, prefix) => {
      state[`${prefix}weight`] = state[`${prefix}kernel`]!;
      delete state[`${prefix}kernel`];
    });
    const given = { '0.kernel': tensor([[7]]), '0.bias': zeros([1]) };
    model.loadStateDict(given);
    expect(model.parameters()[0]!.item()).toBe(7);
    expect(Object.keys(given)).toEqual(['0.kernel', '0.bias']);
  });

  it('forgive missing keys after loading', () => {
    const layer = new Linear(1, 1);
    const hook = layer.registerLoadStateDictPostHook((_, { missingKeys }) => {
      missingKeys.splice(missingKeys.indexOf('bias'), 1);
    });
    expect(layer.loadStateDict({ weight: tensor([[3]]) }).missingKeys).toEqual([]);
    expect(layer.weight.item()).toBe(3);
    hook.remove();
    expect(
      isTesseraError(
        thrownBy(() => layer.loadStateDict({ weight: tensor([[3]]) })),
        'state-dict-mismatch',
      ),
    ).toBe(true);
  });
});

describe('members by path', () => {
  it('are found, and anything else is an error', () => {
    const model = new Sequential(new Linear(2, 3), new Sequential(new ReLU()));
    expect(model.getSubmodule('')).toBe(model);
    expect(model.getSubmodule('1.0')).toBeInstanceOf(ReLU);
    expect(model.getParameter('0.bias').sizes).toEqual([3]);
    model.registerBuffer('mean', ones([1]));
    expect(model.getBuffer('mean').item()).toBe(1);
    for (const fail of [
      () => model.getSubmodule('1.5'),
      () => model.getSubmodule('0.weight'),
      () => model.getParameter('0'),
      () => model.getBuffer('0.bias'),
    ])
      expect(isTesseraError(thrownBy(fail), 'invalid-argument')).toBe(true);
  });
});

describe('cloneModule', () => {
  it('copies tensors and modes, keeps ties, and shares nothing', () => {
    const model = new Sequential({ a: new Linear(2, 2), b: new Linear(2, 2) });
    (model.at(1) as Linear).weight = (model.at(0) as Linear).weight;
    model.at(0).requiresGrad_(false);
    model.eval();
    const copy = cloneModule(model);
    expect(copy).toBeInstanceOf(Sequential);
    const [a, b] = [copy.at(0) as Linear, copy.at(1) as Linear];
    expect(a.weight).toBe(b.weight);
    expect([a.weight instanceof Parameter, a.weight.requiresGrad, a.training]).toEqual([
      true,
      false,
      false,
    ]);
    copy.loadStateDict({ 'a.weight': zeros([2, 2]) }, { strict: false });
    expect((model.at(0) as Linear).weight.abs().sum().item()).toBeGreaterThan(0);
  });
});

describe('ParameterList and ParameterDict', () => {
  it('hold parameters by position and name', () => {
    const list = new ParameterList([ones([2]), new Parameter(ones([2, 3]))]).append(zeros([]));
    expect([list.length, list.at(-1).ndim, [...list].every((p) => p instanceof Parameter)]).toEqual(
      [3, 0, true],
    );
    expect(Object.keys(list.stateDict())).toEqual(['0', '1', '2']);
    expect(String(new ParameterList([ones([2, 3])]))).toBe(
      'ParameterList(  (0): Parameter containing: [torch.float32 of size 2x3])',
    );
    const dict = new ParameterDict({ a: ones([1]) }).set('b', zeros([2]));
    expect([dict.size, dict.keys(), dict.has('c'), dict.get('b').sizes]).toEqual([
      2,
      ['a', 'b'],
      false,
      [2],
    ]);
    expect([...dict].map(([name]) => name)).toEqual(['a', 'b']);
    for (const fail of [
      () => list.call(),
      () => dict.call(),
      () => dict.get('c'),
      () => dict.set('forward', ones([1])),
    ])
      expect(isTesseraError(thrownBy(fail), 'invalid-argument')).toBe(true);
    expect(
      isTesseraError(
        thrownBy(() => list.at(3)),
        'index-out-of-range',
      ),
    ).toBe(true);
  });

  it('train inside a module', () => {
    class Mix extends Module {
      weights = new ParameterList([ones([1]), ones([1])]);

      override forward(x: Tensor): Tensor {
        return x.mul(this.weights.at(0)).add(this.weights.at(1));
      }
    }
    const mix = new Mix();
    mix.call(tensor([3])).backward();
    expect(mix.parameters().map((p) => p.grad!.item())).toEqual([3, 1]);
    expect(Object.keys(mix.stateDict())).toEqual(['weights.0', 'weights.1']);
  });
});

describe('hooks around forward', () => {
  it('have the types of the module that they are put on', () => {
    class Scaled extends Module {
      override forward(x: Tensor, by = 1): [Tensor, number] {
        return [x.mul(by), by];
      }
    }
    const scaled = new Scaled();
    const seen: Tensor[] = [];
    scaled.registerForwardPreHook((module, [x, by]) => {
      expectTypeOf(module).toEqualTypeOf<Scaled>();
      expectTypeOf(by).toEqualTypeOf<number | undefined>();
      return [x.add(1), 3];
    });
    scaled.registerForwardHook((_, __, [y]) => void seen.push(y));
    // @ts-expect-error a number in the place of the result, which push would have given
    scaled.registerForwardHook((_, __, [y]) => seen.push(y)).remove();
    expect(scaled.call(ones([1]))[0].toArray()).toEqual([6]);
    expect(seen[0]!.toArray()).toEqual([6]);
    for (const module of new Sequential(new ReLU()).modules())
      module.registerForwardHook((_, args, output) => {
        expectTypeOf(args).toEqualTypeOf<readonly unknown[]>();
        expectTypeOf(output).toEqualTypeOf<unknown>();
      });
  });
});
