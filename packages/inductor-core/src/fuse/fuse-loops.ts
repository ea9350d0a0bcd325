/**
 * @file Fusing two loop groups: pointwise with pointwise, with a reduction's producers or consumers, and
 * reductions over the same points.
 *
 * One side is the host, whose loop variables stay (the one with a reduction, if any); the guest's points
 * are mapped onto the host's. Correct because each buffer that passes between them is read exactly at
 * the point where it is written; useful because of that, or because both read the same elements.
 */
import { sizeMul } from '@tessera/shared';
import type { IndexExpr, SizedLoop } from '../ir/index-expr.js';
import { indexSymbols } from '../ir/walk.js';
import type { Access } from './access.js';
import type { FusionContext } from './fusion-context.js';
import { extent } from '../ir/loop-vars.js';
import { type LoopGroup, type Member, mergedNodes } from './group.js';
import { canOrderOverwrites } from './overwrite-order.js';
import { type Equation, type Mapping, linearMapping, solvedMapping } from './match-space.js';

/** Most nodes in one kernel. */
const MOST_NODES = 256;

/** Most nodes beside each other that fill parts of a buffer, where kernels are cheap: caches hold few rows far apart. */
const MOST_PARTS = 8;

/** How the guest lies in the host: at every point, or once per outer point. */
interface Fit {
  readonly hostVars: readonly SizedLoop[];
  readonly inner: boolean;
  /** Both have reductions: outer maps to outer and inner to inner. */
  readonly paired: boolean;
}

function fitOf(host: LoopGroup, guest: LoopGroup): Fit | null {
  const outer = extent(host.outer);
  const inner = extent(host.inner);
  const points = extent(guest.outer);
  if (guest.inner.length > 0) {
    const same = points === outer && extent(guest.inner) === inner;
    return same ? { hostVars: host.order, inner: true, paired: true } : null;
  }
  if (points === sizeMul(outer, inner))
    return { hostVars: host.order, inner: host.inner.length > 0, paired: false };
  return points === outer ? { hostVars: host.outer, inner: false, paired: false } : null;
}

/** An access together with the member that makes it. */
interface Site {
  readonly member: Member;
  readonly access: Access;
  readonly write: boolean;
}

/** Accesses of a group by buffer. */
function sitesOf(context: FusionContext, members: readonly Member[]): Map<string, Site[]> {
  const sites = new Map<string, Site[]>();
  const add = (member: Member, access: Access, write: boolean): void => {
    const list = sites.get(access.buf) ?? [];
    list.push({ member, access, write });
    sites.set(access.buf, list);
  };
  for (const member of members) {
    const { reads, writes } = context.of(member.node);
    for (const read of reads) add(member, read, false);
    for (const write of writes) add(member, write, true);
  }
  return sites;
}

/** Buffers that both groups touch: those that pass a value or are overwritten, and those only read. */
interface Shared {
  readonly dependent: readonly (readonly [readonly Site[], readonly Site[]])[];
  readonly read: readonly (readonly [readonly Site[], readonly Site[]])[];
  /** How many buffers both fill parts of. */
  readonly joined: number;
}

/** Null if one group reads what the other fills a part of. */
function sharedBuffers(
  context: FusionContext,
  a: ReadonlyMap<string, readonly Site[]>,
  b: ReadonlyMap<string, readonly Site[]>,
): Shared | null {
  const dependent: (readonly [readonly Site[], readonly Site[]])[] = [];
  const read: (readonly [readonly Site[], readonly Site[]])[] = [];
  let joined = 0;
  for (const [buf, sites] of a) {
    const others = b.get(buf);
    if (others === undefined) continue;
    const isWrite = ({ write }: Site): boolean => write;
    const written = sites.some(isWrite) || others.some(isWrite);
    if (!written || !context.isInParts(buf)) (written ? dependent : read).push([sites, others]);
    else if (sites.every(isWrite) && others.every(isWrite)) joined++;
    else return null;
  }
  return { dependent, read, joined };
}

/** Coordinate equations from pairs of sites; a few are enough, all are verified later. */
function equationsOf(context: FusionContext, pairs: Shared['dependent']): Equation[] {
  const equations: Equation[] = [];
  for (const [hosts, guests] of pairs) {
    const host = hosts.find((s) => s.write) ?? hosts[0]!;
    const guest = guests.find((s) => s.write) ?? guests[0]!;
    if (host.access.indirect || guest.access.indirect) continue;
    guest.access.coords.forEach((coord, d) => {
      equations.push({
        guest: context.place(guest.member, coord),
        host: context.place(host.member, host.access.coords[d]!),
      });
    });
  }
  return equations;
}

function onlyUses(index: IndexExpr, vars: readonly SizedLoop[]): boolean {
  const allowed = new Set(vars.map((v) => v.name));
  for (const name of indexSymbols(index)) if (!allowed.has(name)) return false;
  return true;
}

/** Outer variables may depend on outer ones only, inner on inner ones. */
function separates(host: LoopGroup, guest: LoopGroup, mapping: Mapping): boolean {
  return (
    guest.outer.every((v) => onlyUses(mapping.get(v.name)!, host.outer)) &&
    guest.inner.every((v) => onlyUses(mapping.get(v.name)!, host.inner))
  );
}

