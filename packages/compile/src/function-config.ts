/**
 * @file `FunctionConfig`: the `options` of `compile`, configuration that holds for one function.
 *
 * Each option of the configuration has a scope. What compiling a graph reads holds while graphs of the function
 * are compiled, whenever that is: frozen graphs when they first run, the backward graph when gradients are first
 * wanted. What the tracer reads holds while the function is called. What the whole program shares is refused.
 */
import { type Backend, type CompiledSegment, backendOf, stepsOf } from '@tessera/dynamo-trace';
import { type ConfigValues, TesseraError, config, inScope } from '@tessera/shared';

/** When an option is read: compiling a graph, calling the function, or by what the whole program shares. */
type Scope = 'graph' | 'call' | 'program';

/** The scope of every option. */
export const OPTION_SCOPES: Readonly<Record<string, Scope>> = {
  'aot.activationMemoryBudget': 'graph',
  'aot.recomputeFarApart': 'graph',
  'aot.recomputeRandom': 'graph',
  'aot.recomputeReductions': 'graph',
  'cpu.kernels': 'program',
  'cpu.relaxedSimd': 'graph',
  'cpu.rowBits': 'graph',
  'cpu.threads': 'program',
  'cpu.workerUrl': 'program',
  debugDir: 'graph',
  'eager.kernels': 'program',
  forceLayoutOptimization: 'graph',
  freezing: 'graph',
  freezingDiscardParameters: 'graph',
  'inductor.checkIndices': 'graph',
  'inductor.emulatePrecisionCasts': 'graph',
  'inductor.implicitFallbacks': 'graph',
  jointCustomPostPass: 'graph',
  jointCustomPrePass: 'graph',
  layoutOptimization: 'graph',
  maxAutotune: 'graph',
  nativeWrapper: 'graph',
  'passes.lint': 'graph',
  patternMatcher: 'graph',
  postGradCustomPostPass: 'graph',
  postGradCustomPrePass: 'graph',
  preGradCustomPass: 'graph',
  'trace.accumulatedRecompileLimit': 'call',
  'trace.generateCode': 'program',
  'trace.recompileLimit': 'call',
  'trace.sizeLimit': 'call',
  'trace.verify': 'call',
};

/** Runs something under a configuration. */
type Within = <R>(fn: () => R) => R;

const asIs: Within = (fn) => fn();

/** Under which configuration the graph that is compiled now must be. */
let compiling: Within = asIs;

/** The configuration of the graph that is compiled now, for what is compiled of it later. */
export function configOfGraph(): Within {
  return compiling;
}

function patching(values: ConfigValues): Within {
  if (Object.keys(values).length === 0) return asIs;
  return (fn) => {
    const patch = config.patch(values);
    try {
      // A promise goes on outside: other code runs meanwhile.
      return fn();
    } finally {
      patch[Symbol.dispose]();
    }
  };
}

/** See the file header. */
export class FunctionConfig {
  private readonly graph: Within;
  /** Runs a call of the function. */
  readonly call: Within;

  /** @throws unknown-config-key, invalid-config-value, invalid-argument for an option of the whole program */
  constructor(options: ConfigValues) {
    const entries = Object.entries(config.resolve(options));
    const shared = entries.find(([path]) => scopeOf(path) === 'program');
    if (shared !== undefined) throw notPerFunction(...shared);
    const of = (scope: Scope): Within =>
      patching(Object.fromEntries(entries.filter(([path]) => scopeOf(path) === scope)));
    this.graph = of('graph');
    this.call = of('call');
  }

  /** The backend under the options; itself without any. */
  backend(backend: Backend): Backend {
    const { graph } = this;
    if (graph === asIs) return backend;
    const within: Within = (fn) => {
      const outer = compiling;
      compiling = graph;
      try {
        return graph(fn);
      } finally {
        compiling = outer;
      }
    };
    const configured = (segment: CompiledSegment): CompiledSegment => {
      const { isFresh, forSizes } = segment;
      const others: CompiledSegment['forSizes'] =
        forSizes &&
        ((symbols, inputs) => {
          const made = graph(() => forSizes(symbols, inputs));
          return made && ((values) => graph(() => made(values)));
        });
      return Object.assign<CompiledSegment, Pick<CompiledSegment, 'isFresh' | 'forSizes'>>(
        (inputs) => graph(() => segment(inputs)),
        { isFresh, forSizes: others },
      );
    };
    const steps = stepsOf(backend);
    return backendOf(function* (...request) {
      return configured(yield* inScope(within, steps(...request)));
    });
  }
}

function scopeOf(path: string): Scope {
  return OPTION_SCOPES[path] ?? 'program';
}

function notPerFunction(path: string, value: unknown): TesseraError {
  return new TesseraError(
    'invalid-argument',
    `compile(): the option '${path}' holds for the whole program and cannot be set for one function.`,
    {
      context: { option: path, value },
      hints: [
        `Set it with config.set({ '${path}': … }), or for a while with config.patch({ '${path}': … }, fn).`,
      ],
    },
  );
}
