/**
 * @file What a backend of the tracer is.
 */
import type { GraphModule } from '@tessera/graph';
import { type Steps, TesseraError, atOnce } from '@tessera/shared';
import type { Tensor } from '@tessera/tensor';

/** Input of a segment: a tensor, or a number for a lifted scalar. */
export type SegmentInput = Tensor | number;

/**
 * A compiled segment: takes the graph's placeholders in order and returns its outputs in order. It
 * applies mutations of inputs, and outputs that require grad carry a gradFn.
 */
export interface CompiledSegment {
  (inputs: readonly SegmentInput[]): readonly Tensor[];
  /** Whether the memory of an output is made by the call and held by nobody else; left out: of none. */
  readonly isFresh?: (position: number) => boolean;
  /**
   * The same code for inputs of other sizes, `symbols` being those of a request for them, and `inputs` such inputs, or
   * what they will be. Null unless it is known that compiling the program at these sizes would give that code. Its
   * outputs are as fresh.
   */
  readonly forSizes?:
    | ((symbols: readonly number[], inputs: readonly SizedInput[]) => SizedSegment | null)
    | undefined;
}

/** What is asked of an input at some sizes. */
export type SizedInput = Pick<Tensor, 'sizes' | 'strides' | 'storageOffset'> | number;

/** A compiled segment at other sizes. */
export type SizedSegment = (inputs: readonly SegmentInput[]) => readonly Tensor[];

/**
 * Compiles a captured graph. Placeholders carry a FakeTensor in `meta.val` (with requires_grad, and
 * sharing storage as the real inputs do) or `meta.scalar`; ops are as the program called them,
 * composites included; a `backward()` is a `tessera::autograd_grad` node.
 */
export interface Backend {
  (
    graphModule: GraphModule<readonly Tensor[]>,
    exampleInputs: readonly SegmentInput[],
    request?: CompileRequest,
  ): CompiledSegment;
  /** The same with pauses, for pages that must not wait; a backend without it makes none. */
  readonly steps?: BackendSteps;
}

/** See `Backend`. */
export type BackendSteps = (
  graphModule: GraphModule<readonly Tensor[]>,
  exampleInputs: readonly SegmentInput[],
  request?: CompileRequest,
) => Steps<CompiledSegment>;

/** A backend that compiles in steps, or at once. */
export function backendOf(steps: BackendSteps): Backend {
  return Object.assign<Backend, Pick<Backend, 'steps'>>((...request) => atOnce(steps(...request)), {
    steps,
  });
}

/** The steps of a backend; one that makes no pauses has a single one. */
export function stepsOf(backend: Backend): BackendSteps {
  return (
    backend.steps ??
    function* (...request) {
      yield;
      return backend(...request);
    }
  );
}

/** What a backend gave. @throws unknown-backend if that is no function */
export function checkCompiled(compiled: CompiledSegment): CompiledSegment {
  if (typeof compiled === 'function') return compiled;
  throw new TesseraError(
    'unknown-backend',
    `The backend returned ${typeof compiled} instead of a function.`,
    {
      hints: ['A backend takes (graphModule, exampleInputs) and returns a function of the inputs.'],
    },
  );
}

/** What compiled code returned, if that is as many values as the graph has. @throws unknown-backend */
export function checkOutputs(outs: readonly Tensor[], count: number): readonly Tensor[] {
  if (count === 0 || outs?.length >= count) return outs;
  const got = Array.isArray(outs) ? `${outs.length} values` : 'no list of values';
  throw new TesseraError(
    'unknown-backend',
    `The function that the backend made returned ${got}; the graph has ${count}.`,
    {
      hints: ['It returns an array, also of one value, in the order of the outputs of the graph.'],
    },
  );
}

/** Why a backend is called. */
export interface CompileRequest {
  /** The graph is one that the backend was given before, now for these sizes (`s0 = 5 (…)`); null for a new graph. */
  readonly sizes: readonly string[] | null;
  /** Numbers and values of the symbols that the sizes of the graph follow. */
  readonly symbols: readonly number[];
  /** The same object for every size of a graph. */
  readonly family: object;
  /** Name of the function. */
  readonly name: string;
  /** The same object for every graph of a function, until it is reset. */
  readonly program: object;
  /** The user asked for one compiled graph: what cannot be compiled is an error. */
  readonly fullgraph: boolean;
  /** To be called when code is used that serves other sizes too: a further size costs little then. */
  readonly onShared: () => void;
}
