/**
 * @file The `inductor` backend: pre-grad passes → AOT autograd with the joint passes → per graph the
 * post-grad passes and the kernel backend of the graph's device. With `config.freezing`, graphs that
 * record no gradient first take the parameters of modules as constants.
 */
import {
  type GraphCompiler,
  aotCompileCaptured,
  minCutRematerializationPartition,
} from '@tessera/aot-autograd';
import type { Backend, CompiledSegment } from '@tessera/dynamo-trace';
import { type GraphModule, copyModule } from '@tessera/graph';
import { type CompiledGraph, compileToExecutable } from '@tessera/inductor-core';
import { isModuleState } from '@tessera/nn';
import {
  freezeFunction,
  freezingPipeline,
  jointPipeline,
  passesConfig,
  postGradPipeline,
  preGradPipeline,
  runPasses,
} from '@tessera/passes';
import { counters } from '@tessera/shared';
import { gradMode, isTensor } from '@tessera/tensor';
import { kernelBackend } from './device-backends.js';
import { checkNative } from './native-wrapper.js';

/** Called for every graph that `inductor` compiles. */
export type CompilationObserver = (graph: GraphModule, compiled: CompiledGraph) => void;

const observers = new Set<CompilationObserver>();

/** Watches compilations until the returned function is called: for tests, tools and the explorer. */
export function observeCompilations(observer: CompilationObserver): () => void {
  observers.add(observer);
  return () => observers.delete(observer);
}

/** Device of the first tensor value of a graph. */
function deviceOf(module: GraphModule): string {
  for (const node of module.graph.nodes) if (isTensor(node.meta.val)) return node.meta.val.device;
  return 'cpu';
}

/** Compiles with the kernel backend of the graph's device. */
export const inductorCompiler: GraphCompiler = (module) => {
  runPasses(module, postGradPipeline());
  const compiled = compileToExecutable(module, kernelBackend(deviceOf(module)));
  checkNative(compiled.plan);
  counters.inc('inductor', 'graphs');
  counters.inc('inductor', 'kernels', compiled.plan.launches.length);
  for (const observer of observers) observer(module, compiled);
  return compiled;
};

/** Takes parameters as constants first. */
const freezingCompiler: GraphCompiler = (module) =>
  freezeFunction(module, {
    isConstant: isModuleState,
    discard: passesConfig.freezingDiscardParameters,
    compile: (frozen) => {
      runPasses(frozen, freezingPipeline());
      return inductorCompiler(frozen, []);
    },
    compilePlain: (plain) => inductorCompiler(plain, []),
  });

/** See the file header. */
export const inductor: Backend = (captured, examples) => {
  const preGrad = preGradPipeline();
  const module = preGrad.length > 0 ? copyModule(captured) : captured;
  runPasses(module, preGrad);
  const freezes = passesConfig.freezing && !gradMode.enabled;
  return aotCompileCaptured(module, examples, {
    fwCompiler: inductorCompiler,
    inferenceCompiler: freezes ? freezingCompiler : inductorCompiler,
    partitionFn: minCutRematerializationPartition,
    jointPasses: jointPipeline(),
    postGradPasses: [],
  }).call as CompiledSegment;
};
