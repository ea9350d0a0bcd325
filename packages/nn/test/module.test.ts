import { inspect } from 'node:util';
import { describe, expect, it } from 'vitest';
import { isTesseraError } from '@tessera/shared';
import { Tensor, manualSeed, ones, tensor, tidy, zeros } from '@tessera/tensor';
import { isTracked } from '@tessera/tensor/internal';
import {
  BatchNorm2d,
  Flatten,
  GELU,
  LayerNorm,
  Linear,
  Module,
  ModuleDict,
  ModuleList,
  Parameter,
  ReLU,
  Sequential,
  init,
} from '../src/index.js';
import { thrownBy } from './thrown-by.js';

class Block extends Module {
  fc = new Linear(2, 2);
  scale: Parameter = new Parameter(ones([2]));
  act = new ReLU();

  override forward(x: Tensor): Tensor {
    return this.act.call(this.fc.call(x)).mul(this.scale);
  }
}

class Net extends Module {
  layers = [new Block(), new Block()];
  head = new Linear(2, 3, { bias: false });
  readonly #scratch = new Linear(9, 9);

  get scratch(): Linear {
    return this.#scratch;
  }

  constructor() {
    super();
    this.registerBuffer('mean', zeros([2]));
    this.registerBuffer('cache', zeros([1]), { persistent: false });
  }

  override forward(x: Tensor): Tensor {
    let value = x;
    for (const layer of this.layers) value = layer.call(value);
    return this.head.call(value);
  }
}

const NAMES = [
  'mean',
  'layers.0.scale',
  'layers.0.fc.weight',
  'layers.0.fc.bias',
  'layers.1.scale',
  'layers.1.fc.weight',
  'layers.1.fc.bias',
  'head.weight',
];

describe('Module', () => {
  it('finds parameters, buffers and submodules among its fields, own ones first', () => {
    const net = new Net();
    expect(Object.keys(net.stateDict())).toEqual(NAMES);
    expect(net.namedParameters().map(([name]) => name)).toEqual(
      NAMES.filter((name) => name !== 'mean'),
    );
    expect(net.namedBuffers().map(([name]) => name)).toEqual(['mean', 'cache']);
    expect(net.namedModules().map(([name]) => name)).toEqual([
      '',
      'layers.0',
      'layers.0.fc',
      'layers.0.act',
      'layers.1',
      'layers.1.fc',
      'layers.1.act',
      'head',
    ]);
    expect(net.namedChildren().map(([name]) => name)).toEqual(['layers.0', 'layers.1', 'head']);
    expect(net.parameters({ recurse: false })).toEqual([]);
    expect(isTracked(net)).toBe(true);
  });

  it('lists shared tensors once among parameters and under every name in the state dict', () => {
    const tied = new Sequential({
      embed: new Linear(2, 2),
      out: new Linear(2, 2, { bias: false }),
    });
    (tied.at(1) as Linear).weight = (tied.at(0) as Linear).weight;
    expect(tied.namedParameters().map(([name]) => name)).toEqual(['embed.weight', 'embed.bias']);
    expect(Object.keys(tied.stateDict())).toEqual(['embed.weight', 'embed.bias', 'out.weight']);
  });

  it('walks ten thousand nested modules', () => {
    let model: Sequential = new Sequential(new Linear(1, 1));
    for (let i = 0; i < 10_000; i++) model = new Sequential(model);
    expect(model.parameters().length).toBe(2);
    expect(Object.keys(model.stateDict()).length).toBe(2);
    expect(
      model
        .eval()
        .modules()
        .some((module) => module.training),
    ).toBe(false);
  });

  it('says so when a module contains itself', () => {
    const net = new Net();
    (net.layers as Module[]).push(net);
    const error = thrownBy(() => net.stateDict());
    expect(isTesseraError(error, 'invalid-argument')).toBe(true);
    expect(error.message).toContain("Net contains itself as 'layers.2'");
  });

  it('switches modes here and below', () => {
    const net = new Net().eval();
    expect(net.modules().every((module) => !module.training)).toBe(true);
    expect(
      net
        .train()
        .modules()
        .every((module) => module.training),
    ).toBe(true);
  });

  it('applies to children before parents', () => {
    const order: string[] = [];
    new Sequential(new Sequential(new ReLU()), new GELU()).apply((module) =>
      order.push(module.constructor.name),
    );
    expect(order).toEqual(['ReLU', 'Sequential', 'GELU', 'Sequential']);
  });

  it('types call by forward', () => {
    class Two extends Module {
      override forward(x: Tensor, factor: number): [Tensor, string] {
        return [x.mul(factor), 'done'];
      }
    }
    const [value, word] = new Two().call(tensor([2]), 3);
    expect([value.item(), word.toUpperCase()]).toEqual([6, 'DONE']);
    // @ts-expect-error forward takes a number
    expect(() => new Two().call(tensor([2]), 'three')).toThrow(/'other' must be Tensor/);
  });

  it("gives a module's own methods the types of forward", () => {
    let calls = 0;
    class Tree extends Module {
      inner: Tree | null = null;
      override forward(x: Tensor, scale: number = 1): Tensor {
        return this.inner === null ? x.mul(scale) : this.inner.call(x, scale).add(1);
      }
      twice(x: Tensor): Tensor {
        // @ts-expect-error forward takes a tensor, then a number
        const wrong = (): Tensor => this.call(2, x);
        expect(wrong).toThrow(TypeError);
        return this.call(this.call(x, 2));
      }
    }
    const tree = new Tree();
    tree.inner = new Tree();
    tree.registerForwardHook(() => void (calls += 1));
    expect(tree.twice(tensor([3])).item()).toBe(8);
    expect(calls).toBe(2);
  });

  it('clears gradients and switches requires_grad', () => {
    const net = new Net();
    net
      .call(ones([1, 2]))
      .sum()
      .backward();
    const { grad } = net.head.weight;
    expect(grad).not.toBeNull();
    net.zeroGrad({ setToNone: false });
    expect(net.head.weight.grad!.toArray()).toEqual(zeros([3, 2]).toArray());
    net.zeroGrad();
    expect(net.parameters().every((parameter) => parameter.grad === null)).toBe(true);
    expect(
      net
        .requiresGrad_(false)
        .parameters()
        .some((parameter) => parameter.requiresGrad),
    ).toBe(false);
  });

  it('converts floating-point tensors in place and leaves integers', () => {
    const bn = new BatchNorm2d(2);
    const { weight } = bn;
    weight!.grad = ones([2]);
    bn.to('float64');
    expect(bn.weight).toBe(weight);
    expect([
      weight!.dtype,
      weight!.grad!.dtype,
      bn.running_mean!.dtype,
      bn.num_batches_tracked!.dtype,
    ]).toEqual(['float64', 'float64', 'float64', 'int64']);
    bn.call(ones([2, 2, 1, 1], { dtype: 'float64' }))
      .sum()
      .backward();
    expect(weight!.grad!.toArray()).toEqual([1, 1]);
  });

  it('refuses buffer names that are no field names', () => {
    for (const name of ['', 'a.b', '_buffers', 'training'])
      expect(
        isTesseraError(
          thrownBy(() => new ReLU().registerBuffer(name, null)),
          'invalid-argument',
        ),
      ).toBe(true);
  });

  it('keeps its parameters when it is made inside tidy()', () => {
    const layer = tidy(() => {
      const made = new Linear(2, 2);
      return { made };
    }).made;
    expect(layer.call(ones([1, 2])).sizes).toEqual([1, 2]);
  });
});

