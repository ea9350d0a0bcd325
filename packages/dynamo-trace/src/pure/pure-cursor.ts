/**
 * @file `PureCursor`: a cursor of a `pure` function; while it records it also finds out whether the function looks at sizes.
 */
import { userFrame } from '@tessera/graph';
import { TesseraError } from '@tessera/shared';
import { type OpOverload, type Storage, type Tensor, isTensor } from '@tessera/tensor';
import { type BackwardCall, type RegionInputs } from '@tessera/tensor/internal';
import { Cursor } from '../cursor/cursor.js';
import type { DynamicTensorGuard } from '../guards/dynamic-tensor-guard.js';
import { TensorGuard } from '../guards/tensor-guard.js';
import { walk } from '../guards/walk.js';
import type { TrieNode } from '../trace/step.js';
import { withHiddenStateTraps } from './hidden-state.js';
import { SizeWatch } from './size-watch.js';

/** See the file header. */
export class PureCursor extends Cursor {
  /** Where its steps begin. */
  readonly start: TrieNode = this.at;
  private readonly sizes = new SizeWatch();

  /** Whether the function's result may depend on sizes in a way that the trace does not show. */
  get readsSizes(): boolean {
    return this.sizes.noticed;
  }

  /** What looked at sizes is good for these sizes only. */
  get externals(): [Tensor, TensorGuard | DynamicTensorGuard][] {
    const { externals } = this.recorder!;
    if (!this.readsSizes) return externals;
    return externals.map(([tensor]) => [tensor, TensorGuard.of(tensor)]);
  }

  /** Runs the function with its arguments watched. */
  watching<R>(fn: () => R): R {
    const { sources } = this.recorder!.options;
    // Sizes of parameters are numbers.
    const tensor = (value: Tensor): void => {
      if (sources.isArgument(value)) this.sizes.watch(value);
    };
    for (const { value } of sources.roots) walk(value, { root: '', steps: [] }, { tensor }, true);
    try {
      const result = withHiddenStateTraps(sources.roots, this.recorder!.options.functionName, fn);
      // What comes after the first wait is not watched.
      if (result instanceof Promise) this.sizes.noticed = true;
      return result;
    } finally {
      this.sizes.stop();
    }
  }

  override handle(op: OpOverload, args: readonly unknown[]): unknown {
    const result = this.sizes.pause(() => super.handle(op, args));
    for (const value of Array.isArray(result) ? result : [result])
      if (isTensor(value)) this.sizes.watch(value);
    return result;
  }

  /** @throws pure-side-effect: no guard knows values, so a skipped call would go by those of this one */
  override onAccess(storage: Storage, writes: boolean): void {
    super.onAccess(storage, writes);
    if (writes || this.recorder!.breaks.length > 0) return;
    throw new TesseraError(
      'pure-side-effect',
      `${this.recorder!.options.functionName} is compiled with pure: true but reads the values of a tensor, which a skipped call would not do.`,
      {
        location: userFrame(),
        hints: [
          'Express the choice with tensor operators such as where, or compile it without pure.',
        ],
      },
    );
  }

  override onBackward(call: BackwardCall): boolean {
    // Gradients are tensors that nobody watches.
    this.sizes.noticed = true;
    return this.sizes.pause(() => super.onBackward(call));
  }

  override onRegion<R>(
    owner: object,
    name: string,
    inputs: RegionInputs,
    fn: (inputs: RegionInputs) => R,
  ): R {
    return this.sizes.pause(() =>
      super.onRegion(owner, name, inputs, (given) => this.sizes.resume(() => fn(given))),
    );
  }
}
