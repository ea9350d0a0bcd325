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
      const calls = graph.graph.nodes.filter((node) => node.op === 'call_function');
      expect(calls.every((node) => !String(node.target).includes('linear'))).toBe(true);
      return (inputs) => graph.forward(...inputs) as Tensor[];
    },
  });
  assertClose(compiled(input), model.call(input));
  expect(exported).toBe(1);
}
