/**
 * @file `PureArtifact`: compiled code that stands for a whole call.
 *
 * A call of a `pure` function is traced like any other, recorded or matched; what it did is then remembered under
 * the guards that its arguments and captures satisfied. When they hold again, inputs are read by their sources, the
 * compiled segment runs, and the result is rebuilt; the function's JavaScript does not run. Other sizes or constants
 * are another artifact: making it costs one replay of the trace that they share.
 */
import { type TreeSpec, treeFlatten, treeUnflatten } from '@tessera/shared';
import { follow } from '@tessera/graph';
import { type Tensor, isTensor } from '@tessera/tensor';
import { type Resume, autogradMeta, modes } from '@tessera/tensor/internal';
import type { SegmentInput } from '../backend.js';
import { traceConfig } from '../config.js';
import type { Recording } from '../compiled-function.js';
import type { EntryGuards } from '../guards/entry-guards.js';
import type { Place } from '../guards/guard.js';
import type { Segment } from '../trace/segment.js';
import type { PureCursor } from './pure-cursor.js';
import { refuseObjects, sideEffect } from './side-effect.js';

/** No artifact is for these arguments. */
export const MISSED: unique symbol = Symbol('missed');

/** The artifact is for these arguments, but it is time to see whether it still does what the function does. */
export const UNCHECKED: unique symbol = Symbol('unchecked');

/** A value of the trace, a tensor that an argument or capture holds, or what is the same in all calls. */
type ResultPart =
  { readonly slot: number } | { readonly place: Place } | { readonly value: unknown };

/** Where an input comes from on a skipped call: its number among what the guards find, or what it always is. */
type InputReader = { readonly at: number } | { readonly held: SegmentInput };

/** See the file header. */
export class PureArtifact {
  /** Calls skipped since the last check. */
  private skipped = 0;

  private constructor(
    readonly guards: EntryGuards,
    readonly segment: Segment,
    /** Where the steps of its trace begin. */
    private readonly readers: readonly InputReader[],
    private readonly leaves: readonly ResultPart[],
    private readonly spec: TreeSpec,
    /** Gradients that inputs are given: number of the input, slot of the gradient. */
    private readonly grads: readonly { readonly input: number; readonly slot: number }[],
    /** Whether its code assumes where in shared memory inputs begin. */
    private readonly offsets: boolean,
  ) {}

  /** Remembers a finished call. @throws pure-side-effect */
  static make(cursor: PureCursor, call: Recording, result: unknown): PureArtifact {
    const { frame } = cursor;
    const template = frame.segment!;
    const segment = frame.shapes.codes?.get(template)?.segment ?? template;
    if (givesNumbers(cursor))
      throw sideEffect(
        'A pure function may not run an optimizer step: its numbers change on every call.',
        ['Compile the training step without pure.'],
      );
    if (segment.produced.size === 0 && call.roots.length === 0)
      throw sideEffect('A pure function without arguments and tensor ops has nothing to compile.', [
        'Compile it without pure.',
      ]);
    call.guards.seal([]);
    const { leaves, spec } = treeFlatten(result);
    refuseObjects(leaves);
    const known = new Set([...segment.outputs, ...segment.inputs.map(({ slot }) => slot)]);
    const grads = segment.inputs.flatMap(({ slot }, input) => {
      const grad = slot < 0 ? null : frame.slots[slot]!.autograd?.grad;
      const made = grad == null ? -1 : frame.slotOf(grad);
      return segment.outputs.includes(made) ? [{ input, slot: made }] : [];
    });
    return new PureArtifact(
      call.guards,
      segment,
      segment.inputs.map((input) => readerOf(cursor, call, input)),
      leaves.map((value): ResultPart => {
        if (!isTensor(value)) return { value };
        const slot = frame.slotOf(value);
        if (slot >= 0 && known.has(slot)) return { slot };
        const place = call.sources.locate(value);
        return place === null ? { value } : { place };
      }),
      spec,
      grads,
      segment !== template || frame.shapes.parent === null,
    );
  }

