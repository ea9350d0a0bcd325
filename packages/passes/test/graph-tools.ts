/**
 * @file Small graphs for tests of passes: written by hand, and runs of a pass checked for the same values.
 */
import { type Argument, Graph, GraphModule, type Node, emitOp } from '@tessera/graph';
import { type Tensor, getOp, isTensor } from '@tessera/tensor';
import { contiguousStrides, fakeFromMeta } from '@tessera/tensor/internal';
import { expect } from 'vitest';
import { type Pass, dce, runPasses } from '../src/index.js';

/** Builds a graph node by node. */
export class Hand {
  readonly graph: Graph = new Graph();
  readonly module: GraphModule = new GraphModule([], this.graph);

  /** A float32 input. */
  input(name: string, sizes: readonly number[]): Node {
    const node = this.graph.placeholder(name);
    node.meta.val = fakeFromMeta({
      sizes,
      strides: contiguousStrides(sizes),
      dtype: 'float32',
      device: 'cpu',
    });
    return node;
  }

  /** A constant. */
  constant(path: string, value: Tensor): Node {
    this.module.setAttribute(path, value);
    const node = this.graph.getAttr(path);
    node.meta.val = value;
    return node;
  }

  /** A call of `aten::name`. */
  call(name: string, ...args: readonly Argument[]): Node {
    return emitOp(this.graph, getOp(`aten::${name}`), args);
  }

  /** The finished module. */
  output(value: Argument): GraphModule {
    this.graph.output(value);
    return this.module;
  }
}

function close(actual: unknown, expected: unknown): void {
  if (Array.isArray(expected)) {
    expected.forEach((item, i) => close((actual as unknown[])[i], item));
    return;
  }
  if (!isTensor(expected) || !isTensor(actual)) throw new Error('not a tensor');
  expect(actual.sizes).toEqual(expected.sizes);
  expect(actual.dtype).toBe(expected.dtype);
  const a = actual.toTypedArray() as Float32Array;
  const e = expected.toTypedArray() as Float32Array;
  e.forEach((value, i) =>
    expect(Math.abs(a[i]! - value)).toBeLessThan(1e-4 + 1e-4 * Math.abs(value)),
  );
}

/** Runs passes, checks that values stay, and returns the printed graph. */
export function after(
  module: GraphModule,
  passes: readonly Pass[],
  inputs: readonly Tensor[],
): string {
  const expected = module.forward(...inputs);
  runPasses(module, [...passes, dce]);
  module.lint();
  close(module.forward(...inputs), expected);
  return module.print();
}
