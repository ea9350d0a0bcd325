/**
 * @file Programs whose generated kernels are compared between revisions: the benchmark's workloads at their own
 * sizes, the recorded models forward, backward and in a training step, and the programs of the backend suite.
 */
import { compile } from '@tessera/compile';
import { treeLeaves } from '@tessera/shared';
import { type Tensor, fromTypedArray, isTensor, manualSeed } from '@tessera/tensor';
import {
  BACKEND_CONFORMANCE_CASES,
  type ModelFile,
  recordedModels,
  runRecordedModel,
} from '@tessera/testkit';
import { WORKLOADS } from '../workloads/index.js';

/** A program that compiles something when it runs. */
export interface KernelSubject {
  /** `group/name`, without spaces. */
  readonly name: string;
  readonly run: () => void;
}

const bench: readonly KernelSubject[] = WORKLOADS.map((workload) => ({
  name: `bench/${workload.name}`,
  run() {
    const instance = workload.make({ device: 'cpu', quick: false, variant: 0 });
    const inputs = instance.inputs.map(({ dtype, data, shape }) =>
      fromTypedArray(data, shape, { dtype }),
    );
    const { fn, args } = instance.programs.tessera(inputs);
    compile(fn, { backend: 'inductor', ...instance.compileOptions })(...args);
  },
}));

const conformance: readonly KernelSubject[] = BACKEND_CONFORMANCE_CASES.map((test) => ({
  name: `conformance/${test.name.replaceAll(/[^\w-]+/g, '-')}`,
  run() {
    manualSeed(100);
    const results = compile(test.run, { fullgraph: true })(...test.inputs(0));
    const losses: Tensor[] = treeLeaves(results).filter(isTensor);
    for (const loss of losses.filter((value) => value.requiresGrad))
      loss.sum().backward(undefined, { retainGraph: true });
  },
}));

/** All subjects whose name contains one of `filters` (any, if there are none), in order. Models need a file of weights. */
export function kernelSubjects(
  filters: readonly string[],
  models: ModelFile | null,
): KernelSubject[] {
  const recorded = (models === null ? [] : recordedModels).map((model) => ({
    name: `models/${model.name}`,
    run: () => void runRecordedModel(model, models!, 'inductor'),
  }));
  return [...bench, ...recorded, ...conformance].filter(
    ({ name }) => filters.length === 0 || filters.some((filter) => name.includes(filter)),
  );
}
