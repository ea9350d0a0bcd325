import { getOp } from '@tessera/tensor';
import { describe, expect, it } from 'vitest';
import { type Argument, Graph, GraphModule } from '../src/index.js';

const mul = getOp('aten::mul.Tensor');
const sum = getOp('aten::sum.dim_IntList');

function graphOf(build: (graph: Graph) => void): Graph {
  const graph = new Graph();
  build(graph);
  return graph;
}

function expectLint(graph: Graph, message: RegExp): void {
  expect(() => graph.lint()).toThrow(message);
  expect(() => graph.lint()).toThrow(expect.objectContaining({ code: 'graph-lint' }));
}

describe('lint', () => {
  it('accepts a correct graph', () => {
    graphOf((g) => {
      const x = g.placeholder('x');
      g.output([g.callFunction(sum, [x, [0, 1], false, null]), 2]);
    }).lint();
  });

  it('demands an output', () => {
    expectLint(
      graphOf((g) => g.placeholder('x')),
      /no output node/,
    );
  });

  it('demands that nothing comes after the output', () => {
    expectLint(
      graphOf((g) => {
        g.output(g.placeholder('x'));
        g.placeholder('y');
      }),
      /'y' comes after the output/,
    );
  });

  it('demands placeholders first', () => {
    expectLint(
      graphOf((g) => {
        const x = g.placeholder('x');
        g.callFunction(mul, [x, x]);
        g.output(g.placeholder('y'));
      }),
      /'y' is a placeholder after other nodes/,
    );
  });

  it('demands definitions before uses', () => {
    const graph = new Graph();
    const x = graph.placeholder('x');
    const a = graph.callFunction(mul, [x, 2]);
    const b = graph.callFunction(mul, [a, 2]);
    graph.output(b);
    graph.moveBefore(b, a);
    expectLint(graph, /'mul_1' uses 'mul' before it is defined/);
  });

  it('rejects nodes of another graph', () => {
    const other = new Graph().placeholder('foreign');
    expectLint(
      graphOf((g) => g.output(other)),
      /uses 'foreign' of another graph/,
    );
  });

  it('notices a list of users that is wrong', () => {
    const graph = new Graph();
    const x = graph.placeholder('x');
    graph.output(x);
    x.users.clear();
    expectLint(graph, /'x' lists 0 users but has 1/);
  });

  it('notices duplicate names', () => {
    const graph = new Graph();
    const x = graph.placeholder('x');
    graph.placeholder('y').name = 'x';
    graph.output(x);
    expectLint(graph, /name of another node/);
  });

  it('checks the number of arguments against the schema', () => {
    expectLint(
      graphOf((g) => g.output(g.callFunction(sum, [g.placeholder('x')]))),
      /passes 1 arguments to aten::sum.dim_IntList, which takes 4/,
    );
  });

  it.each<[string, Argument, RegExp]>([
    ['text for a list', 'all', /passes the string all as 'dim'/],
    ['text in a list', ['a'], /passes a list of 1 as 'dim'/],
  ])('checks the kinds of arguments: %s', (_, dim, message) => {
    expectLint(
      graphOf((g) => g.output(g.callFunction(sum, [g.placeholder('x'), dim, false, null]))),
      message,
    );
  });

  it('checks that attributes exist', () => {
    const graph = graphOf((g) => g.output(g.getAttr('weight')));
    expect(() => new GraphModule([], graph).lint()).toThrow(
      /attribute 'weight', which the module does not have/,
    );
  });

  it('takes a graph of 10,000 nodes', () => {
    const graph = new Graph();
    let x = graph.placeholder('x');
    for (let i = 0; i < 10_000; i++) x = graph.callFunction(mul, [x, 2]);
    graph.output(x);
    const start = performance.now();
    graph.lint();
    expect(performance.now() - start).toBeLessThan(1000);
  });
});
