/**
 * @file The `inductor` backend: pre-grad passes → AOT autograd with the joint passes → per graph the
 * post-grad passes and, for the part of each device, its kernel backend. With `config.freezing`, graphs that
 * record no gradient first take the parameters of modules as constants.
 */
import {
  type GraphCompiler,
  type ProgramSample,
  ProgramSamples,
  aotCapturedSteps,
  compileSteps,
  minCutRematerializationPartition,
  runEagerly,
} from '@tessera/aot-autograd';
import {
  type Backend,
  type CompileRequest,
  type CompiledSegment,
  type SegmentInput,
  backendOf,
} from '@tessera/dynamo-trace';
import { type GraphModule, copyModule } from '@tessera/graph';
import {
  type CompilePart,
  type CompiledGraph,
  type DevicesSample,
  ProgramCode,
  SizeFamilies,
  devicesOf,
  executableSteps,
} from '@tessera/inductor-core';
import { onlyReferenceKernels } from '@tessera/inductor-cpu';
import { isModuleState } from '@tessera/nn/internal';
import {
  type GraphFunction,
  type Pass,
  freezingCode,
  jointPipeline,
  passesConfig,
  postGradPipeline,
  passSteps,
  preGradPipeline,
  runPasses,
} from '@tessera/passes';
import { type Steps, atOnce, counters, inScope, reportKernels, stageOf } from '@tessera/shared';
import { gradMode } from '@tessera/tensor/internal';
import { configOfGraph } from './function-config.js';
import { graphSteps, kernelBackend } from './device-backends.js';
import { betweenPlans, checkNative } from './native-wrapper.js';
import { compilationRecorder, showCompilation } from './observe-compilations.js';

/** Compiles a functional graph: the inner part of `compileFx`. */
export type InnerCompile = GraphCompiler;

/**
 * Compiles a functional graph with the kernel backends of its devices: post-grad passes, which change
 * `module`, and code.
 *
 * @see torch._inductor.compile_fx.compile_fx_inner
 */
export const compileFxInner: InnerCompile = withSteps(function* (module) {
  yield* stageOf('post-grad passes', passSteps(module, postGradPipeline()));
  const devices = devicesOf(module);
  if (onlyReferenceKernels() && (devices.size === 0 || devices.has('cpu')))
    return runEagerly(module);
  yield;
  if (devices.size > 1) for (const device of devices) kernelBackend(device);
  return yield* graphSteps(module, partSteps, betweenPlans, devicesSample);
});

/** A compiler that makes pauses when it is asked to. */
function withSteps(steps: NonNullable<GraphCompiler['steps']>): GraphCompiler {
  return Object.assign<GraphCompiler, Pick<GraphCompiler, 'steps'>>(
    (module, values) => atOnce(steps(module, values)),
    { steps },
  );
}

/** Compiles the part of a graph that runs on one device. */
const partSteps: CompilePart<Steps<CompiledGraph>> = function* (module, device, name) {
  const backend = kernelBackend(device);
  const compiled =
    request === null
      ? yield* executableSteps(module, backend, { name })
      : yield* knownOf(request).code.steps(module, backend, { name }, knownSizes(request));
  if (compiled.isShared) {
    request?.onShared();
    counters.inc('inductor', 'shared');
  }
  const launches = compiled.outline.launches.length;
  checkNative(compiled);
  reportKernels(launches);
  counters.inc('inductor', 'graphs');
  counters.inc('inductor', 'kernels', launches);
  showCompilation(module, compiled);
  return compiled;
};

/** What a graph is a sample of. */
function devicesSample(): DevicesSample | null {
  const sizes = request === null ? null : knownSizes(request);
  return sizes === null ? null : { of: request!.family, sizes };
}

/** Sizes that graphs are samples of; null where passes of the user's may do something else at other sizes. */
function knownSizes({ symbols }: CompileRequest): readonly number[] | null {
  const { preGradCustomPass, jointCustomPrePass, jointCustomPostPass } = passesConfig;
  const { postGradCustomPrePass, postGradCustomPostPass } = passesConfig;
  const passes = [
    preGradCustomPass,
    jointCustomPrePass,
    jointCustomPostPass,
    postGradCustomPrePass,
    postGradCustomPostPass,
  ];
  return passes.every((pass) => pass === null) ? symbols : null;
}

/** For which graph the compiler is called now. */
let request: CompileRequest | null = null;

/** Runs `fn` for a request. */
function during<R>(of: CompileRequest | null, fn: () => R): R {
  const before = request;
  request = of;
  try {
    return fn();
  } finally {
    request = before;
  }
}

/** What is known of a captured graph at all its sizes: the code of its parts, and samples of what it is. */
interface Known {
  readonly code: SizeFamilies;
  readonly samples: ProgramSamples;
}

