/**
 * @file `PureSizes`: code of a pure artifact for other sizes than those of its capture.
 *
 * The captured function did not look at sizes, so its steps are the same for all. For sizes that were
 * not met before they are recorded again, on twins of the present inputs: the operators' own shape rules
 * give the metadata, and the rebuilt graph is compiled. Where that does not give the same steps (a list of
 * another length, another rank, an error), the artifact is not for these sizes.
 */
import { isTesseraError } from '@tessera/shared';
import { type Tensor } from '@tessera/tensor';
import { gradMode } from '@tessera/tensor/internal';
import type { SegmentInput } from '../backend.js';
import { rebuildStep } from '../cursor/rebuild-step.js';
import type { Recorder } from '../cursor/recorder.js';
import { Specializer } from '../cursor/specializer.js';
import type { ShapeBinding } from '../dynamic/shape-binding.js';
import type { SymbolTable } from '../dynamic/symbol-table.js';
import { DynamicTensorGuard } from '../guards/dynamic-tensor-guard.js';
import type { TensorGuard } from '../guards/tensor-guard.js';
import { Frame } from '../frame/frame.js';
import type { Segment } from '../trace/segment.js';
import type { TrieNode, OutSpec, Step } from '../trace/step.js';

/** What recording steps again needs from the function. */
export interface PureSource {
  readonly name: string;
  readonly table: SymbolTable;
  readonly sizeLimit: () => number;
  /** A recorder that records nothing for later calls. */
  newRecorder(frame: Frame): Recorder;
}

/** See the file header. */
export class PureSizes {
  private readonly unfit = new WeakSet<ShapeBinding>();
  private readonly steps: readonly Step[];

  private constructor(
    private readonly source: PureSource,
    private readonly template: Segment,
    private readonly guards: readonly (TensorGuard | DynamicTensorGuard | undefined)[],
    start: TrieNode,
  ) {
    this.steps = stepsFrom(start);
  }

  /** The sizes of a finished capture; null where none is symbolic. */
  static of(
    source: PureSource,
    template: Segment,
    guards: ReadonlyMap<number, TensorGuard | DynamicTensorGuard>,
    start: TrieNode,
  ): PureSizes | null {
    const perInput = template.inputs.map(({ slot }) => guards.get(slot));
    return perInput.some((guard) => guard instanceof DynamicTensorGuard)
      ? new PureSizes(source, template, perInput, start)
      : null;
  }

  /** The code for the sizes of these inputs; null if there is none. */
  segmentFor(inputs: readonly SegmentInput[]): Segment | null {
    const { source, template } = this;
    const frame = new Frame(source.table.bindings.root);
    for (let i = 0; i < inputs.length; i++) {
      const guard = this.guards[i];
      const tensor = inputs[i] as Tensor;
      frame.bind(template.inputs[i]!.slot, tensor);
      if (guard instanceof DynamicTensorGuard && !guard.check(tensor, frame)) return null;
    }
    if (this.unfit.has(frame.shapes)) return null;
    const specializer = new Specializer(
      frame,
      source.table,
      () => this.record(frame),
      source.sizeLimit,
      source.name,
    );
    try {
      return specializer.segmentFor(template);
    } catch (error) {
      // The function itself says what is wrong with these sizes.
      if (!(error instanceof OtherSteps) && !isTesseraError(error)) throw error;
      this.unfit.add(frame.shapes);
      return null;
    }
  }

  /** Records the steps for the inputs that `frame` has. @throws OtherSteps */
  private record(frame: Frame): Recorder {
    const recorder = this.source.newRecorder(frame);
    recorder.startGradMode = this.template.startGradMode;
    const saved = gradMode.enabled;
    gradMode.enabled = this.template.startGradMode;
    try {
      for (const step of this.steps) {
        const outs = rebuildStep(recorder, step);
        if (step.kind === 'op' && !sameResults(step.outs, outs)) throw new OtherSteps();
      }
    } finally {
      gradMode.enabled = saved;
    }
    return recorder;
  }
}

/** The steps would not be the same at these sizes. */
class OtherSteps extends Error {}

/** The steps of a capture, which has one path; those that make nothing of their own are entered. */
function stepsFrom(start: TrieNode): Step[] {
  const steps: Step[] = [];
  for (let step = start.steps[0]; step !== undefined && step.kind !== 'return';) {
    steps.push(step);
    step = step.next.steps[0];
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
