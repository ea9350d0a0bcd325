import { type OpOverload, type Tensor, getOp, tensor } from '@tessera/tensor';
import { describe, expect, it } from 'vitest';
import {
  Graph,
  GraphModule,
  type HostFunction,
  Interpreter,
  type Node,
  currentNode,
  eliminateDeadCode,
  getItem,
  isImpure,
  lastUses,
  registerHostFunction,
} from '../src/index.js';

const mul = getOp('aten::mul.Tensor');
const neg = getOp('aten::neg');
const mulInPlace = getOp('aten::mul_.Tensor');

function polynomial(): GraphModule {
  const graph = new Graph();
  const x = graph.placeholder('x');
  const w = graph.getAttr('inner.w');
  const a = graph.callFunction(mul, [x, w]);
  const list = graph.callFunction(pair as HostFunction, [a, x]);
  graph.output({
    left: graph.callFunction(getItem, [list, 0]),
    both: [a, graph.callFunction(getItem, [list, 1]), 7],
  });
  const inner = new GraphModule([['w', tensor([2, 3])]], new Graph());
  return new GraphModule([['inner', inner]], graph);
}

function pair(a: Tensor, b: Tensor): Tensor[] {
  return [a.neg(), b];
}

describe('running graphs', () => {
  it('gives the same from forward and from the interpreter', () => {
    const module = polynomial();
    const x = tensor([1, 10]);
    for (const result of [module.forward(x), new Interpreter(module).run(x)]) {
      const { left, both } = result as { left: Tensor; both: [Tensor, Tensor, number] };
      expect(left.toArray()).toEqual([-2, -30]);
      expect(both[0].toArray()).toEqual([2, 30]);
      expect(both[1]).toBe(x);
      expect(both[2]).toBe(7);
    }
  });

  it('follows edits of the graph and of the attributes', () => {
    const graph = new Graph();
    const x = graph.placeholder('x');
    const a = graph.callFunction(mul, [x, graph.getAttr('w')]);
    graph.output(a);
    const module = new GraphModule([['w', tensor([2])]], graph);
    expect((module.forward(tensor([3])) as Tensor).toArray()).toEqual([6]);
    module.setAttribute('w', tensor([5]));
    expect((module.forward(tensor([3])) as Tensor).toArray()).toEqual([15]);
    a.updateArg(1, 10);
    expect((module.forward(tensor([3])) as Tensor).toArray()).toEqual([30]);
  });

  it('names the placeholders when inputs are missing', () => {
    const module = polynomial();
    expect(() => module.forward()).toThrow(/takes 1 inputs, got 0[^]*x/);
    expect(() => new Interpreter(module).run()).toThrow(/none for placeholder 'x'/);
  });

  it('names the attributes when one is missing', () => {
    expect(() => polynomial().getAttribute('inner.v')).toThrow(
      /no attribute 'inner.v'[^]*It has: inner/,
    );
  });

  it('rejects an attribute that cannot be called', () => {
    const graph = new Graph();
    graph.output(graph.callModule('w', []));
    expect(() => new GraphModule([['w', tensor([1])]], graph).forward()).toThrow(
      /'w' cannot be called/,
    );
  });

  it('drops values after their last use', () => {
    class Watching extends Interpreter {
      most = 0;
      override runNode(node: Node): unknown {
        this.most = Math.max(this.most, this.env.size);
        return super.runNode(node);
      }
    }
    const graph = new Graph();
    let x = graph.placeholder('x');
    for (let i = 0; i < 50; i++) x = graph.callFunction(neg, [x]);
    graph.output(x);
    const watching = new Watching(new GraphModule([], graph));
    watching.run(tensor([1]));
    expect(watching.most).toBe(1);
  });

  it('lets a subclass change what an opcode does', () => {
    class Doubling extends Interpreter {
      override callFunction(
        target: OpOverload | HostFunction,
        args: readonly unknown[],
        node: Node,
      ): unknown {
        return super.callFunction(
          target === neg ? mul : target,
          target === neg ? [args[0], 2] : args,
          node,
        );
      }
    }
    const graph = new Graph();
    graph.output(graph.callFunction(neg, [graph.placeholder('x')]));
    expect((new Doubling(new GraphModule([], graph)).run(tensor([4])) as Tensor).toArray()).toEqual(
      [8],
    );
  });

  it('publishes the node it runs', () => {
    const seen: (string | undefined)[] = [];
    const spy = (value: unknown): unknown => {
      seen.push(currentNode()?.name);
      return value;
    };
    const graph = new Graph();
    graph.output(graph.callFunction(spy as HostFunction, [graph.placeholder('x')], 'spy'));
    new Interpreter(new GraphModule([], graph)).run(1);
    expect(seen).toEqual(['spy']);
    expect(currentNode()).toBeNull();
  });

  it('runs 10,000 nodes without recursion', () => {
    const graph = new Graph();
    let x = graph.placeholder('x');
    for (let i = 0; i < 10_000; i++) x = graph.callFunction(neg, [x]);
    graph.output(x);
    const module = new GraphModule([], graph);
    expect((module.forward(tensor([3])) as Tensor).toArray()).toEqual([3]);
    expect((new Interpreter(module).run(tensor([3])) as Tensor).toArray()).toEqual([3]);
  });
});

describe('lastUses', () => {
  it('says where each value dies', () => {
    const graph = new Graph();
    const x = graph.placeholder('x');
    const a = graph.callFunction(neg, [x]);
    const unused = graph.callFunction(neg, [x]);
    const out = graph.output(a);
    const dying = lastUses(graph.nodes);
    expect(dying.get(unused)).toEqual([x, unused]);
    expect(dying.get(out)).toEqual([a]);
    expect(dying.has(a)).toBe(false);
  });
});

describe('eliminateDeadCode', () => {
  it('removes chains without users and keeps inputs and effects', () => {
    const effect = (): void => {};
    const graph = new Graph();
    const x = graph.placeholder('x');
    graph.placeholder('unused');
    const dead = graph.callFunction(neg, [x]);
    graph.callFunction(mul, [dead, 2]);
    graph.getAttr('w');
    const kept = graph.callFunction(mulInPlace, [x, 2]);
    const called = graph.callFunction(effect, []);
    graph.output(x);
    expect(eliminateDeadCode(graph)).toBe(3);
    expect(graph.nodes.map((node) => node.name)).toEqual([
      'x',
      'unused',
      'mul_',
      'effect_result',
      'output',
    ]);
    expect([isImpure(kept), isImpure(called)]).toEqual([true, true]);
  });

  it('removes a registered pure function', () => {
    const twice = (value: number): number => value * 2;
    registerHostFunction('test.twice', twice as HostFunction, { pure: true });
    const graph = new Graph();
    graph.callFunction(twice as HostFunction, [2]);
    graph.output(null);
    expect(eliminateDeadCode(graph)).toBe(1);
    expect(() => registerHostFunction('test.twice', pair as HostFunction, { pure: false })).toThrow(
      /already exists/,
    );
  });
});
