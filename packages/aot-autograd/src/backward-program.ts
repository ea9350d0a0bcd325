/**
 * @file `backwardProgram`: the backward half of a partition, compiled when a gradient arrives.
 *
 * If gradients arrive for some results only, as in eager only their part of the backward graph runs: a graph
 * of its own for each set of results that is seen.
 */
import type { GraphAtSizes, GraphModule } from '@tessera/graph';
import { type Pass, runPasses } from '@tessera/passes';
import { currentReport, reportTo } from '@tessera/shared';
import type { Storage, TensorMeta } from '@tessera/tensor';
import { type GraphCompiler, exampleInputs } from './graph-compiler.js';
import type { JointTrace } from './joint/trace-joint.js';
import { readsOfTangents, withoutTangents } from './partition/missing-tangents.js';
import type { GradientSource, Partition } from './partition/partition.js';
import type { ProgramSample } from './runtime/program-samples.js';
import type {
  BackwardProgram,
  BackwardVariant,
  WatchedValue,
} from './runtime/compiled-backward.js';

/** What the backward half of a program is made from. */
export interface BackwardRequest {
  readonly trace: JointTrace;
  readonly partition: Partition;
  /** Per gradient, the tangents that it comes from; null for all of them. */
  readonly tangentsOf: readonly (readonly number[] | null)[];
  readonly compiler: GraphCompiler;
  /** Run on the graph of a part. */
  readonly passes: readonly Pass[];
  readonly sample: ProgramSample | null;
}

/** The backward half of a program. */
export function backwardProgram(request: BackwardRequest): BackwardProgram {
  const { trace, partition, sample } = request;
  let reads: readonly ReadonlySet<number>[] | null = null;
  const sampled = sample?.of.backward.add(partition.backward, sample.sizes) ?? null;
  const program: BackwardProgram = {
    variant: variantsOf((arrived, key) => {
      const variant = makeVariant(request, arrived);
      if (sampled !== null) sample!.of.variants.set(key, variant);
      return variant;
    }),
    tangents: trace.tangents.map((node) => node.meta.val as TensorMeta),
    histories: trace.histories,
    watched: watchedValues(trace, partition),
    tangentsOf: request.tangentsOf,
    reaches: partition.gradients.map((gradient) => gradient !== null),
    readsOf: () => (reads ??= readsOfTangents(partition.backward, tangentInputs(partition))),
    forSizes: (sizes) => {
      const graph = sampled?.at(sizes) ?? null;
      return graph === null ? null : atSizes(request, sample!, program, graph, sizes);
    },
  };
  return program;
}

/** Makes a variant when it is asked for first. Its key says which gradients arrived. */
function variantsOf(
  make: (arrived: readonly boolean[], key: string) => BackwardVariant,
): BackwardProgram['variant'] {
  const made = new Map<string, BackwardVariant>();
  const report = currentReport();
  return (arrived) => {
    const key = arrived.map(Number).join('');
    let variant = made.get(key);
    if (variant === undefined)
      made.set(key, (variant = reportTo(report, () => make(arrived, key))));
    return variant;
  };
}

/** A program at other sizes, at which its graph is known: its code is too, or the graph is compiled when gradients arrive. */
function atSizes(
  request: BackwardRequest,
  { of: { variants }, compilerAt }: ProgramSample,
  program: BackwardProgram,
  graph: GraphAtSizes,
  sizes: readonly number[],
): BackwardProgram {
  const { partition } = request;
  return {
    ...program,
    variant: variantsOf((arrived, key) => {
      const like = variants.get(key);
      const { isFresh, forSizes } = like?.compiled ?? {};
      const code = forSizes?.(sizes, null) ?? null;
      if (code !== null) return { ...like!, compiled: Object.assign(code, { isFresh, forSizes }) };
      const whole = { ...partition, backward: graph.module() };
      const compiler = compilerAt(sizes);
      const variant = makeVariant({ ...request, partition: whole, compiler }, arrived);
      variants.set(key, variant);
      return variant;
    }),
    tangents: tangentInputs(partition).map((position) => graph.inputAt(position)),
  };
}

/** Saved inputs and results, which the caller has too, that eager autograd would not keep for every tangent. */
function watchedValues(trace: JointTrace, { saved }: Partition): WatchedValue[] {
  return saved.flatMap(({ kind, index: at }, index): WatchedValue[] => {
    const storage = kind === 'input' ? inputStorage(trace, at) : trace.storages[at];
    if (kind === 'generator' || storage === undefined) return [];
    const keeps = trace.histories.map((history) => history.storages.has(storage));
    const keptFor = new Set([...keeps.keys()].filter((tangent) => keeps[tangent]));
    return keptFor.size === keeps.length ? [] : [{ index, keptFor }];
  });
}

/** Memory of a graph input; undefined for scalars, and for bases, which are saved as copies. */
function inputStorage({ primals }: JointTrace, index: number): Storage | undefined {
  const primal = primals.list[index];
  return primal?.kind === 'tensor' ? primal.value.storage : undefined;
}

/** Positions of the tangents among the inputs of the backward graph: they come last. */
function tangentInputs({ backward, saved }: Partition): number[] {
  return [...backward.graph.placeholders.keys()].slice(saved.length);
}

function makeVariant(request: BackwardRequest, arrived: readonly boolean[]): BackwardVariant {
  const { partition, compiler } = request;
  const gradients = request.tangentsOf.map((tangents, i) =>
    tangents?.every((tangent) => !arrived[tangent]) === true ? null : partition.gradients[i]!,
  );
  const { module, inputs, sources } = arrived.every(Boolean)
    ? { module: partition.backward, inputs: null, sources: gradients }
    : part(request, arrived, gradients);
  const { placeholders } = module.graph;
  const given = inputs ?? [...placeholders.keys()];
  const read = given.filter((_, i) => placeholders[i]!.users.size > 0);
  const handed = sources.flatMap((source) => (source?.kind === 'input' ? [source.index] : []));
  return {
    compiled: compiler(module, exampleInputs(module)),
    inputs: given,
    reads: [...new Set([...read, ...handed])].filter((i) => i < partition.saved.length),
    gradients: sources,
  };
}

function part(
  { partition, passes }: BackwardRequest,
  arrived: readonly boolean[],
  gradients: readonly (GradientSource | null)[],
): { module: GraphModule; inputs: readonly number[]; sources: readonly (GradientSource | null)[] } {
  const tangents = tangentInputs(partition);
  const missing = new Set(tangents.filter((_, i) => !arrived[i]));
  const {
    module,
    inputs,
    gradients: sources,
  } = withoutTangents(partition.backward, gradients, tangents, missing);
  runPasses(module, passes);
  return { module, inputs, sources };
}