describe('Parameter', () => {
  it('is a tensor over the same memory that requires gradients', () => {
    const data = tensor([1, 2]);
    const parameter = new Parameter(data);
    expect(parameter).toBeInstanceOf(Tensor);
    expect([parameter.requiresGrad, parameter.isLeaf, parameter.storage === data.storage]).toEqual([
      true,
      true,
      true,
    ]);
    expect(
      new Parameter(tensor([1], { dtype: 'int64' }), { requiresGrad: false }).requiresGrad,
    ).toBe(false);
    expect(() => new Parameter(data, false as never)).toThrow('options are an object, not false');
    expect(
      isTesseraError(
        thrownBy(() => new Parameter(tensor([1], { dtype: 'int64' }))),
        'dtype-unsupported',
      ),
    ).toBe(true);
    expect(String(new Parameter(ones([2])))).toBe(
      'Parameter containing:\ntensor([1., 1.], requires_grad=True)',
    );
  });
});

describe('state dicts', () => {
  it('go round', () => {
    const [a, b] = [new Net(), new Net()];
    expect(b.loadStateDict(a.stateDict())).toEqual({ missingKeys: [], unexpectedKeys: [] });
    const x = ones([1, 2]);
    expect(b.call(x).toArray()).toEqual(a.call(x).toArray());
    expect(b.head.weight.storage).not.toBe(a.head.weight.storage);
    expect(b.head.weight.requiresGrad).toBe(true);
    expect(a.stateDict()['head.weight']!.requiresGrad).toBe(false);
  });

  it('convert dtypes when loading', () => {
    const layer = new Linear(1, 1);
    layer.loadStateDict({
      weight: tensor([[2]], { dtype: 'float64' }),
      bias: tensor([1], { dtype: 'int64' }),
    });
    expect([layer.weight.dtype, layer.weight.item(), layer.bias!.item()]).toEqual([
      'float32',
      2,
      1,
    ]);
  });

  it("report everything that does not fit in PyTorch's words and load nothing", () => {
    const layer = new Linear(2, 2);
    const before = layer.weight.toArray();
    const error = thrownBy(() =>
      layer.loadStateDict({ weight: zeros([2, 2]), bias: zeros([3]), extra: zeros([1]) }),
    );
    expect(isTesseraError(error, 'state-dict-mismatch')).toBe(true);
    expect(error.message).toMatchInlineSnapshot(`
      "Error(s) in loading state_dict for Linear:
      	Unexpected key(s) in state_dict: "extra". 
      	size mismatch for bias: copying a param with shape [3] from checkpoint, the shape in current model is [2].
      → Build the module with the sizes of the checkpoint.
      See https://github.com/tessera-ml/tessera/blob/main/docs/errors/state-dict-mismatch.md"
    `);
    expect(layer.weight.toArray()).toEqual(before);
    const missing = thrownBy(() => new Linear(2, 2).loadStateDict({ weight: zeros([2, 2]) }));
    expect(missing.message).toContain('Missing key(s) in state_dict: "bias".');
  });

  it('load what fits with strict: false, but never other sizes', () => {
    const layer = new Linear(2, 2);
    expect(
      layer.loadStateDict({ weight: ones([2, 2]), extra: ones([1]) }, { strict: false }),
    ).toEqual({ missingKeys: ['bias'], unexpectedKeys: ['extra'] });
    expect(layer.weight.toArray()).toEqual([
      [1, 1],
      [1, 1],
    ]);
    expect(
      isTesseraError(
        thrownBy(() => layer.loadStateDict({ weight: ones([1]) }, { strict: false })),
        'state-dict-mismatch',
      ),
    ).toBe(true);
  });
});

