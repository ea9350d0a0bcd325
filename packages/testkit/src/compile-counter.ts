/**
 * @file `CompileCounter`: a backend that counts what it is given and runs it op by op.
 */
import type { Backend } from '@tessera/dynamo-trace';
import type { GraphModule } from '@tessera/graph';
import type { Tensor } from '@tessera/tensor';

/** Pass `counter.backend` to `compile`. */
export class CompileCounter {
  /** Graphs compiled; the same graph for other sizes (dynamic shapes) counts once. */
  frameCount = 0;
  /** Operator calls in all of them. */
  opCount = 0;
  readonly graphs: GraphModule[] = [];

  readonly backend: Backend = (module, _examples, request) => {
    module.lint();
    if (request?.sizes != null) return (inputs) => module.forward(...inputs) as Tensor[];
    this.frameCount++;
    this.graphs.push(module);
    this.opCount += module.graph.nodes.filter(
      (node) => node.op === 'call_function' && typeof node.target === 'object',
    ).length;
    return (inputs) => module.forward(...inputs) as Tensor[];
  };

  /** Starts counting from zero. */
  clear(): void {
    this.frameCount = 0;
    this.opCount = 0;
    this.graphs.length = 0;
  }
}
