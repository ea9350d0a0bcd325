/**
 * @file `useBoundedKeys`: attention over the part of a static cache that is written, on the CPU.
 *
 * A graph whose masks bound keys by an input is compiled for all counts of keys (bounded-keys.ts), and each call reads the
 * input to choose one. All keys are always right, so a count for which the code's conditions do not hold is no error.
 */
import { useAttentionFusion } from '@tessera/passes';
import { type Steps, compareNumbers, isTesseraError, log, stage } from '@tessera/shared';
import type { Tensor } from '@tessera/tensor';
import { readNumbers, sameNumbers } from '@tessera/tensor/internal';
import type { Executable, KernelSource, TemplateExecutable } from '../backend/kernel-backend.js';
import { type CompiledTemplate, templateSteps } from '../compile-graph.js';
import {
  type GraphForm,
  compiledGraph,
  logPlan,
  registerGraphForm,
  routeOf,
} from '../compile-to-executable.js';
import type { ExecutionPlan } from '../plan/execution-plan.js';
import { showPlan } from '../plan/observe-plans.js';
import { type BoundedGraph, type CountedBlocks, boundKeys } from './bounded-keys.js';

/** A bounded graph with its code; null where the code is not for all counts. */
function* compiled(
  { module, sizes }: BoundedGraph,
  ...[, backend, { name = 'graph' }]: Parameters<GraphForm>
): Steps<CompiledTemplate | null> {
  try {
    const made = yield* templateSteps(module, { backend, name }, sizes);
    return sizes.symbols.every((symbol) => typeof sizes.env.simplify(symbol) === 'number')
      ? null
      : made;
  } catch (error) {
    if (!isTesseraError(error)) throw error;
    log('dynamic', () => `${name} reads all keys: ${error.message}`);
    return null;
  }
}

const bounded: GraphForm = function* (module, backend, options) {
  const graph = backend.device === 'cpu' ? boundKeys(module) : null;
  if (graph === null || backend.loadTemplate === undefined) return null;
  const made = yield* compiled(graph, module, backend, options);
  if (made === null) return null;
  const { template, ...rest } = made;
  const code = stage('generate and load code', () => backend.loadTemplate!(template));
  const route = routeOf(graph.module);
  const executable = new BoundedExecutable(code, graph, route.tensors);
  const { plan } = executable;
  showPlan(plan, backend);
  logPlan(plan);
  return compiledGraph(route, backend, executable, { ...rest, outline: plan, isShared: false });
};

/** Runs the code for as many keys as the inputs say. */
class BoundedExecutable implements Executable {
  /** For all keys. */
  private readonly all: Executable;
  /** The counts at a call. */
  private readonly counted: (inputs: readonly Tensor[]) => readonly number[];
  /** For counts; null for those at which conditions of the code do not hold. */
  private readonly of: (counts: readonly number[]) => Executable | null;
  /** The last ones, which many calls have. */
  private last: readonly number[] = [];
  private code: Executable | null = null;

  /** @param tensors placeholders of the tensors that it is run with */
  constructor(
    private readonly template: TemplateExecutable,
    { sizes: { env, program }, counts }: BoundedGraph,
    tensors: readonly number[],
  ) {
    const places = counts.map(({ input }) => tensors.indexOf(input));
    this.counted = (inputs) => counts.map((count, i) => blocksUpTo(inputs[places[i]!]!, count));
    const guards = env.guards.map(({ base, ...guard }) => ({ ...guard, slot: program.slot(base) }));
    this.all = template.at(program.run(counts.map(({ most }) => most)));
    this.of = (counts) => {
      const computed = program.run(counts);
      return guards.every(({ slot, op, bound }) => compareNumbers(computed[slot]!, op, bound))
        ? template.at(computed)
        : null;
    };
  }

  /** For all keys. */
  get plan(): ExecutionPlan {
    return this.all.plan;
  }

  get sources(): readonly KernelSource[] {
    return this.all.sources;
  }

  run(inputs: readonly Tensor[], outputs: readonly Tensor[], scalars: readonly number[]): void {
    const counts = this.counted(inputs);
    if (!sameNumbers(counts, this.last)) {
      this.last = counts;
      this.code = this.of(counts);
    }
    (this.code ?? this.all).run(inputs, outputs, scalars);
  }

  dispose(): void {
    this.template.dispose();
  }
}

function blocksUpTo(places: Tensor, { plus, block, most }: CountedBlocks): number {
  const last = readNumbers(places).reduce((a, b) => Math.max(a, b), -Infinity) + plus;
  return Math.min(Math.max(1, Math.ceil((last + 1) / block)), most);
}

/**
 * Has attention on the CPU stop at the last key that masks leave, where an input of the graph says which that is: a
 * token then costs what is in a static cache, not what the cache has room for. Node does it from the start; in pages
 * `@tessera/transformers` does, and programs without it call this before they compile.
 */
export function useBoundedKeys(): void {
  useAttentionFusion();
  registerGraphForm(bounded);
}
