/**
 * @file `EarlierFrames`: the segments of a call before the present one.
 *
 * The last ones are kept as they are. Of those before them only what can still be asked is known: which step made a
 * tensor, as long as the program holds it. So a long loop with a graph break in it holds what eager code would hold.
 */
import type { Tensor } from '@tessera/tensor';
import { gradientOf } from '@tessera/tensor/internal';
import type { Segment } from '../trace/segment.js';
import type { Frame } from './frame.js';

/** Frames that are kept: most calls have no more. */
const KEPT = 8;

/** What is known of a frame that was let go. */
export type PastFrame = Pick<Frame, 'path' | 'isCompiled'> & { readonly segment: Segment };

/** The segment that made a tensor, changed it, or was the first to take it, and its slot there. */
interface Whereabouts {
  readonly frame: PastFrame;
  readonly slot: number;
}

/** See the file header. */
export class EarlierFrames {
  /** The last ones, in order. */
  readonly kept: Frame[] = [];
  /** Segments of the others. */
  readonly past: Set<Segment> = new Set();
  /** Whether it is not yet known of one of them what it must return. */
  private mustTell = false;
  private readonly tensors = new WeakMap<Tensor, Whereabouts>();

  /** A segment has run, and another begins. */
  push(frame: Frame): void {
    this.kept.push(frame);
    if (this.kept.length > KEPT) this.letGo(this.kept.shift()!);
  }

  private letGo(frame: Frame): void {
    const { slots, path, isCompiled } = frame;
    const segment = frame.segment!;
    this.past.add(segment);
    // Of sealed ones it is known, and what is left out is computed.
    this.mustTell ||= !segment.sealed;
    if (this.mustTell) takenBy(frame).forEach((tensor) => this.need(tensor));
    segment.addOutputs([...frame.reads, ...segment.basesOf(frame.watched)]);
    const changed = new Set(segment.mutated.map((i) => segment.inputs[i]!.slot));
    const past = { path, isCompiled, segment };
    for (let slot = 0; slot < slots.length; slot++) {
      const tensor = slots[slot];
      if (tensor === undefined) continue;
      const isMade = segment.produced.has(slot) || changed.has(slot);
      if (isMade || !this.tensors.has(tensor)) this.tensors.set(tensor, { frame: past, slot });
    }
  }

  /** Where a tensor was in a segment that was let go; null if in none. */
  find(tensor: Tensor): Whereabouts | null {
    return this.tensors.get(tensor) ?? null;
  }

  /** A later segment, or somebody after the call, has a tensor: the segment that made it returns it. */
  need(tensor: Tensor): void {
    const found = this.find(tensor);
    found?.frame.segment.addOutputs([found.slot]);
  }
}

/** Tensors that a segment takes from those before it, with their gradients. */
export function takenBy({ slots, segment, earlierReads }: Frame): Set<Tensor> {
  const taken = new Set(earlierReads);
  for (const { slot } of segment!.inputs) {
    const tensor = slots[slot];
    if (tensor === undefined) continue;
    taken.add(tensor);
    const grad = gradientOf(tensor);
    if (grad !== null) taken.add(grad);
  }
  return taken;
}