const families = new WeakMap<object, Known>();
const programs = new WeakMap<object, ProgramCode>();

function knownOf({ family, program }: CompileRequest): Known {
  let found = families.get(family);
  if (found === undefined) {
    const code = programs.get(program) ?? new ProgramCode();
    programs.set(program, code);
    found = { code: new SizeFamilies(code), samples: new ProgramSamples() };
    families.set(family, found);
  }
  return found;
}

/** The sample that a request is of its graph; null where it is none. */
function sampleOf(
  of: CompileRequest | undefined,
  compilerFor: (request: CompileRequest) => GraphCompiler,
): ProgramSample | null {
  const sizes = of === undefined ? null : knownSizes(of);
  if (sizes === null) return null;
  const compilerAt = (symbols: readonly number[]): GraphCompiler =>
    compilerFor({ ...of!, symbols });
  return { of: knownOf(of!).samples, sizes, compilerAt };
}

/** Takes parameters as constants first. */
function compileFrozen(
  module: GraphModule,
  inner: GraphCompiler,
  within: <R>(fn: () => R) => R,
): GraphFunction {
  const compile = (graph: GraphModule, passes: readonly Pass[]): GraphFunction =>
    within(() => {
      runPasses(graph, passes);
      const { placeholders } = graph.graph;
      return inner(
        graph,
        placeholders.map((node) => node.meta.val),
      );
    });
  const { freezeFunction, freezingPipeline } = freezingCode('freezing');
  return freezeFunction(module, {
    isConstant: isModuleState,
    discard: passesConfig.freezingDiscardParameters,
    compile: (frozen) => compile(frozen, freezingPipeline()),
    compilePlain: (plain) => compile(plain, []),
  });
}

/** Options of `compileFx`. */
export interface CompileFxOptions {
  /** Called instead of `compileFxInner` for every functional graph; it may call that itself. */
  readonly innerCompile?: InnerCompile;
  /** What the tracer said of the graph; sizes of one graph share code then. */
  readonly request?: CompileRequest | undefined;
}

/**
 * The `inductor` backend as a function, for backends that look at what it compiles.
 *
 * @example
 * const seen: GraphModule[] = [];
 * compile(model, {
 *   backend: (graph, examples) =>
 *     compileFx(graph, examples, {
 *       innerCompile: (inner, values) => {
 *         seen.push(inner);
 *         return compileFxInner(inner, values);
 *       },
 *     }),
 * });
 * @see torch._inductor.compile_fx.compile_fx
 */
export function compileFx(
  captured: GraphModule,
  examples: readonly SegmentInput[],
  options: CompileFxOptions = {},
): CompiledSegment {
  return atOnce(fxSteps(captured, examples, options));
}

/** `compileFx` with pauses. */
function fxSteps(
  captured: GraphModule,
  examples: readonly SegmentInput[],
  options: CompileFxOptions,
): Steps<CompiledSegment> {
  const record = compilationRecorder()?.open(captured) ?? null;
  const configured = configOfGraph();
  const forRequest =
    (of: CompileRequest | null) =>
    <R>(fn: () => R): R =>
      during(of, () => configured(() => (record === null ? fn() : record.during(fn))));
  const within = forRequest(options.request ?? null);
  const inner = options.innerCompile ?? compileFxInner;
  // The backward graph, and frozen ones, are compiled when they first run.
  const compilerFor = (of: CompileRequest | null): GraphCompiler =>
    withSteps((module, values) => inScope(forRequest(of), compileSteps(inner, module, values)));
  const fwCompiler = compilerFor(options.request ?? null);
  return inScope(within, body());

  function* body(): Steps<CompiledSegment> {
    const preGrad = preGradPipeline();
    const module = preGrad.length > 0 ? copyModule(captured) : captured;
    yield* stageOf('pre-grad passes', passSteps(module, preGrad));
    const freezes = passesConfig.freezing && !gradMode.enabled;
    const inferenceCompiler: GraphCompiler = freezes
      ? (inference) => compileFrozen(inference, inner, within)
      : fwCompiler;
    const { call } = yield* aotCapturedSteps(module, examples, {
      fwCompiler,
      inferenceCompiler,
      partitionFn: (joint) => {
        record?.addJoint(joint.module);
        return minCutRematerializationPartition(joint);
      },
      jointPasses: jointPipeline({ freezes }),
      postGradPasses: [],
      sample: sampleOf(options.request, compilerFor),
    });
    return call as CompiledSegment;
  }
}

/** See the file header. */
export const inductor: Backend = backendOf((captured, examples, request) =>
  fxSteps(captured, examples, { request }),
);
