/**
 * @file Folding pointwise work into a matrix product: consumers into the epilogue, cheap producers into
 * the operands.
 */
import type { IndexExpr, SizedLoop } from '../ir/index-expr.js';
import { indexSymbols } from '../ir/walk.js';
import type { PointwiseNode } from '../lower/ir-node.js';
import type { FusionContext } from './fusion-context.js';
import { extent } from '../ir/loop-vars.js';
import { type LoopGroup, type MatmulGroup, type Member, mergedNodes } from './group.js';
import { canOrderOverwrites } from './overwrite-order.js';
import { type Equation, linearMapping, solvedMapping } from './match-space.js';

/** Variables of the product's points in the order of the result's dimensions. */
function resultOrder(group: MatmulGroup): SizedLoop[] {
  const { batch, m, n, coords } = group.matmul;
  const all = new Map([...batch, ...m, ...n].map((v) => [v.name, v]));
  const order: SizedLoop[] = [];
  for (const coord of coords) {
    for (const name of indexSymbols(coord)) {
      const v = all.get(name);
      if (v !== undefined && !order.includes(v)) order.push(v);
    }
  }
  return order;
}

/** Where each buffer that the epilogue can read without memory is written. */
function producedPlaces(
  context: FusionContext,
  group: MatmulGroup,
): Map<string, { readonly index: IndexExpr; readonly coords: readonly IndexExpr[] }> {
  const write = context.of(group.matmul).writes[0]!;
  const places = new Map([[write.buf, { index: write.index, coords: write.coords }]]);
  for (const member of group.epilogue) {
    for (const access of context.of(member.node).writes) {
      if (context.isInParts(access.buf)) continue;
      places.set(access.buf, {
        index: context.indexIn(member, access),
        coords: access.coords.map((coord) => context.place(member, coord)),
      });
    }
  }
  return places;
}

/** Adds a pointwise group that consumes the product to its epilogue, or null. */
export function fuseEpilogue(
  context: FusionContext,
  host: MatmulGroup,
  guest: LoopGroup,
): MatmulGroup | null {
  const { ir } = context.lowering;
  const { batch, m, n } = host.matmul;
  if (
    guest.inner.length > 0 ||
    extent(guest.outer) !== extent([...batch, ...m, ...n]) ||
    !context.fits(host, guest)
  )
    return null;
  const operands = new Set(context.of(host.matmul).reads.map((read) => read.buf));
  for (const p of host.prologue) for (const read of context.of(p).reads) operands.add(read.buf);
  const places = producedPlaces(context, host);
  const parts = new Set(
    host.epilogue.flatMap(({ node }) => context.of(node).writes.map((write) => write.buf)),
  );
  for (const name of parts) if (!context.isInParts(name)) parts.delete(name);
  const equations: Equation[] = [];
  for (const member of guest.members) {
    // Operands are read at other points while the epilogue already stores; blocks of results need a place that is known.
    for (const write of context.of(member.node).writes)
      if (write.indirect || operands.has(write.buf)) return null;
    for (const read of context.of(member.node).reads) {
      if (parts.has(read.buf)) return null;
      const place = places.get(read.buf);
      if (place === undefined) continue;
      if (read.indirect) return null;
      read.coords.forEach((coord, d) =>
        equations.push({ guest: context.place(member, coord), host: place.coords[d]! }),
      );
    }
  }
  if (equations.length === 0) return null;
  const order = resultOrder(host);
  for (const mapping of [
    solvedMapping(ir, guest.outer, order, equations),
    linearMapping(ir, guest.order, order),
  ]) {
    if (mapping === null) continue;
    const moved = guest.members.map((member): Member => ({
      node: member.node,
      place: new Map(
        [...member.place].map(([name, index]) => [
          name,
          ir.substituteIndex(index, (symbol) => mapping.get(symbol)),
        ]),
      ),
      inner: false,
    }));
    const agrees = moved.every((member) =>
      context.of(member.node).reads.every((read) => {
        const place = places.get(read.buf);
        return place === undefined || context.indexIn(member, read) === place.index;
      }),
    );
    if (!agrees || !overwritesInPlace(context, [...host.epilogue, ...moved])) continue;
    const epilogue = [...host.epilogue, ...moved].sort((x, y) => x.node.id - y.node.id);
    if (!canOrderOverwrites(context, epilogue)) return null;
    return { ...host, ...mergedNodes(host, guest), epilogue };
  }
  return null;
}

/** Whether every input that some member overwrites is read by the others only where it is overwritten. */
function overwritesInPlace(context: FusionContext, members: readonly Member[]): boolean {
  const targets = new Map<string, IndexExpr>();
  for (const member of members) {
    if (member.node.kind !== 'pointwise' || !member.node.mutation) continue;
    const write = context.of(member.node).writes[0]!;
    targets.set(write.buf, context.indexIn(member, write));
  }
  if (targets.size === 0) return true;
  return members.every((member) =>
    context.of(member.node).reads.every((read) => {
      const target = targets.get(read.buf);
      return target === undefined || (!read.indirect && context.indexIn(member, read) === target);
    }),
  );
}

/** Most operations of a producer that is computed again for every tile. */
const CHEAP_OPS = 8;
const CHEAP_LOADS = 3;

/** The producer as a node that may be folded into an operand, or null. */
function cheapProducer(
  context: FusionContext,
  host: MatmulGroup,
  guest: LoopGroup,
): PointwiseNode | null {
  if (guest.members.length !== 1) return null;
  const { node } = guest.members[0]!;
  if (node.kind !== 'pointwise' || node.mutation || node.part !== null || node.out.output >= 0)
    return null;
  const readers = context.readers.get(node.out.name) ?? [];
  if (readers.length !== 1 || readers[0] !== host.matmul) return null;
  const cost = context.lowering.costOf(node.value);
  return !cost.expensive && cost.ops <= CHEAP_OPS && cost.loads <= CHEAP_LOADS ? node : null;
}

/** Folds a cheap producer of one operand into the product, or null. */
export function fusePrologue(
  context: FusionContext,
  host: MatmulGroup,
  guest: LoopGroup,
): MatmulGroup | null {
  const node = cheapProducer(context, host, guest);
  if (node === null || !context.fits(host, guest)) return null;
  // What the producer reads must not be overwritten by the epilogue.
  const overwritten = new Set(
    host.epilogue.flatMap((member) => context.of(member.node).writes.map((write) => write.buf)),
  );
  if (context.of(node).reads.some((read) => overwritten.has(read.buf))) return null;
  return { ...host, ...mergedNodes(host, guest), prologue: [...host.prologue, node] };
}
