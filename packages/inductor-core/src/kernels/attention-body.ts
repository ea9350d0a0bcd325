/**
 * @file An attention group as a body: what it computes, and where its results go.
 */
import type { FusionContext } from '../fuse/fusion-context.js';
import type { AttentionGroup } from '../fuse/group.js';
import type { PlacedResult } from '../lower/ir-node.js';
import type { AttentionBody, BodyStore } from './group-body.js';

/** Cuts an attention group into factors, weights and stores. Results that nobody reads are not stored. */
export function attentionBody(context: FusionContext, group: AttentionGroup): AttentionBody {
  const { lowering } = context;
  const { ir } = lowering;
  const { id: _, nodes: __, origins: ___, results, row, columns, kept, ...shape } = group.attention;
  const inside = new Set(group.nodes);
  const stored = ({ out, coords }: PlacedResult, acc: number): BodyStore[] =>
    context.isStored(out.name, inside)
      ? [
          {
            buffer: out,
            index: lowering.address(out, coords),
            value: ir.cast(ir.acc(shape.accDtype, acc), out.dtype),
            inner: false,
          },
        ]
      : [];
  return {
    ...shape,
    stores: results.flatMap((result, q) => stored(result, q)),
    rowStores: row === null ? [] : stored(row, 0),
    columnStores: columns.flatMap((result, c) => stored(result, c)),
    weightStores: kept.flatMap((result) => stored(result, result.weight)),
  };
}
