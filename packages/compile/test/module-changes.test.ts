/**
 * @file Modules that are changed after compilation: what was compiled is not for them any more.
 *
 * Each change is made to a module that is called compiled itself, and to one that a compiled function closes
 * over; plain, and `pure` with the module in `captures`. Eager and compiled agree before and after, and a
 * module that nobody changed is not compiled again.
 */
import {
  BatchNorm1d,
  Dropout,
  GELU,
  Linear,
  Module,
  ModuleDict,
  ModuleList,
  Parameter,
  ParameterDict,
  ParameterList,
  ReLU,
  Sequential,
  Sigmoid,
  Tanh,
  type TensorModule,
} from '@tessera/nn';
import { type Tensor, manualSeed, ones, tensor } from '@tessera/tensor';
import { describe, expect, it } from 'vitest';
import { compile, compiledFunctionOf } from '../src/index.js';

/** Every kind of container, and attributes that code asks for. */
class Net extends Module {
  features: Sequential = new Sequential(new Linear(3, 3), new ReLU());
  named: Sequential = new Sequential({ first: new Linear(3, 3), second: new Tanh() });
  nested: Sequential = new Sequential(new Sequential(new Linear(3, 3), new Sigmoid()), new ReLU());
  blocks: ModuleList = new ModuleList([new Linear(3, 3), new Linear(3, 3)]);
  heads: ModuleDict = new ModuleDict({ a: new Linear(3, 3), b: new Linear(3, 3) });
  plain: TensorModule[] = [new Linear(3, 3), new ReLU()];
  norm: BatchNorm1d = new BatchNorm1d(3).eval();
  drop: Dropout = new Dropout(0.5).eval();
  scales: ParameterList = new ParameterList([tensor([1, 2, 3]), tensor([1, 1, 1])]);
  shifts: ParameterDict = new ParameterDict({ one: tensor([1, 0, 0]) });
  offset: Tensor | null = null;
  gains: number[] = [1, 2];
  factor = 1;
  extra?: number;

  override forward(input: Tensor): Tensor {
    let x = this.nested.call(this.named.call(this.features.call(input)));
    for (const block of this.blocks) x = block.call(x);
    for (const [, head] of this.heads) x = head.call(x);
    for (const layer of this.plain) x = layer.call(x);
    x = this.drop.call(this.norm.call(x));
    for (const scale of this.scales) x = x.mul(scale);
    for (const [, shift] of this.shifts) x = x.add(shift);
    for (const gain of this.gains) x = x.mul(gain);
    if (this.offset !== null) x = x.add(this.offset);
    if (this.extra !== undefined) x = x.sub(this.extra);
    return x.mul(this.factor);
  }
}

type Fields = Record<string, unknown>;
const fields = (object: object): Fields => object as Fields;

/** Takes an attribute away and puts it at the end. */
function moveToEnd(object: object, key: string): void {
  const value = fields(object)[key];
  delete fields(object)[key];
  fields(object)[key] = value;
}

