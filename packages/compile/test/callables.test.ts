/**
 * @file What `compile` takes besides functions, and how it names what they read.
 */
import { inspect } from 'node:util';
import { Linear, Module, Parameter, Sequential } from '@tessera/nn';
import { symbolicTrace } from '@tessera/graph';
import { type Tensor, ones, tensor } from '@tessera/tensor';
import { describe, expect, it } from 'vitest';
import { compile, compiledFunctionOf, explain, exportGraph } from '../src/index.js';

class Scaled extends Module {
  scale = 2;
  mean: Parameter = new Parameter(tensor([1, 1]));
  layers: Sequential = new Sequential(new Linear(2, 2));

  override forward(x: Tensor, y: Tensor): Tensor {
    const z = this.layers.call(x) as Tensor;
    return z.add(y).mul(this.scale).add(this.mean);
  }
}

describe('compile', () => {
  it('names what a module reads as PyTorch does', () => {
    const model = new Scaled();
    const [x, y] = [ones([3, 2]), ones([3, 2])];
    const { graphs, guards } = explain(model)(x, y);
    expect(graphs[0]!.code).toContain('l_x:');
    expect(graphs[0]!.code).toContain('l_self_layers_0_weight:');
    expect(guards.join('\n')).toContain("L['self'].mean: TENSOR_MATCH");
    expect(guards.join('\n')).toContain("CONSTANT_MATCH L['self'].scale == 2");
    const reasons: string[] = [];
    const compiled = compile(model, { guardFailFn: (reason) => reasons.push(reason) });
    compiled(x, y);
    compiled(x, ones([3, 2]).requiresGrad_());
    expect(reasons).toEqual(["tensor 'L['y']' requires_grad mismatch. expected requires_grad=0"]);
  });

  it('numbers the arguments of a rest parameter', () => {
    const reasons: string[] = [];
    const sum = compile((first: Tensor, ...rest: Tensor[]) => first.add(rest[1]!), {
      guardFailFn: (reason) => reasons.push(reason),
    });
    sum(ones([2]), ones([2]), ones([2]));
    sum(ones([2]), ones([2]), ones([2], { dtype: 'float64' }));
    expect(reasons[0]).toContain("'L['rest'][1]' dtype mismatch");
  });

  it('guards the attributes of a module that is compiled pure', () => {
    const model = new Scaled();
    const compiled = compile(model, { pure: true });
    const [x, y] = [ones([3, 2]), ones([3, 2])];
    const check = (): void => {
      const [actual, expected] = [compiled(x, y), model.call(x, y)].map((out) => out.detach());
      expect(actual!.sub(expected!).abs().max().item()).toBeLessThan(1e-5);
    };
    check();
    model.scale = 5;
    check();
    model.mean = new Parameter(tensor([7, 9]));
    check();
  });

  it('takes graphs', () => {
    const fn = (x: Tensor): Tensor => x.mul(3).add(1);
    const x = tensor([1, 2]);
    expect((compile(exportGraph(fn, [x]))(x) as Tensor).toArray()).toEqual([4, 7]);
    const [traced] = [compile(symbolicTrace(fn))(x)].flat() as Tensor[];
    expect(traced!.toArray()).toEqual([4, 7]);
  });

  it('exports a module', () => {
    const model = new Scaled();
    const [x, y] = [ones([3, 2]), ones([3, 2])];
    const exported = exportGraph(model, [x, y]);
    expect(exported.guards).toHaveLength(2);
    expect((exported.call(x, y) as Tensor).toArray()).toEqual(model.call(x, y).toArray());
  });

  it('is called as a module is, too', () => {
    const model = new Scaled();
    const [x, y] = [tensor([[1, 2]]), tensor([[3, 4]])];
    const compiled = compile(model);
    const called = compiled.call as unknown as (...args: Tensor[]) => Tensor;
    expect(called(x, y).toArray()).toEqual(model.call(x, y).toArray());
    const scaled = compile(function (this: { by: number }, t: Tensor) {
      return t.mul(this.by);
    });
    expect(scaled.call({ by: 2 }, x).toArray()).toEqual(x.mul(2).toArray());
  });
});

it('consoles print what is known of a compiled function, and exported graphs, as text', () => {
  const double = compile((x: Tensor) => x.mul(2));
  double(ones([2]));
  expect(inspect(compiledFunctionOf(double))).toBe('anonymous function: 1 trace(s)');
  const exported = exportGraph((x: Tensor) => x.mul(2), [ones([2])]);
  expect(inspect(exported)).toBe(exported.print());
});
