/**
 * @file What the results of a program are: values that the compiled graph computes, inputs, or views.
 *
 * The compiled graph returns only values with memory of their own. A result that is an input, or a
 * view of an input, or shares memory with another result, is made again at run time, with autograd.
 */
import type { Node, TraceRecorder } from '@tessera/graph';
import { SymScalar, TesseraError } from '@tessera/shared';
import { type Storage, type Tensor, isTensor } from '@tessera/tensor';
import {
  FunctionNode,
  type MadeAs,
  gradFnOf,
  requiresGrad,
  wasWrittenSince,
} from '@tessera/tensor/internal';
import { isDense } from '../layout.js';
import { type PrimalTensor, type Primals, hasNewLayout } from './primals.js';
import { type ViewStep, stridedStep, viewOrigin } from './view-steps.js';

/** How a result is made at run time. */
export type OutputPlan =
  /** Value `index` of the compiled graph. */
  | { readonly kind: 'value'; readonly index: number }
  /** A view of value `index`. */
  | ({ readonly kind: 'value-view'; readonly index: number } & ViewPlan)
  /** The input at `position` itself. */
  | { readonly kind: 'input'; readonly position: number }
  /** A view of the input at `position`. */
  | ({ readonly kind: 'input-view'; readonly position: number } & ViewPlan)
  /** A view without history, `of`, that has the history of value `index`: a custom function made it. */
  | { readonly kind: 'custom-view'; readonly index: number; readonly of: AliasPlan }
  /** Something that is no tensor, or a tensor that is a constant of the program. */
  | { readonly kind: 'constant'; readonly value: unknown };

/** How a view is made of what it is a view of, once that is what the program leaves. */
export interface ViewPlan {
  readonly steps: readonly ViewStep[];
  /** Whether it has a history of its own. */
  readonly differentiable: boolean;
  /** Whether the program wrote to its memory after it was made. */
  readonly writtenSince: boolean;
  readonly madeAs: MadeAs;
}

/** A result that shares memory with an input or a value. */
export type AliasPlan = Extract<OutputPlan, { kind: 'value-view' | 'input-view' }>;

/** Plans of all results, and the tensors that the compiled graph must compute for them. */
export interface OutputPlans {
  readonly plans: readonly OutputPlan[];
  readonly values: readonly Tensor[];
}

/** Plans the results of a program. */
export function planOutputs(
  outputs: readonly unknown[],
  primals: Primals,
  recorder: TraceRecorder,
): OutputPlans {
  return new OutputPlanner(primals, recorder).plan(outputs);
}

class OutputPlanner {
  private readonly values: Tensor[] = [];
  private readonly indexOf = new Map<Tensor, number>();
  private readonly inputs = new Map<Storage, PrimalTensor[]>();
  private readonly byScalar = new Map<SymScalar, number>();

  constructor(
    primals: Primals,
    private readonly recorder: TraceRecorder,
  ) {
    for (const primal of primals.list) {
      if (primal.kind === 'scalar') {
        this.byScalar.set(primal.value, primal.position);
        continue;
      }
      const sharing = this.inputs.get(primal.value.storage) ?? [];
      sharing.push(primal);
      this.inputs.set(primal.value.storage, sharing);
    }
  }

  plan(outputs: readonly unknown[]): OutputPlans {
    const crowded = crowdedStorages(outputs);
    const plans = outputs.map((output) => this.planOne(output, crowded));
    return { plans, values: this.values };
  }

  private planOne(output: unknown, crowded: ReadonlySet<Storage>): OutputPlan {
    if (output instanceof SymScalar && this.byScalar.has(output)) {
      return { kind: 'input', position: this.byScalar.get(output)! };
    }
    if (!isTensor(output) || !output.isFake) return { kind: 'constant', value: output };
    rejectLeaf(output);
    const sharing = this.inputs.get(output.storage);
    if (sharing !== undefined) return this.planInputAlias(output, sharing);
    if (!crowded.has(output.storage) && isDense(output.sizes, output.strides))
      return { kind: 'value', index: this.value(output) };
    const base = this.recorder.ownerOf(output.storage) ?? output;
    const index = this.value(base);
    if (base === output) return { kind: 'value', index };
    const { steps } = viewOrigin(this.nodeOf(output), this.nodeOf(base));
    return this.alias(output, { kind: 'value-view', index, ...viewPlan(output, steps) });
  }

  private planInputAlias(output: Tensor, sharing: readonly PrimalTensor[]): OutputPlan {
    const itself = sharing.find((input) => input.value === output);
    if (itself !== undefined) return { kind: 'input', position: itself.position };
    const { root, steps } = viewOrigin(this.nodeOf(output));
    const source = sharing.find((input) => input.node === root) ?? sharing[0]!;
    // The steps start at the input as it was; it may lie otherwise when they are replayed.
    const isReplayable = source.node === root && !hasNewLayout(source);
    return this.alias(output, {
      kind: 'input-view',
      position: source.position,
      ...viewPlan(output, isReplayable ? steps : [stridedStep(output, source.value)]),
    });
  }

  /** The plan of an alias with the history that it has. */
  private alias(output: Tensor, of: AliasPlan): OutputPlan {
    if (gradFnOf(output) instanceof FunctionNode)
      return { kind: 'custom-view', index: this.value(output), of };
    rejectDetachedHistory(output, of.steps);
    return of;
  }

  private value(tensor: Tensor): number {
    let index = this.indexOf.get(tensor);
    if (index === undefined) {
      index = this.values.length;
      this.values.push(tensor);
      this.indexOf.set(tensor, index);
    }
    return index;
  }

  private nodeOf(tensor: Tensor): Node {
    return this.recorder.argument(tensor);
  }
}

/** Read before anybody asks for the history of `output`, which a view gets anew when its base was written to. */
function viewPlan(output: Tensor, steps: readonly ViewStep[]): ViewPlan {
  return {
    steps,
    differentiable: output.requiresGradFlag,
    writtenSince: wasWrittenSince(output),
    madeAs: output.madeAs,
  };
}

/** Storages that several different results share. */
function crowdedStorages(outputs: readonly unknown[]): Set<Storage> {
  const first = new Map<Storage, unknown>();
  const crowded = new Set<Storage>();
  for (const output of outputs) {
    if (!isTensor(output)) continue;
    const other = first.get(output.storage);
    if (other === undefined) first.set(output.storage, output);
    else if (other !== output) crowded.add(output.storage);
  }
  return crowded;
}

/** A leaf that the program made: gradients of other results may have to arrive there, and compiled code does not bring them. */
function rejectLeaf(output: Tensor): void {
  if (!output.requiresGradFlag || output.autograd?.gradFn != null) return;
  throw new TesseraError(
    'aot-unsupported',
    `A result of shape [${output.sizes.join(', ')}] is a leaf that requires grad and was made inside.`,
    { hints: ['Return detach() of it, or make it outside of the function.'] },
  );
}

/** A detached alias that gradients flow into: it shares memory with a value of other history. */
function rejectDetachedHistory(output: Tensor, steps: readonly ViewStep[]): void {
  if (!requiresGrad(output) || !steps.some((step) => step.op.hasTag('non-differentiable'))) return;
  throw new TesseraError(
    'aot-unsupported',
    `A result of shape [${output.sizes.join(', ')}] is a detached alias of another tensor, but was modified in place with values that require grad.`,
    { hints: ['clone() the detached tensor before modifying it.'] },
  );
}
