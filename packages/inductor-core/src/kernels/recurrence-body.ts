/**
 * @file A recurrence group as a body: what it computes, and where its results go.
 */
import type { FusionContext } from '../fuse/fusion-context.js';
import type { RecurrenceGroup } from '../fuse/group.js';
import type { RecurrentResult } from '../lower/ir-node.js';
import type { BodyStore, RecurrenceBody } from './group-body.js';

/** Cuts a recurrence group into expressions and stores. Results that nobody reads are not stored. */
export function recurrenceBody(context: FusionContext, group: RecurrenceGroup): RecurrenceBody {
  const { lowering } = context;
  const { id: _, nodes: __, origins: ___, results, last, ...shape } = group.recurrence;
  const inside = new Set(group.nodes);
  const stored = ({ out, coords, value }: RecurrentResult): BodyStore[] =>
    context.isStored(out.name, inside)
      ? [
          {
            buffer: out,
            index: lowering.address(out, coords),
            value: lowering.ir.cast(value, out.dtype),
            inner: false,
          },
        ]
      : [];
  return { ...shape, stores: results.flatMap(stored), lastStores: last.flatMap(stored) };
}