const CHANGES: Record<string, (net: Net) => void> = {
  'append to a Sequential': (net) => net.features.append(new Tanh()),
  'append a module with parameters': (net) => net.features.append(new Linear(3, 3)),
  'append twice': (net) => net.features.append(new Tanh()).append(new Sigmoid()),
  'append to a named Sequential': (net) => net.named.append(new Sigmoid()),
  'insert into a Sequential': (net) => net.features.insert(1, new Tanh()),
  'insert before the last': (net) => net.features.insert(-1, new Linear(3, 3)),
  'pop from a Sequential': (net) => net.features.pop(),
  'pop the first of a named Sequential': (net) => net.named.pop(0),
  'extend a Sequential': (net) => net.features.extend([new Tanh(), new Linear(3, 3)]),
  'set a module of a Sequential': (net) => net.features.set(-1, new GELU()),
  'delete by a Sequential': (net) => net.features.delete(0),
  'a slice of a Sequential': (net) => (net.features = net.features.slice(0, 1)),
  'insert into a ModuleList': (net) => net.blocks.insert(0, new Tanh()),
  'pop from a ModuleList': (net) => net.blocks.pop(),
  'pop and append': (net) => net.blocks.append(net.blocks.pop(0)),
  'a slice of a ModuleList': (net) => (net.blocks = net.blocks.slice(-1)),
  'pop from a ModuleDict': (net) => net.heads.pop('a'),
  'update a ModuleDict': (net) => net.heads.update({ b: new Linear(3, 3), c: new Tanh() }),
  'clear a ModuleDict': (net) => net.heads.clear(),
  'insert into a ParameterList': (net) => net.scales.insert(1, tensor([3, 1, 2])),
  'pop from a ParameterList': (net) => net.scales.pop(),
  'set a parameter': (net) => net.scales.set(0, tensor([0, 1, 0])),
  'pop from a ParameterDict': (net) => net.shifts.pop('one'),
  'update a ParameterDict': (net) => net.shifts.update({ one: tensor([2, 2, 2]) }),
  'append to a nested Sequential': (net) => (net.nested.at(0) as Sequential).append(new Tanh()),
  'append around a nested Sequential': (net) => net.nested.append(new Tanh()),
  'append to a ModuleList': (net) => net.blocks.append(new Linear(3, 3)),
  'extend a ModuleList': (net) => net.blocks.extend([new Tanh(), new ReLU()]),
  'set a new name of a ModuleDict': (net) => net.heads.set('c', new Linear(3, 3)),
  'append to a ParameterList': (net) => net.scales.append(tensor([2, 2, 2])),
  'set a new name of a ParameterDict': (net) => net.shifts.set('two', tensor([0, 1, 0])),
  'push to an array of modules': (net) => net.plain.push(new Linear(3, 3)),
  'insert into an array of modules': (net) => net.plain.splice(1, 0, new Tanh()),
  'pop from an array of modules': (net) => net.plain.pop(),
  'reverse an array of modules': (net) => net.plain.reverse(),
  'a new number under a new index': (net) => (fields(net.features)['7'] = new Tanh()),
  'delete the last module': (net) => delete fields(net.features)['1'],
  'delete the first module': (net) => delete fields(net.features)['0'],
  'delete a named module': (net) => delete fields(net.named).second,
  'delete inside a nested Sequential': (net) => delete fields(net.nested.at(0))['1'],
  'delete from a ModuleList': (net) => delete fields(net.blocks)['1'],
  'delete from a ModuleDict': (net) => delete fields(net.heads).a,
  'delete from a ParameterList': (net) => delete fields(net.scales)['1'],
  'delete from a ParameterDict': (net) => delete fields(net.shifts).one,
  'another module of the same class': (net) => (fields(net.features)['0'] = new Linear(3, 3)),
  'a module of another class': (net) => (fields(net.features)['1'] = new GELU()),
  'a module of another class, named': (net) => (fields(net.named).second = new Sigmoid()),
  'a whole Sequential replaced': (net) => (net.features = new Sequential(new Linear(3, 3))),
  'a whole Sequential by a longer one': (net) =>
    (net.features = new Sequential(new Linear(3, 3), new ReLU(), new Tanh())),
  'modules that change places': (net) => {
    const [a, b] = [net.features.at(0), net.features.at(1)];
    Object.assign(net.features, { 0: b, 1: a });
  },
  'equal modules that change places': (net) => {
    const [a, b] = [net.blocks.at(0), net.blocks.at(1)];
    Object.assign(net.blocks, { 0: b, 1: a });
  },
  'names in another order': (net) => moveToEnd(net.named, 'first'),
  'names of a ModuleDict in another order': (net) => moveToEnd(net.heads, 'a'),
  'names of a nested Sequential in another order': (net) => {
    net.nested = new Sequential({ a: new Tanh(), b: net.nested });
    moveToEnd(net.nested, 'a');
  },
  'one module at two places': (net) => (fields(net.blocks)['1'] = net.blocks.at(0)),
  'shared modules come apart': (net) => (fields(net.heads).b = new Linear(3, 3)),
  'a replaced parameter': (net) =>
    ((net.features.at(0) as Linear).weight = new Parameter(ones([3, 3]))),
  'a parameter taken away': (net) => ((net.features.at(0) as Linear).bias = null),
  'parameters that become one': (net) =>
    ((net.blocks.at(1) as Linear).weight = (net.blocks.at(0) as Linear).weight),
  'requires_grad_ of a child': (net) => net.features.at(0).requiresGrad_(false),
  'requires_grad_ of one parameter': (net) =>
    (net.blocks.at(0) as Linear).weight.requiresGrad_(false),
  'training of one child': (net) => net.norm.train(),
  'a hyper-parameter of a child': (net) => (fields(net.norm).eps = 0.5),
  'a replaced buffer': (net) => (net.norm.running_mean = tensor([1, 2, 3])),
  'a hook on a child': (net) =>
    net.features.at(1).registerForwardHook((_, __, y) => (y as Tensor).mul(2)),
  'a hook before a child': (net) =>
    net.named.registerForwardPreHook((_, [x]) => [(x as Tensor).mul(2)]),
  'a hook inside a nested Sequential': (net) =>
    (net.nested.at(0) as Sequential).at(0).registerForwardHook((_, __, y) => (y as Tensor).neg()),
  'a hook on the module': (net) => net.registerForwardHook((_, __, y) => (y as Tensor).mul(3)),
  'a forward of its own': (net) => {
    net.features.at(1).forward = (x: Tensor) => x.mul(4);
  },
  'a number of the module': (net) => (net.factor = 2),
  'a list of numbers': (net) => net.gains.push(3),
  'a tensor where there was none': (net) => (net.offset = tensor([1, 1, 1])),
  'an attribute that was not there': (net) => (net.extra = 4),
};