describe('hooks', () => {
  it('change arguments and results, in order, until removed', () => {
    const layer = new ReLU();
    const before = layer.registerForwardPreHook((_, [x]) => [(x as Tensor).sub(1)]);
    const after = layer.registerForwardHook((_, args, output) => {
      expect((args[0] as Tensor).toArray()).toEqual([-1, 1]);
      return (output as Tensor).mul(10);
    });
    layer.registerForwardHook(() => undefined);
    expect(layer.call(tensor([0, 2])).toArray()).toEqual([0, 10]);
    before.remove();
    after.remove();
    expect(layer.call(tensor([0, 2])).toArray()).toEqual([0, 2]);
  });
});

describe('containers', () => {
  it('counts a module that stands in it twice twice, and lists it once as a child', () => {
    const act = new ReLU();
    const model = new Sequential(act, new GELU(), act);
    expect([model.length, model.children().length, model.at(2) === act]).toEqual([3, 2, true]);
    expect(model.namedChildren().map(([name]) => name)).toEqual(['0', '1']);
    const dict = new ModuleDict({ first: act, second: act });
    expect([dict.size, dict.children().length, dict.get('second') === act]).toEqual([2, 1, true]);
  });

  it('Sequential runs numbered and named modules', () => {
    const model = new Sequential({ double: new ReLU(), flat: new Flatten(0) });
    expect(model.call(tensor([[-1], [2]])).toArray()).toEqual([0, 2]);
    const grown = new Sequential(new ReLU()).append(new GELU());
    expect([
      grown.length,
      grown.at(-1).constructor.name,
      grown.namedChildren().map(([name]) => name),
    ]).toEqual([2, 'GELU', ['0', '1']]);
    expect(
      isTesseraError(
        thrownBy(() => grown.at(2)),
        'index-out-of-range',
      ),
    ).toBe(true);
    expect(
      isTesseraError(
        thrownBy(() => new Sequential({ forward: new ReLU() })),
        'invalid-argument',
      ),
    ).toBe(true);
    expect(
      isTesseraError(
        thrownBy(() => new Sequential({ x: 3 as never })),
        'invalid-argument',
      ),
    ).toBe(true);
  });

  it('ModuleList and ModuleDict hold modules by position and name', () => {
    const list = new ModuleList([new Linear(1, 2), new Linear(2, 3)]).append(new Linear(3, 4));
    expect([...list].map((layer) => layer.outFeatures)).toEqual([2, 3, 4]);
    expect(list.at(-1).outFeatures).toBe(4);
    expect(
      isTesseraError(
        thrownBy(() => list.at(3)),
        'index-out-of-range',
      ),
    ).toBe(true);
    expect(
      isTesseraError(
        thrownBy(() => list.call()),
        'invalid-argument',
      ),
    ).toBe(true);
    const dict = new ModuleDict({ a: new Linear(1, 2) }).set('b', new Linear(2, 3));
    expect([dict.size, dict.keys(), dict.get('b').outFeatures, dict.has('c')]).toEqual([
      2,
      ['a', 'b'],
      3,
      false,
    ]);
    expect(Object.keys(dict.stateDict())).toEqual(['a.weight', 'a.bias', 'b.weight', 'b.bias']);
    for (const fail of [
      () => dict.get('c'),
      () => dict.set('training', new Linear(1, 1)),
      () => dict.call(),
    ]) {
      expect(isTesseraError(thrownBy(fail), 'invalid-argument')).toBe(true);
    }
  });
});