/** Whether a node counts its inner points in order. */
function isOrdered({ node }: Member): boolean {
  return (
    node.kind === 'reduction' && (node.running || node.op === 'argmax' || node.op === 'argmin')
  );
}

/** Whether points of a node may name one place. */
function meetsOthers({ node }: Member): boolean {
  return node.kind === 'pointwise' && (node.steps.length > 0 || node.combine !== null);
}

/** Whether what counts its points in the guest meets them in the same order in the host. */
function keepsOrder(
  context: FusionContext,
  host: LoopGroup,
  guest: LoopGroup,
  mapping: Mapping,
): boolean {
  if (!guest.members.some(isOrdered)) return true;
  const same = linearMapping(context.lowering.ir, guest.inner, host.inner);
  return guest.inner.every((v) => mapping.get(v.name) === same?.get(v.name));
}

/** The candidate mappings, likeliest first. */
function* candidates(
  context: FusionContext,
  host: LoopGroup,
  guest: LoopGroup,
  fit: Fit,
  shared: Shared,
): Generator<Mapping> {
  const { ir } = context.lowering;
  const guestVars = guest.order;
  for (const pairs of [shared.dependent, shared.read]) {
    if (pairs.length === 0) continue;
    const equations = equationsOf(context, pairs);
    const mapping =
      equations.length === 0 ? null : solvedMapping(ir, guestVars, fit.hostVars, equations);
    if (mapping !== null) yield mapping;
  }
  if (fit.paired) {
    const outer = linearMapping(ir, guest.outer, host.outer);
    const inner = linearMapping(ir, guest.inner, host.inner);
    if (outer !== null && inner !== null) yield new Map([...outer, ...inner]);
    return;
  }
  const linear = linearMapping(ir, guestVars, fit.hostVars);
  if (linear !== null) yield linear;
}

/** Bytes that need not be read or written again under a mapping, and buffers filled together; -1 if it is wrong. */
function verify(context: FusionContext, shared: Shared, mapping: Mapping): number {
  const { ir } = context.lowering;
  const guestIndex = (site: Site): IndexExpr =>
    ir.substituteIndex(context.indexIn(site.member, site.access), (name) => mapping.get(name));
  let saved = shared.joined;
  for (const [hosts, guests] of shared.dependent) {
    // All accesses of a buffer that is written must be at one place.
    const place = context.indexIn(hosts[0]!.member, hosts[0]!.access);
    for (const site of hosts)
      if (site.access.indirect || context.indexIn(site.member, site.access) !== place) return -1;
    for (const site of guests) if (site.access.indirect || guestIndex(site) !== place) return -1;
    saved += context.bytes(hosts[0]!.access.buf);
  }
  for (const [hosts, guests] of shared.read) {
    const places = new Set(
      hosts.filter((s) => !s.access.indirect).map((s) => context.indexIn(s.member, s.access)),
    );
    if (guests.some((s) => !s.access.indirect && places.has(guestIndex(s))))
      saved += context.bytes(hosts[0]!.access.buf);
  }
  return saved;
}

/** Members of the guest in the host's variables. */
function moved(
  context: FusionContext,
  members: readonly Member[],
  mapping: Mapping,
  inner: boolean | null,
): Member[] {
  const { ir } = context.lowering;
  return members.map((member) => ({
    node: member.node,
    place: new Map(
      [...member.place].map(([name, index]) => [
        name,
        ir.substituteIndex(index, (symbol) => mapping.get(symbol)),
      ]),
    ),
    inner: inner ?? member.inner,
  }));
}

/** The group of both, or null if they cannot or should not share a kernel. */
export function fuseLoops(context: FusionContext, a: LoopGroup, b: LoopGroup): LoopGroup | null {
  if (a.nodes.length + b.nodes.length > MOST_NODES) return null;
  // What a step reads, the step before may have written; memory in which points meet is accessed in no other way.
  if ([...a.members, ...b.members].some(meetsOthers)) return null;
  const [host, guest] = a.inner.length === 0 && b.inner.length > 0 ? [b, a] : [a, b];
  const fit = fitOf(host, guest);
  if (fit === null || !context.fits(a, b)) return null;
  const shared = sharedBuffers(
    context,
    sitesOf(context, host.members),
    sitesOf(context, guest.members),
  );
  if (shared === null) return null;
  const { cheapKernels = false } = context.lowering.capabilities;
  if (cheapKernels && shared.joined > 0 && a.nodes.length + b.nodes.length > MOST_PARTS)
    return null;
  for (const mapping of candidates(context, host, guest, fit, shared)) {
    if (fit.paired && !separates(host, guest, mapping)) continue;
    if (fit.paired && !keepsOrder(context, host, guest, mapping)) continue;
    if (verify(context, shared, mapping) <= 0) continue;
    const members = [
      ...host.members,
      ...moved(context, guest.members, mapping, guest.inner.length > 0 ? null : fit.inner),
    ];
    members.sort((x, y) => x.node.id - y.node.id);
    if (!canOrderOverwrites(context, members)) return null;
    return {
      kind: 'loop',
      ...mergedNodes(a, b),
      outer: host.outer,
      inner: host.inner,
      order: host.order,
      members,
    };
  }
  return null;
}
