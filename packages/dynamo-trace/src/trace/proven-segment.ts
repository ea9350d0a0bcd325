/**
 * @file `ProvenSegment`: the code of a segment for sizes that no graph was made for.
 *
 * Its backend knows that the graph for these sizes would be compiled to code that it has. The graph is that of other
 * sizes, so it says which slots are read, made and written; what needs its numbers records it first (`own`).
 */
import type { Tensor } from '@tessera/tensor';
import type { CompiledSegment, SegmentInput } from '../backend.js';
import type { Frame } from '../frame/frame.js';
import { inputMetaOf, isStill } from './input-meta.js';
import { Lost } from './lost.js';
import { Segment, type SegmentInputRef } from './segment.js';

/** Gives the segment of some sizes, recorded later. */
export type RecordLater = () => Segment;

/** See the file header. */
export class ProvenSegment extends Segment {
  private recorded: Segment | null = null;

  private constructor(
    private readonly like: Segment,
    original: Segment,
    code: CompiledSegment,
    private readonly frame: Frame,
    private readonly recordLater: RecordLater,
  ) {
    super(
      like.graph,
      like.inputs.map(({ slot, scalar }): SegmentInputRef =>
        slot < 0
          ? { slot: -1, scalar }
          : { slot, scalar: -1, meta: inputMetaOf(frame.slots[slot]!) },
      ),
      like.produced,
      like.mutated,
      like.hasRandom,
      like.startGradMode,
      like.backend,
      like.sharing,
      like.visible,
      like.writers,
    );
    this.template = original;
    this.sealed = true;
    this.addOutputs(original.outputs);
    this.compiled = code;
  }

  /**
   * The code of a segment for the sizes of a call, which recorded nothing yet; null if none is known.
   *
   * @param cases those in which its steps are
   * @param point the sizes of the call (`Segment.point`)
   * @param recordLater makes what records the matched steps when their graph is needed
   */
  static for(
    original: Segment,
    frame: Frame,
    cases: string | null,
    point: readonly number[],
    recordLater: () => RecordLater,
  ): ProvenSegment | null {
    const like = original.knowing(cases);
    const code = like?.codeFor(frame, point) ?? null;
    if (code === null) return null;
    const proven = new ProvenSegment(like!, original, code, frame, recordLater());
    return proven.fits(frame) ? proven : null;
  }

  /** Those of the sizes that it is like. */
  override get bases(): ReadonlyMap<number, number | null> {
    return this.like.bases;
  }

  override own(): Segment {
    if (this.recorded === null) {
      for (const { slot, meta } of this.inputs)
        if (slot >= 0 && !isStill(this.frame.slots[slot]!, meta!))
          throw new Lost('an input is another one since');
      this.recorded = this.recordLater();
    }
    this.recorded.addOutputs(this.outputs);
    return this.recorded;
  }

  override call(inputs: readonly SegmentInput[]): readonly Tensor[] {
    if (this.compiled !== null && !this.changesHooked(inputs)) return super.call(inputs);
    this.isFresh = undefined;
    return this.own().call(inputs);
  }
}