describe('printing', () => {
  it("is PyTorch's", () => {
    class Model extends Module {
      features = new Sequential(new Flatten(), new Linear(4, 2), new GELU({ approximate: 'tanh' }));
      blocks = new ModuleList([new Linear(1, 1), new Linear(1, 1), new ReLU({ inplace: true })]);
      norm = new LayerNorm([2, 3]);
      empty = new Sequential();

      override forward(x: Tensor): Tensor {
        return x;
      }
    }
    expect(inspect(new Model())).toMatchInlineSnapshot(`
      "Model(
        (features): Sequential(
          (0): Flatten(start_dim=1, end_dim=-1)
          (1): Linear(in_features=4, out_features=2, bias=True)
          (2): GELU(approximate='tanh')
        )
        (blocks): ModuleList(
          (0-1): 2 x Linear(in_features=1, out_features=1, bias=True)
          (2): ReLU(inplace=True)
        )
        (norm): LayerNorm((2, 3), eps=1e-05, elementwise_affine=True, bias=True)
        (empty): Sequential()
      )"
    `);
    expect(String(new BatchNorm2d(4, { momentum: null, eps: 1e-3 }))).toBe(
      'BatchNorm2d(4, eps=0.001, momentum=None, affine=True, bias=True, track_running_stats=True)',
    );
  });
});

describe('init', () => {
  it('computes fans and gains', () => {
    expect(init.calculateFanInAndFanOut(zeros([8, 4, 3, 3]))).toEqual([36, 72]);
    expect(
      isTesseraError(
        thrownBy(() => init.calculateFanInAndFanOut(zeros([3]))),
        'shape-mismatch',
      ),
    ).toBe(true);
    expect(init.calculateGain('relu')).toBeCloseTo(Math.SQRT2, 15);
    expect(init.calculateGain('leaky_relu', Math.sqrt(5))).toBeCloseTo(Math.sqrt(1 / 3), 15);
    expect(
      isTesseraError(
        thrownBy(() => init.calculateGain('square' as never)),
        'invalid-argument',
      ),
    ).toBe(true);
  });

  it('draws within the bounds, with the expected spread, the same for the same seed', () => {
    const moments = (values: Float32Array): [number, number] => {
      const mean = values.reduce((sum, value) => sum + value, 0) / values.length;
      return [
        mean,
        Math.sqrt(values.reduce((sum, value) => sum + (value - mean) ** 2, 0) / values.length),
      ];
    };
    const drawn = (fill: (t: Tensor) => Tensor): Float32Array => {
      manualSeed(1);
      return fill(zeros([100, 200])).toTypedArray() as Float32Array;
    };
    const kaiming = drawn((t) => init.kaimingUniform_(t, { a: Math.sqrt(5) }));
    expect(Math.max(...kaiming.map(Math.abs))).toBeLessThanOrEqual(1 / Math.sqrt(200));
    expect(moments(kaiming)[1]).toBeCloseTo(1 / Math.sqrt(200) / Math.sqrt(3), 3);
    const normal = moments(
      drawn((t) => init.kaimingNormal_(t, { mode: 'fan_out', nonlinearity: 'relu' })),
    );
    expect(normal[1]).toBeCloseTo(Math.sqrt(2 / 100), 2);
    expect(moments(drawn((t) => init.xavierUniform_(t)))[1]).toBeCloseTo(Math.sqrt(2 / 300), 2);
    expect(moments(drawn((t) => init.xavierNormal_(t, { gain: 2 })))[1]).toBeCloseTo(
      2 * Math.sqrt(2 / 300),
      2,
    );
    const [mean, std] = moments(drawn((t) => init.normal_(t, 3, 0.5)));
    expect([mean, std].map((x) => Math.round(x * 50) / 50)).toEqual([3, 0.5]);
    expect(drawn((t) => init.uniform_(t))).toEqual(drawn((t) => init.uniform_(t)));
    expect(init.constant_(zeros([2]), 3).toArray()).toEqual([3, 3]);
  });

  it('starts Linear as PyTorch does, without recording history', () => {
    const layer = new Linear(100, 50);
    expect(
      Math.max(...(layer.weight.toTypedArray() as Float32Array).map(Math.abs)),
    ).toBeLessThanOrEqual(0.1);
    expect(
      Math.max(...(layer.bias!.toTypedArray() as Float32Array).map(Math.abs)),
    ).toBeLessThanOrEqual(0.1);
    expect(layer.weight.isLeaf).toBe(true);
  });
});
