/**
 * @file `ProvenSegment`: the code of a segment for sizes that no graph was made for.
 *
 * Its backend knows that the graph for these sizes would be compiled to code that it has. The graph is that of other
 * sizes, so it says which slots are read, made and written, and nothing is computed by it.
 */
import type { CompiledSegment } from '../backend.js';
import type { Frame } from '../frame/frame.js';
import { Segment } from './segment.js';

/** See the file header. */
export class ProvenSegment extends Segment {
  override readonly isSample: boolean = false;

  private constructor(
    private readonly like: Segment,
    original: Segment,
    code: CompiledSegment,
  ) {
    super(
      like.graph,
      like.inputs,
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
   */
  static for(
    original: Segment,
    frame: Frame,
    cases: string | null,
    point: readonly number[],
  ): ProvenSegment | null {
    const like = original.knowing(cases);
    const code = like?.codeFor(frame, point) ?? null;
    if (code === null) return null;
    const proven = new ProvenSegment(like!, original, code);
    return proven.fits(frame) ? proven : null;
  }

  /** Those of the sizes that it is like. */
  override get bases(): ReadonlyMap<number, number | null> {
    return this.like.bases;
  }

  /** Not where its graph would be needed: to return something else, or to run operator by operator. */
  override fits(frame: Frame): boolean {
    return this.compiled !== null && super.fits(frame) && !this.changesHooked(this.gather(frame));
  }
}
