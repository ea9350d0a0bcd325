/**
 * @file `tessera::autograd_grad`: a `backward()` inside a captured program, as an operator.
 *
 * Capture records a call of `backward()` as this op; running the graph (eagerly, or re-traced by AOT
 * autograd on FakeTensors) runs the real engine over the history that the ops before it recorded.
 */
import { defineOp } from '../op/op-overload.js';
import type { Tensor } from '../tensor.js';
import { runBackward } from './engine.js';

function define(overload: string, createGraph: boolean): void {
  defineOp(
    `tessera::autograd_grad${overload}(Tensor[] outputs, Tensor?[] grad_outputs, Tensor[] inputs, bool retain_graph=False) -> Tensor?[]`,
    {
      decompose: ({ outputs, grad_outputs, inputs, retain_graph }) =>
        runBackward(outputs as Tensor[], grad_outputs as (Tensor | null)[], {
          retainGraph: retain_graph === true,
          createGraph,
          inputs: inputs as Tensor[],
          accumulate: false,
          allowUnused: true,
        }),
    },
  );
}

// Gradients of `outputs` with respect to `inputs`; null where an input was not used.
define('', false);
// The same, to be differentiated again.
define('.create_graph', true);
