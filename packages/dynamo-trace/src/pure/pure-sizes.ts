/**
 * @file `PureSizes`: code of a pure artifact for other sizes than those of its capture.
 *
 * The captured function did not look at sizes, so its steps are the same for all. For sizes that were
 * not met before they are recorded again, on twins of the present inputs: the operators' own shape rules
 * give the metadata, and the rebuilt graph is compiled. Where that does not give the same steps (a list of
 * another length, another rank, an error), the artifact is not for these sizes.
 */
import { isTesseraError } from '@tessera/shared';
import { type Tensor, gradMode } from '@tessera/tensor';
import type { SegmentInput } from '../backend.js';
import { adoptStep } from '../capture/adopt-step.js';
import type { Capture } from '../capture/capture.js';
import type { SizeTuple } from '../dynamic/size-tuple.js';
import type { SymbolTable } from '../dynamic/symbol-table.js';
import { DynamicTensorGuard } from '../guards/dynamic-tensor-guard.js';
import type { TensorGuard } from '../guards/tensor-guard.js';
import { Specializer } from '../replay/specializer.js';
import { Run } from '../trace/run.js';
import type { Segment } from '../trace/segment.js';
import type { Branch, OutSpec, Step } from '../trace/step.js';

/** What recording steps again needs from the function. */
export interface PureSource {
  readonly name: string;
  readonly table: SymbolTable;
  readonly sizeLimit: () => number;
  /** A capture that records nothing for later calls. */
  newCapture(run: Run): Capture;
}

/** See the file header. */
export class PureSizes {
  private readonly unfit = new WeakSet<SizeTuple>();
  private readonly steps: readonly Step[];

  private constructor(
    private readonly source: PureSource,
    private readonly template: Segment,
    private readonly guards: readonly (TensorGuard | DynamicTensorGuard | undefined)[],
    start: Branch,
  ) {
    this.steps = stepsFrom(start);
  }

  /** The sizes of a finished capture; null where none is symbolic. */
  static of(
    source: PureSource,
    template: Segment,
    guards: ReadonlyMap<number, TensorGuard | DynamicTensorGuard>,
    start: Branch,
  ): PureSizes | null {
    const perInput = template.inputs.map(({ slot }) => guards.get(slot));
    return perInput.some((guard) => guard instanceof DynamicTensorGuard)
      ? new PureSizes(source, template, perInput, start)
      : null;
  }

  /** The code for the sizes of these inputs; null if there is none. */
  segmentFor(inputs: readonly SegmentInput[]): Segment | null {
    const { source, template } = this;
    const run = new Run(source.table.tuples.root);
    for (let i = 0; i < inputs.length; i++) {
      const guard = this.guards[i];
      const tensor = inputs[i] as Tensor;
      run.slots[template.inputs[i]!.slot] = tensor;
      if (guard instanceof DynamicTensorGuard && !guard.check(tensor, run)) return null;
    }
    if (this.unfit.has(run.tuple)) return null;
    const specializer = new Specializer(
      run,
      source.table,
      () => this.record(run),
      source.sizeLimit,
      source.name,
    );
    try {
      return specializer.segmentFor(template);
    } catch (error) {
      // The function itself says what is wrong with these sizes.
      if (!(error instanceof OtherSteps) && !isTesseraError(error)) throw error;
      this.unfit.add(run.tuple);
      return null;
    }
  }

  /** Records the steps for the inputs that `run` has. @throws OtherSteps */
  private record(run: Run): Capture {
    run.claim();
    const capture = this.source.newCapture(run);
    capture.segmentStartGradMode = this.template.startGradMode;
    const saved = gradMode.enabled;
    gradMode.enabled = this.template.startGradMode;
    try {
      for (const step of this.steps) {
        adoptStep(capture, step);
        if (step.kind === 'op' && !sameResults(step.outs, capture.lastOuts)) throw new OtherSteps();
      }
    } finally {
      gradMode.enabled = saved;
    }
    return capture;
  }
}

/** The steps would not be the same at these sizes. */
class OtherSteps extends Error {}

/** The steps of a capture, which has one path; those that make nothing of their own are entered. */
function stepsFrom(start: Branch): Step[] {
  const steps: Step[] = [];
  for (let step = start.steps[0]; step !== undefined && step.kind !== 'return';) {
    steps.push(step);
    step = (step.kind === 'backward' ? step.exit : step.next).steps[0];
  }
  return steps;
}

/** Whether an op gave as many results, of the same kind and rank. */
function sameResults(
  before: readonly (OutSpec | null)[],
  now: readonly (OutSpec | null)[],
): boolean {
  return (
    before.length === now.length &&
    before.every((spec, i) => {
      const other = now[i]!;
      if (spec === null || other === null) return spec === other;
      return (
        spec.slot === other.slot &&
        spec.same === other.same &&
        spec.dtype === other.dtype &&
        spec.sizes.length === other.sizes.length &&
        spec.requiresGrad === other.requiresGrad
      );
    })
  );
}
