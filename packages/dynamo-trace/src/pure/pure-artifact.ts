/**
 * @file `PureArtifact`: compiled code that stands for a whole call.
 *
 * When its guards hold, inputs are read from arguments and captures by their sources, the compiled
 * segment runs, and the result is rebuilt; the function's JavaScript does not run. With symbolic sizes it
 * runs the code for the present ones (pure-sizes.ts).
 */
import type { ExportedLeaf } from '@tessera/graph';
import { TesseraError, treeFlatten, treeUnflatten } from '@tessera/shared';
import { type Tensor, isTensor } from '@tessera/tensor';
import { type Resume, autogradMeta, modes } from '@tessera/tensor/internal';
import type { SegmentInput } from '../backend.js';
import { traceConfig } from '../config.js';
import type { EntryGuards, Root } from '../guards/entry-guards.js';
import { compileFetch } from '../guards/guard-code.js';
import type { Segment } from '../trace/segment.js';
import type { TrieNode } from '../trace/step.js';
import type { PureCursor } from './pure-cursor.js';
import type { PureSizes } from './pure-sizes.js';

/** No artifact is for these arguments. */
export const MISSED: unique symbol = Symbol('missed');

/** The artifact is for these arguments, but it is time to see whether it still does what the function does. */
export const UNCHECKED: unique symbol = Symbol('unchecked');

/** Where an input comes from on a skipped call. */
type InputReader = (roots: readonly unknown[]) => SegmentInput;

/** See the file header. */
export class PureArtifact {
  /** Calls skipped since the last check. */
  private skipped = 0;

  private constructor(
    readonly guards: EntryGuards,
    readonly segment: Segment,
    /** Where the steps of its trace begin. */
    readonly start: TrieNode,
    private readonly readers: readonly InputReader[],
    /** An input that no operator reads is argument or capture number `-1 - input`. */
    readonly leaves: readonly ExportedLeaf[],
    private readonly rebuild: (leaves: unknown[]) => unknown,
    private readonly grads: readonly { readonly input: number; readonly output: number }[],
    private readonly sizes: PureSizes | null,
  ) {}

  /** Builds the artifact of a finished capture. @throws pure-side-effect */
  static make(
    cursor: PureCursor,
    segment: Segment,
    guards: EntryGuards,
    result: unknown,
    roots: readonly Root[],
    sizes: PureSizes | null,
  ): PureArtifact {
    const { frame } = cursor;
    const { sources } = cursor.recorder!.options;
    if (segment.inputs.some(({ slot }) => slot < 0)) {
      throw new TesseraError(
        'pure-side-effect',
        'A pure function may not run an optimizer step: its numbers change on every call.',
        { hints: ['Compile the training step without pure.'] },
      );
    }
    const readers = segment.inputs.map(({ slot }): InputReader => {
      const tensor = frame.slots[slot]!;
      const at = sources.locate(tensor);
      // A tensor that no argument or capture holds belongs to the closure: pure promises it stays.
      if (at === null) return Object.assign(() => tensor, { tensor });
      const read = compileFetch([at.source.steps]);
      const { root } = at;
      return at.source.steps.length === 0
        ? (values) => values[root] as Tensor
        : (values) => read(values[root])[0] as Tensor;
    });
    const outputOf = new Map(segment.outputs.map((slot, i) => [slot, i]));
    const inputOf = new Map(segment.inputs.map(({ slot }, i) => [slot, i]));
    const { leaves, spec } = treeFlatten(result);
    const plan = leaves.map((leaf): ExportedLeaf => {
      if (!isTensor(leaf)) return { value: leaf };
      const slot = frame.slotOf(leaf);
      if (outputOf.has(slot)) return { output: outputOf.get(slot)! };
      if (inputOf.has(slot)) return { input: inputOf.get(slot)! };
      const root = roots.findIndex((candidate) => candidate.value === leaf);
      if (root >= 0) return { input: -1 - root };
      return { value: leaf };
    });
    const grads: { input: number; output: number }[] = [];
    segment.inputs.forEach(({ slot }, input) => {
      const grad = slot < 0 ? null : frame.slots[slot]!.autograd?.grad;
      const output = grad == null ? undefined : outputOf.get(frame.slotOf(grad));
      if (output !== undefined) grads.push({ input, output });
    });
    if (segment.produced.size === 0 && roots.length === 0) {
      throw new TesseraError(
        'pure-side-effect',
        'A pure function without arguments and tensor ops has nothing to compile.',
        { hints: ['Compile it without pure.'] },
      );
    }
    return new PureArtifact(
      guards,
      segment,
      cursor.start,
      readers,
      plan,
      (values) => treeUnflatten(values, spec),
      grads,
      sizes,
    );
  }

  /** The tensor that the closure holds and input `i` is; undefined for one found through a source. */
  closureTensor(i: number): Tensor | undefined {
    const reader = this.readers[i]!;
    return 'tensor' in reader ? (reader.tensor as Tensor) : undefined;
  }

  /** Runs the artifact if it is for these arguments; `MISSED` if not, `UNCHECKED` every now and then. */
  tryRun(roots: readonly unknown[]): unknown {
    if (!this.guards.check(roots)) return MISSED;
    if (traceConfig.verify > 0 && ++this.skipped >= traceConfig.verify) {
      this.skipped = 0;
      return UNCHECKED;
    }
    const { readers, leaves } = this;
    const inputs = new Array<SegmentInput>(readers.length);
    for (let i = 0; i < readers.length; i++) inputs[i] = readers[i]!(roots);
    const segment = this.sizes === null ? this.segment : this.sizes.segmentFor(inputs);
    if (segment === null) return MISSED;
    if (modes.suspended !== null) announceInputs(segment, inputs, modes.suspended);
    const outs = segment.call(inputs);
    for (const { input, output } of this.grads)
      autogradMeta(inputs[input] as Tensor).grad = outs[output]!;
    // One tensor is the common result.
    if (leaves.length === 1 && 'output' in leaves[0]!)
      return this.rebuild([outs[leaves[0].output]]);
    return this.rebuild(
      leaves.map((leaf) =>
        'output' in leaf
          ? outs[leaf.output]
          : 'input' in leaf
            ? leaf.input >= 0
              ? inputs[leaf.input]
              : roots[-1 - leaf.input]
            : leaf.value,
      ),
    );
  }
}

/** Suspended calls first do what they recorded on the memory of the inputs. */
function announceInputs(
  { inputs: refs, mutated }: Segment,
  inputs: readonly SegmentInput[],
  suspended: Resume,
): void {
  inputs.forEach((input, i) => {
    if (isTensor(input)) suspended.onAccess(input.storage, mutated.includes(refs[i]!.slot));
  });
}
