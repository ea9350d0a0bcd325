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
import { counters, reportKernels, stage } from '@tessera/shared';
import { gradMode, isTensor } from '@tessera/tensor';
import { DebugFolder } from './debug/debug-folder.js';
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
function compileGraph(module: GraphModule, folder: DebugFolder | null): CompiledGraph {
  stage('post-grad passes', () => runPasses(module, postGradPipeline()));
  const compiled = compileToExecutable(module, kernelBackend(deviceOf(module)));
  checkNative(compiled.plan);
  reportKernels(compiled.plan.launches.length);
  counters.inc('inductor', 'graphs');
  counters.inc('inductor', 'kernels', compiled.plan.launches.length);
  folder?.addCompiled(module, compiled);
  for (const observer of observers) observer(module, compiled);
  return compiled;
}

/** Compiles functional graphs on their own. */
export const inductorCompiler: GraphCompiler = (module) => compileGraph(module, null);

/** Takes parameters as constants first. */
function compileFrozen(
  module: GraphModule,
  folder: DebugFolder | null,
): (inputs: readonly unknown[]) => readonly unknown[] {
  return freezeFunction(module, {
    isConstant: isModuleState,
    discard: passesConfig.freezingDiscardParameters,
    compile: (frozen) =>
      within(folder, () => {
        runPasses(frozen, freezingPipeline());
        return compileGraph(frozen, folder);
      }),
    compilePlain: (plain) => within(folder, () => compileGraph(plain, folder)),
  });
}

/** Runs a part of the compile under its debug folder. */
function within<R>(folder: DebugFolder | null, fn: () => R): R {
  return folder === null ? fn() : folder.during(fn);
}

/** See the file header. */
export const inductor: Backend = (captured, examples) => {
  const folder = DebugFolder.open(captured);
  const fwCompiler: GraphCompiler = (module) => compileGraph(module, folder);
  return within(folder, () => {
    const preGrad = preGradPipeline();
    const module = preGrad.length > 0 ? copyModule(captured) : captured;
    stage('pre-grad passes', () => runPasses(module, preGrad));
    const freezes = passesConfig.freezing && !gradMode.enabled;
    return aotCompileCaptured(module, examples, {
      fwCompiler,
      // The backward graph is compiled when it first runs.
      bwCompiler: (backward) => within(folder, () => compileGraph(backward, folder)),
      inferenceCompiler: freezes ? (inference) => compileFrozen(inference, folder) : fwCompiler,
      partitionFn: minCutRematerializationPartition,
      jointPasses: jointPipeline(),
      postGradPasses: [],
    }).call as CompiledSegment;
  });
};