  /** How what a call did, which this one is for too, differs from this one: a closure shows there that no guard sees. */
  difference({ readers, leaves }: PureArtifact): string | null {
    for (const [i, was] of this.readers.entries()) {
      const now = readers[i]!;
      if (!('held' in was) || ('held' in now && Object.is(now.held, was.held))) continue;
      return typeof was.held === 'number'
        ? `the number ${was.held} is ${'held' in now ? String(now.held) : 'a tensor'}`
        : `another tensor of shape [${was.held.shape.join()}] was read from the closure`;
    }
    if (leaves.length !== this.leaves.length)
      return `the result has ${leaves.length} parts, not ${this.leaves.length}`;
    const i = leaves.findIndex((leaf, at) => !samePart(this.leaves[at]!, leaf));
    if (i < 0) return null;
    const value = 'value' in leaves[i]! ? leaves[i].value : null;
    return `part ${i} of the result is ${value === null || isTensor(value) ? 'another tensor' : String(value)}`;
  }

  /** Runs the artifact if it is for these arguments; `MISSED` if not, `UNCHECKED` every now and then. */
  tryRun(roots: readonly unknown[]): unknown {
    const found = this.guards.check(roots);
    if (found === null) return MISSED;
    const { readers, leaves, segment } = this;
    const inputs = new Array<SegmentInput>(readers.length);
    for (let i = 0; i < readers.length; i++) {
      const reader = readers[i]!;
      inputs[i] = 'held' in reader ? reader.held : found[reader.at]!;
    }
    if (!segment.shares(inputs, this.offsets)) return MISSED;
    if (traceConfig.verify > 0 && ++this.skipped >= traceConfig.verify) {
      this.skipped = 0;
      return UNCHECKED;
    }
    if (modes.suspended !== null) announceInputs(segment, inputs, modes.suspended);
    const outs = segment.call(inputs);
    for (const { input, slot } of this.grads)
      autogradMeta(inputs[input] as Tensor).grad = outs[segment.outputs.indexOf(slot)]!;
    return treeUnflatten(
      leaves.map((leaf) => {
        if ('value' in leaf) return leaf.value;
        if ('place' in leaf) return follow(roots[leaf.place.root], leaf.place.source.steps);
        const at = segment.outputs.indexOf(leaf.slot);
        return at < 0
          ? inputs[segment.inputs.findIndex(({ slot }) => slot === leaf.slot)]
          : outs[at];
      }),
      this.spec,
    );
  }
}

/** Whether a part of a result is what it was; an argument that no op reads is guarded where it is found. */
function samePart(was: ResultPart, now: ResultPart): boolean {
  if ('value' in was) return 'value' in now && Object.is(now.value, was.value);
  if ('place' in was) return !('value' in now) || isTensor(now.value);
  return 'slot' in now && now.slot === was.slot;
}

/** How a skipped call finds an input. */
function readerOf(
  { frame }: PureCursor,
  { guards, sources }: Recording,
  { slot, scalar }: Segment['inputs'][number],
): InputReader {
  const held = slot < 0 ? frame.scalars[scalar]! : frame.slots[slot]!;
  const at = typeof held === 'number' ? null : sources.locate(held);
  // A number of arguments is guarded. What no argument or capture holds belongs to the closure: pure promises it stays.
  return at === null ? { held } : { at: guards.ask(at) };
}

/** Whether a region was given numbers: those of an optimizer. */
function givesNumbers({ path }: PureCursor): boolean {
  return path
    .flat()
    .some((step) => step.kind === 'region' && step.inputs.some(({ code }) => code === 4));
}

/** Suspended calls first do what they recorded on the memory of the inputs. */
function announceInputs(
  { mutated }: Segment,
  inputs: readonly SegmentInput[],
  suspended: Resume,
): void {
  inputs.forEach((input, i) => {
    if (isTensor(input)) suspended.onAccess(input.storage, mutated.includes(i));
  });
}
