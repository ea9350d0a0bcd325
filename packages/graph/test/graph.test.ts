import { inspect } from 'node:util';
import { getOp } from '@tessera/tensor';
import { describe, expect, it } from 'vitest';
import { Graph, GraphModule, getItem, printGraph } from '../src/index.js';

const mul = getOp('aten::mul.Tensor');
const neg = getOp('aten::neg');

describe('Graph', () => {
  it('prints as text in consoles, and so do its nodes, its module and operators', () => {
    const graph = new Graph();
    const x = graph.placeholder('x');
    const a = graph.callFunction(mul, [x, 2]);
    graph.output([a]);
    expect(inspect(graph)).toBe(printGraph(graph));
    expect(inspect([x, a])).toBe('[ x: Tensor, const mul = aten.mul.Tensor(x, 2); ]');
    expect(inspect(new GraphModule([], graph))).toBe(printGraph(graph));
    expect(inspect({ op: a.target })).toBe('{ op: aten.mul.Tensor }');
  });

  it('keeps uses exact through edits', () => {
    const graph = new Graph();
    const x = graph.placeholder('x');
    const a = graph.callFunction(mul, [x, x]);
    const b = graph.callFunction(neg, [a]);
    graph.output([a, b]);
    expect([...x.users.keys()]).toEqual([a]);
    a.updateArg(1, 2);
    expect([...x.users.keys()]).toEqual([a]);
    b.replaceInputWith(a, x);
    expect([...x.users.keys()]).toEqual([a, b]);
    a.replaceAllUsesWith(b);
    expect(a.users.size).toBe(0);
    graph.eraseNode(a);
    expect([...x.users.keys()]).toEqual([b]);
    graph.lint();
    expect(printGraph(graph)).toMatchInlineSnapshot(`
      "export function forward(x: Tensor) {
        const neg = aten.neg.default(x);
        return [neg, neg];
      }
      "
    `);
  });

  it('gives an argument that is a node, and says which is none', () => {
    const graph = new Graph();
    const x = graph.placeholder('x');
    const scaled = graph.callFunction(mul, [x, 2], 'scaled');
    expect(scaled.input()).toBe(x);
    expect(() => scaled.input(1)).toThrow(/Argument 1 of scaled is no node/);
  });

  it('refuses to erase a node in use', () => {
    const graph = new Graph();
    const x = graph.placeholder('x');
    graph.output(x);
    expect(() => graph.eraseNode(x)).toThrow(/Cannot erase 'x': it is used by output/);
  });

  it('inserts before and after a node', () => {
    const graph = new Graph();
    const x = graph.placeholder('x');
    const last = graph.callFunction(neg, [x], 'last');
    graph.output(last);
    graph.insertingBefore(last, () => graph.callFunction(neg, [x], 'first'));
    graph.insertingAfter(last, () => graph.callFunction(neg, [last], 'after'));
    expect(graph.nodes.map((node) => node.name)).toEqual(['x', 'first', 'last', 'after', 'output']);
    graph.lint();
  });

  it('gives unique names that are identifiers and no reserved words', () => {
    const graph = new Graph();
    const names = ['x', 'x', 'var', 'self', 'a.b[0]', '3d'].map(
      (name) => graph.placeholder(name).name,
    );
    expect(names).toEqual(['x', 'x_1', 'var_1', 'self_1', 'a_b_0_', '_3d']);
  });

  it('grows its revision with every edit', () => {
    const graph = new Graph();
    const x = graph.placeholder('x');
    const before = graph.revision;
    const node = graph.callFunction(neg, [x]);
    expect(graph.revision).toBeGreaterThan(before);
    const made = graph.revision;
    node.target = mul;
    expect(graph.revision).toBeGreaterThan(made);
  });
});

describe('printGraph', () => {
  it('prints constants, records, lists and functions as TypeScript', () => {
    const graph = new Graph();
    const x = graph.placeholder('x');
    const weight = graph.getAttr('layers.0.weight');
    const pair = graph.callFunction(mul, [x, -0], 'pair');
    const first = graph.callFunction(getItem, [pair, 0]);
    const called = graph.callModule('sub', [first, NaN, Infinity, 3n, null]);
    graph.output({ a: called, 'b c': [weight, 'text', true] });
    expect(printGraph(graph)).toMatchInlineSnapshot(`
      "export function forward(x: Tensor) {
        const layers_0_weight = self["layers.0.weight"];
        const pair = aten.mul.Tensor(x, -0);
        const get_item = getItem(pair, 0);
        const sub = self.sub(get_item, NaN, Infinity, 3n, null);
        return { a: sub, "b c": [layers_0_weight, "text", true] };
      }
      "
    `);
  });
});
