/**
 * @file The row about a backend that exports the forward graph.
 */
import { aotExportJointSimple } from '@tessera/aot-autograd';
import { compile } from '@tessera/compile';
import { Linear, Module } from '@tessera/nn';
import { type Tensor, manualSeed, rand } from '@tessera/tensor';
import { expect } from 'vitest';
import { assertClose } from '../../src/index.js';

class Model extends Module {
  readonly linear: Linear = new Linear(5, 7);

  override forward(x: Tensor): Tensor {
    return this.linear.call(x);
  }
}

/** A backend made of `aotExportJointSimple(…, { traceJoint: false })` gives eager's results. */
export function exportsForwardOnly(): void {
  manualSeed(31);
  const model = new Model();
  const input = rand([3, 4, 5]);
  let exported = 0;
  const compiled = compile(model, {
    backend: (module, examples) => {
      const graph = aotExportJointSimple(module, examples as Tensor[], { traceJoint: false });
      graph.lint();
      exported++;
      const ops = graph.graph.nodes.filter((node) => typeof node.target === 'object');
      expect(ops.length).toBeGreaterThan(0);
      expect(ops.every((node) => !String(node.target).includes('linear'))).toBe(true);
      expect(graph.graph.placeholders).toHaveLength(3);
      return graph;
    },
  });
  assertClose(compiled(input), model.call(input));
  assertClose(compiled(input.mul(2)), model.call(input.mul(2)));
  expect(exported).toBe(1);
}