const x = tensor([
  [1, -2, 3],
  [0.5, 1, -1],
]);

/** The results of a module, with the gradient for its input. */
function resultsOf(run: (input: Tensor) => Tensor): unknown {
  const input = x.detach().requiresGrad_();
  const y = run(input);
  y.sum().backward();
  return { y: y.detach().toArray(), grad: input.grad!.toArray(), requiresGrad: y.requiresGrad };
}

const KINDS = ['compiled itself', 'in a compiled function', 'pure', 'pure in a function'] as const;

function compiled(net: Net, kind: (typeof KINDS)[number]): (input: Tensor) => Tensor {
  const options = { backend: 'eager', pure: true, captures: () => ({ net }) };
  if (kind === 'compiled itself') return compile(net, { backend: 'eager' });
  if (kind === 'pure') return compile(net, options);
  return compile(
    (input: Tensor) => net.call(input),
    kind === 'pure in a function' ? options : { backend: 'eager' },
  );
}

describe.each(KINDS)('a module %s', (kind) => {
  it.each(Object.entries(CHANGES))('%s', (name, change) => {
    manualSeed(1);
    const net = new Net();
    if (name === 'shared modules come apart') fields(net.heads).b = net.heads.get('a');
    const call = compiled(net, kind);
    const { captures } = compiledFunctionOf(call);
    const eager = (input: Tensor): Tensor => net.call(input);
    for (let i = 0; i < 3; i++) expect(resultsOf(call)).toEqual(resultsOf(eager));
    expect(captures.length).toBe(1);
    change(net);
    for (let i = 0; i < 3; i++) expect(resultsOf(call)).toEqual(resultsOf(eager));
    expect(captures.length).toBeLessThanOrEqual(2);
  });
});

describe('a module that nobody changed', () => {
  it.each(KINDS)('is compiled once (%s)', (kind) => {
    const net = new Net();
    const call = compiled(net, kind);
    for (let i = 0; i < 5; i++) call(x);
    expect(compiledFunctionOf(call).captures.length).toBe(1);
  });
});

describe('reasons', () => {
  it('name the operator of a module that was appended', () => {
    const net = new Sequential(new Linear(3, 3), new ReLU());
    const reasons: string[] = [];
    const call = compile((input: Tensor) => net.call(input), {
      backend: 'eager',
      guardFailFn: (reason) => reasons.push(reason),
    });
    call(x);
    net.append(new Tanh());
    call(x);
    expect(reasons).toEqual([
      'the call went on with aten.tanh.default where the recorded call did not',
    ]);
  });
});
