/**
 * @file `PureCheck`: whether a skipped call would still do what its artifact does.
 *
 * With `trace.verify` set, the JavaScript of a call that could be skipped runs now and then, matched
 * against the steps of the artifact. What the guards cannot see shows there: a number or a tensor of the
 * closure that changed, another branch, another result.
 */
import { TesseraError, treeFlatten } from '@tessera/shared';
import { userFrame } from '@tessera/graph';
import { isTensor } from '@tessera/tensor';
import type { Cursor } from '../cursor/cursor.js';
import type { Difference } from '../events/event.js';
import type { Frame } from '../frame/frame.js';
import type { PureArtifact } from './pure-artifact.js';

/** See the file header. */
export class PureCheck {
  constructor(
    private readonly artifact: PureArtifact,
    private readonly functionName: string,
    /** Called before a difference is told: the next call shall not be skipped. */
    private readonly forget: () => void,
  ) {}

  /** An op differs. @throws pure-stale */
  diverged(describe: () => Difference): never {
    this.stale(describe().text, userFrame());
  }

  /** The function returned after the recorded steps. @throws pure-stale */
  finished({ frame, at }: Cursor, result: unknown): void {
    // Where steps are missing, the cursor says so itself.
    if (!at.steps.some((step) => step.kind === 'return')) return;
    const { artifact } = this;
    artifact.segment.inputs.forEach(({ slot, scalar }, i) => {
      const held = artifact.held(i);
      const now = slot < 0 ? frame.scalars[scalar] : frame.slots[slot];
      if (held !== undefined && !Object.is(now, held))
        this.stale(
          typeof held === 'number'
            ? `the number ${held} is ${now}`
            : `another tensor of shape [${held.shape.join()}] was read from the closure`,
        );
    });
    const { leaves } = treeFlatten(result);
    if (leaves.length !== artifact.leaves.length)
      this.stale(`the result has ${leaves.length} parts, not ${artifact.leaves.length}`);
    leaves.forEach((leaf, i) => {
      if (!this.isSame(artifact.leaves[i]!, leaf, frame))
        this.stale(
          `part ${i} of the result is ${isTensor(leaf) ? 'another tensor' : String(leaf)}`,
        );
    });
  }

  /** Whether a part of the result is what the artifact would return there. */
  private isSame(expected: PureArtifact['leaves'][number], leaf: unknown, frame: Frame): boolean {
    if ('value' in expected) return Object.is(leaf, expected.value);
    // An argument that no op reads is guarded where it is found.
    return isTensor(leaf) && ('place' in expected || frame.slotOf(leaf) === expected.slot);
  }

  private stale(difference: string, location?: string): never {
    this.forget();
    throw new TesseraError(
      'pure-stale',
      `${this.functionName} is compiled with pure: true, but a skipped call would not do what its code does now: ${difference}.`,
      {
        location,
        hints: [
          'Pass what changes as an argument, or name it in captures, so that it is guarded.',
          'Or compile without pure: replay then runs the JavaScript on every call.',
        ],
      },
    );
  }
}
