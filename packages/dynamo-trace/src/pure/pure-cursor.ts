/**
 * @file `PureCursor`: a cursor under which a call of a `pure` function is remembered, or exported.
 *
 * What a skipped call would not do is an error: graph breaks, reads of values, effects, reads of state that no guard
 * sees.
 */
import { userFrame } from '@tessera/shared';
import type { TesseraError } from '@tessera/shared';
import type { Storage, Tensor } from '@tessera/tensor';
import { GENERATOR_MEMORY } from '@tessera/tensor/internal';
import { type BreakReason, REQUIRES_GRAD_SET } from '../breaks/graph-breaks.js';
import { Cursor } from '../cursor/cursor.js';
import type { Sources } from '../guards/sources.js';
import { withHiddenStateTraps } from './hidden-state.js';
import { sideEffect } from './side-effect.js';
import { withEffectTraps } from './traps.js';

/** The function whose call is remembered, and where the tensors of the call are. */
interface PureCall {
  readonly name: string;
  readonly sources: Sources;
  /** Breaks are errors of their own already. */
  readonly fullgraph: boolean;
}

/** See the file header. */
export class PureCursor extends Cursor {
  readonly copiesLiterals = true;
  override readonly isRemembered = true;

  constructor(
    readonly call: PureCall,
    ...of: ConstructorParameters<typeof Cursor>
  ) {
    super(...of);
  }

  /** Runs the function with effects trapped. @throws pure-side-effect, pure-hidden-state */
  watching<R>(fn: () => R): R {
    const { name, sources } = this.call;
    return withHiddenStateTraps(sources.roots, name, () => withEffectTraps(name, fn));
  }

  override flush(reason: BreakReason): void {
    if (!this.atSegmentStart) this.refuseBreak(reason);
    super.flush(reason);
  }

  override breakGraph(reason: BreakReason): void {
    this.refuseBreak(reason);
    super.breakGraph(reason);
  }

  /** A skipped call would not do it, between graphs neither. */
  override onSetRequiresGrad(tensor: Tensor, value: boolean): boolean {
    if (!tensor.isLazy) this.breakGraph(REQUIRES_GRAD_SET);
    return super.onSetRequiresGrad(tensor, value);
  }

  /** @throws pure-side-effect: no guard knows values, so a skipped call would go by those of this one */
  override onAccess(storage: Storage, writes: boolean): void {
    if (storage === GENERATOR_MEMORY && !this.passing)
      throw this.sideEffect(
        'reads or sets the random generator',
        'Seed outside, or compile it without pure.',
      );
    super.onAccess(storage, writes);
    if (!writes && !this.passing)
      throw this.sideEffect(
        'reads the values of a tensor, which a skipped call would not do',
        'Express the choice with tensor operators such as where, or compile it without pure.',
      );
  }

  private refuseBreak({ text }: BreakReason): void {
    if (this.passing || this.call.fullgraph) return;
    throw this.sideEffect(
      `breaks the graph: ${text}`,
      'Remove the read of a value from the function, or compile it without pure.',
    );
  }

  private sideEffect(what: string, hint: string): TesseraError {
    return sideEffect(
      `${this.call.name} is compiled with pure: true but ${what}.`,
      [hint],
      userFrame(),
    );
  }
}
