/**
 * @file Rows about what the tracer in front of AOT autograd sees: exported graphs, branches on data,
 * grad mode, parameters made inside.
 */
import { compile, exportGraph, reset } from '@tessera/compile';
import type { GraphModule } from '@tessera/graph';
import { Conv2d, Module, Parameter, functional as F } from '@tessera/nn';
import {
  type OpOverload,
  type Tensor,
  add,
  isGradEnabled,
  manualSeed,
  mul,
  ones,
  rand,
  randn,
  setGradEnabled,
  slice,
  tensor,
} from '@tessera/tensor';
import { expect } from 'vitest';
import { CompileCounter, CompileCounterWithBackend, assertClose, same } from '../../src/index.js';

/** A module that calls its convolution on its own terms, exported and compiled. */
export async function exportedConvolution(): Promise<void> {
  manualSeed(1);
  class Special extends Module {
    readonly conv: Conv2d = new Conv2d(3, 20, [5, 5]);

    convForward(x: Tensor): Tensor {
      return F.conv2d(x, this.conv.weight, { bias: this.conv.bias });
    }

    override forward(x: Tensor): Tensor {
      return this.convForward(x);
    }
  }
  const module = new Special();
  const x = randn([3, 10, 10]);
  const real = module.call(x);
  const exported = exportGraph(module, [x]);
  expect(await same(real, exported.call(x))).toBe(true);
  const compiled = compile(exported, { backend: 'aot_eager' });
  for (let i = 0; i < 2; i++) assertClose(compiled(x), real);
}

/** Writes a leaf parameter under no-grad: no error, exported and compiled. */
export function exportedUnsafeWrite(): void {
  manualSeed(2);
  class Special extends Module {
    badForward(param: Tensor, y: Tensor): Tensor {
      const before = isGradEnabled();
      try {
        setGradEnabled(false);
        param.add_(y);
      } finally {
        setGradEnabled(before);
      }
      return y;
    }

    override forward(x: Tensor, y: Tensor): Tensor {
      return this.badForward(x, y);
    }
  }
  const module = new Special();
  const x = new Parameter(randn([4]));
  const y = randn([4]);
  const start = x.detach().clone();
  const exported = exportGraph(module, [x, y]);
  // Exporting computes nothing.
  assertClose(x.detach(), start);
  assertClose(exported.call(x, y), module.call(x, y));
  assertClose(compile(exported, { backend: 'aot_eager' })(x, y), y);
  assertClose(x.detach(), start.add(y.mul(3)));
}

/** A branch on data between two parts. */
class Branching extends Module {
  private choose(param: Tensor, y: Tensor): Tensor {
    return y.select(0, 0).select(0, 0).lt(3).item() !== 0 ? y.add(param) : param.mul(y);
  }

  override forward(x: Tensor, y: Tensor): Tensor {
    const a = x.mul(y);
    return this.choose(a, a).mul(x.add(y));
  }
}

/**
 * Both branches are right, in two graphs with the source's seven operators from the first call on: what comes before
 * the branch, and what comes behind it. The source's tracer leaves the method with the branch in frames of its own,
 * which makes four graphs of the same operators; here a graph goes on through calls.
 */
export function exportedControlFlow(): void {
  const module = new Branching();
  const x = new Parameter(
    tensor([
      [1, 2],
      [3, 4],
    ]),
  );
  const small = tensor([
    [1, -1],
    [2, 0.5],
  ]);
  const large = tensor([
    [9, -1],
    [2, 0.5],
  ]);
  const counter = new CompileCounter();
  const graphs: GraphModule[] = [];
  const compiled = compile(module, {
    backend: (graph, examples, request) => {
      graphs.push(graph);
      return counter.backend(graph, examples, request);
    },
  });
  assertClose(compiled(x, small), module.call(x, small));
  expect(counter.opCount).toBe(7);
  expect(counter.frameCount).toBe(2);
  // What comes behind a break is compiled before what leads to it.
  const [after, before] = graphs.map(operatorsOf);
  expect(before).toEqual(['mul', 'select', 'select', 'lt']);
  expect(after).toEqual(['add', 'add', 'mul']);
  assertClose(compiled(x, small), module.call(x, small));
  expect(counter.opCount).toBe(7);
  for (const y of [large, small, large]) assertClose(compiled(x, y), module.call(x, y));
  // The other branch is one more graph, made once.
  expect(graphs.map(operatorsOf).slice(2)).toEqual([['mul', 'add', 'mul']]);
  reset();
  for (const again of [compile(compiled, { backend: 'aot_eager' }), compile(module)])
    for (const y of [small, large, small]) assertClose(again(x, y), module.call(x, y));
}

function operatorsOf(module: GraphModule): string[] {
  return module.graph.nodes.flatMap(({ target }) =>
    typeof target === 'object' ? [(target as OpOverload).schema.name] : [],
  );
}

/** A view of a view sees what is assigned through the other, across a branch on data. */
export function aliasesAcrossBranch(): void {
  const fn = (): Tensor => {
    const a = slice(tensor([1]), 0, 0, 1);
    const b = a.squeeze();
    a.select(0, 0).fill_(0);
    if (a.select(0, 0).item() < 1e5) a.select(0, 0).fill_(2);
    return b;
  };
  const counter = new CompileCounterWithBackend('aot_eager');
  const compiled = compile(fn, { backend: counter });
  for (let i = 0; i < 3; i++) expect(compiled().item()).toBe(fn().item());
  // The branch ends the first graph.
  expect(counter.frameCount).toBe(2);
}

/** A parameter made inside the compiled function. */
export function makesParameter(): void {
  const fn = (x: Tensor): Tensor => add(x.sin(), new Parameter(ones([1])));
  const compiled = compile(fn, { backend: 'aot_eager' });
  const x = rand([4, 4]);
  for (let i = 0; i < 2; i++) assertClose(compiled(x), fn(x));
}

/** A change of grad mode inside is visible outside, and decides which results have history. */
export function changesGradMode(): void {
  const fn = (x: Tensor): [Tensor, Tensor] => {
    const y = mul(x, x);
    setGradEnabled(false);
    return [y.clone(), y];
  };
  for (const backend of ['aot_eager', 'inductor']) {
    const compiled = compile(fn, { backend, fullgraph: true });
    for (let i = 0; i < 2; i++) {
      const x = ones([3], { requiresGrad: true }).mul(3);
      const results = [fn, compiled].map((run) => {
        const result = run(x);
        expect(isGradEnabled()).toBe(false);
        setGradEnabled(true);
        expect(result[0].gradFn).toBe(null);
        expect(result[1].gradFn).not.toBe(null);
        return result;
      });
      const [reference, actual] = results as [[Tensor, Tensor], [Tensor, Tensor]];
      assertClose(actual[0], reference[0]);
      assertClose(actual[1], reference[1]);
      const seed = tensor([-1, 2, 0]);
      const sums = [reference, actual].map(([, y]) =>
        y
          .gradFn!.apply([seed])
          .filter((grad): grad is Tensor => grad !== null)
          .reduce((total, grad) => add(total, grad)),
      );
      assertClose(sums[1]!, sums[0]!);
    }
  }
}
