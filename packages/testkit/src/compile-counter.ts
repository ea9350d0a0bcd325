/**
 * @file `CompileCounter`: a backend that counts what it is given, and runs it op by op or hands it on.
 */
import { lookupBackend } from '@tessera/compile';
import type { Backend } from '@tessera/dynamo-trace';
import type { GraphModule } from '@tessera/graph';

/**
 * Counts graphs and operators; runs the graphs op by op. Pass it to `compile` as the backend.
 *
 * @example
 * const counter = new CompileCounter();
 * compile(fn, { backend: counter })(x);
 * expect(counter.frameCount).toBe(1);
 * @see torch._dynamo.testing.CompileCounter
 */
export class CompileCounter {
  /** Graphs compiled; the same graph for other sizes (dynamic shapes) counts once. */
  frameCount = 0;
  /** Operator calls in all of them. */
  opCount = 0;
  readonly graphs: GraphModule[] = [];
  /** The backend that counts. */
  readonly backend: Backend;

  constructor() {
    this.backend = this.countingIn('eager');
  }

  /** Starts counting from zero. */
  clear(): void {
    this.frameCount = 0;
    this.opCount = 0;
    this.graphs.length = 0;
  }

  /** A backend that counts and then does what another one does. */
  protected countingIn(inner: string | Backend): Backend {
    return (module, examples, request) => {
      module.lint();
      if (request?.sizes == null) this.count(module);
      return lookupBackend(inner)(module, examples, request);
    };
  }

  private count(module: GraphModule): void {
    this.frameCount++;
    this.graphs.push(module);
    this.opCount += module.graph.nodes.filter(
      (node) => node.op === 'call_function' && typeof node.target === 'object',
    ).length;
  }
}

/**
 * Counts graphs and operators in front of another backend.
 *
 * @example compile(fn, { backend: new CompileCounterWithBackend('aot_eager') });
 * @see torch._dynamo.testing.CompileCounterWithBackend
 */
export class CompileCounterWithBackend extends CompileCounter {
  override readonly backend: Backend;

  /** @throws unknown-backend */
  constructor(inner: string | Backend) {
    super();
    lookupBackend(inner);
    this.backend = this.countingIn(inner);
  }
}
