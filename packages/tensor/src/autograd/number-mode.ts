/**
 * @file The mode under which a recorded backward runs again with other numbers.
 */
import { callOp } from '../dispatch/dispatcher.js';
import { type PreDispatchMode, withPreDispatchMode } from '../dispatch/modes.js';
import type { OpOverload } from '../op/op-overload.js';

/** Gives the operators of a backward, which are those that were recorded, numbers in place of their own. */
export class NumberMode implements PreDispatchMode {
  readonly name = 'numbers';
  private op = 0;
  private number = 0;

  constructor(
    /** Per operator, at which of its arguments numbers are. */
    private readonly places: readonly (readonly number[])[],
    /** All of them, in the order of their use. */
    private readonly numbers: readonly unknown[],
    /** The mode that is active outside. */
    private readonly outer: PreDispatchMode | null,
  ) {}

  handle(op: OpOverload, args: readonly unknown[]): unknown {
    const values = [...args];
    for (const i of this.places[this.op++] ?? []) values[i] = this.numbers[this.number++];
    return withPreDispatchMode(this.outer, () => callOp(op, values));
  }

  onBackward(call: Parameters<PreDispatchMode['onBackward']>[0]): boolean {
    return this.outer?.onBackward(call) ?? false;
  }

  onGradMode(enabled: boolean): void {
    this.outer?.onGradMode(enabled);
  }

  onRegion<R>(...call: Parameters<PreDispatchMode['onRegion']>): R {
    const [owner, name, inputs, fn] = call;
    return (this.outer === null ? fn(inputs) : this.outer.onRegion(owner, name, inputs, fn)) as R;
  }

  onSetGrad(...call: Parameters<PreDispatchMode['onSetGrad']>): void {
    this.outer?.onSetGrad(...call);
  }
}
