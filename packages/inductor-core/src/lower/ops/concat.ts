/**
 * @file Lowerings that put tensors side by side: cat and stack.
 *
 * A join that gets memory anyway is written part by part: nothing is chosen, and what several parts need is computed
 * once. The scheduler puts equal parts into one kernel; parts of several lengths have one for each length, so they are
 * written only where kernels are cheap. Other joins are pointwise values that choose by position; a load outside its
 * tensor is masked away. @see torch._inductor.ir.ConcatKernel
 */
import { type Size, sizeAdd, sizeHint, sizeSub, sizeSum } from '@tessera/shared';
import { within } from '../within.js';
import { wrapDim } from '@tessera/tensor/internal';
import type { Expr } from '../../ir/expr.js';
import type { LoweredTensor } from '../lowered-tensor.js';
import type { Lowering } from '../lowering.js';
import { usesOf } from '../node-uses.js';
import { addPart } from '../part-nodes.js';
import type { LoweringCall } from '../registry.js';
import { type Shape, isEmpty } from '../shape-math.js';
import { type LoweringOf, type LoweringTable, lowerings } from '../typed-lowering.js';

/** Inputs beyond this many that are costly get memory, because every element evaluates all of them. */
const INLINE_INPUTS = 4;
/** Most tensors that are joined at once; more are joined in groups first. */
const MOST_INPUTS = 8;

/** What a join gives. */
interface Joined {
  readonly shape: Shape;
  readonly dtype: LoweredTensor['dtype'];
}

function nonEmpty(
  tensors: readonly LoweredTensor[],
  dim: number,
  call: Joined,
): readonly LoweredTensor[] {
  return tensors.filter(
    (t) =>
      !(t.shape.length === 1 && t.shape[0] === 0 && call.shape.length !== 1) && t.shape[dim] !== 0,
  );
}

function joined(
  l: Lowering,
  parts: readonly LoweredTensor[],
  dim: number,
  call: Joined,
): LoweredTensor {
  const limit = Math.min(MOST_INPUTS, l.capabilities.maxBuffersPerKernel - 1);
  if (parts.length > limit) return joined(l, inGroups(l, parts, dim, limit, call), dim, call);
  for (const part of parts)
    if (!part.isRealized && parts.length > INLINE_INPUTS && l.costOf(part.expr).expensive)
      part.realize();
  const whole = choice(l, parts, dim, call);
  if (l.costOf(whole).buffers <= limit) return l.pointwise(call.shape, whole);
  const room = limit / Math.max(parts.length, 1);
  for (const part of parts)
    if (!part.isRealized && l.costOf(part.expr).buffers > room) part.realize();
  return l.pointwise(call.shape, choice(l, parts, dim, call));
}

/** The element of the part in which a position lies. */
function choice(l: Lowering, parts: readonly LoweredTensor[], dim: number, call: Joined): Expr {
  const vars = l.vars(call.shape);
  const position = vars[dim]!;
  let end = call.shape[dim]!;
  let value: Expr = l.ir.const(call.dtype, 0);
  for (let i = parts.length - 1; i >= 0; i--) {
    const part = parts[i]!;
    const start = sizeSub(end, part.shape[dim]!);
    const loaded = l.ir.cast(
      part.load(vars.map((v, d) => (d === dim ? l.ir.sub(v, l.ir.size(start)) : v))),
      call.dtype,
    );
    const masked = l.ir.masked(within(l, position, start, end), loaded, 0);
    value =
      i === parts.length - 1
        ? masked
        : l.ir.op('where', [
            l.ir.op('lt', [l.ir.index('int32', position), l.ir.sizeValue('int32', end)]),
            masked,
            value,
          ]);
    end = start;
  }
  return value;
}

/** Neighbouring tensors joined in memory, `limit` at a time. */
function inGroups(
  l: Lowering,
  parts: readonly LoweredTensor[],
  dim: number,
  limit: number,
  call: Joined,
): LoweredTensor[] {
  const groups: LoweredTensor[] = [];
  for (let i = 0; i < parts.length; i += limit) {
    const group = parts.slice(i, i + limit);
    const length = sizeSum(group.map((part) => part.shape[dim]!));
    const shape = call.shape.map((size, d) => (d === dim ? length : size));
    const whole = joined(l, group, dim, { shape, dtype: call.dtype });
    whole.realize();
    groups.push(whole);
  }
  return groups;
}

/** Mean length of parts along the last dimension below which they are not written apart: vectors would be short. */
const SHORTEST_PART = 8;
/** Most lengths, hence kernels, of parts that are written apart. */
const MOST_LENGTHS = 8;

/** Whether parts are better written each to its place. */
function isWrittenInParts(
  l: Lowering,
  parts: readonly LoweredTensor[],
  dim: number,
  { shape }: Joined,
): boolean {
  if (parts.length < 2 || isEmpty(shape)) return false;
  if (dim === shape.length - 1 && sizeHint(shape[dim]!) < SHORTEST_PART * parts.length)
    return false;
  const { cheapKernels = false, maxBuffersPerKernel } = l.capabilities;
  const lengths = new Set(parts.map((part) => part.shape[dim]));
  if (lengths.size > (cheapKernels ? MOST_LENGTHS : 1)) return false;
  // Of what only lies elsewhere, one kernel that chooses is as good as one that stores.
  if (!cheapKernels && parts.every((part) => l.costOf(part.expr).ops === 0)) return false;
  const buffers = new Set(parts.flatMap((part) => [...l.buffersOf(part.expr)]));
  return buffers.size < maxBuffersPerKernel;
}

/** Memory that each part fills its share of. */
function writtenInParts(
  l: Lowering,
  parts: readonly LoweredTensor[],
  dim: number,
  { shape, dtype }: Joined,
  layout: Shape | null,
): LoweredTensor {
  const whole = l.newBuffer(dtype, shape, layout);
  let start: Size = 0;
  for (const part of parts) {
    const at = l.ir.size(start);
    const coords = l.vars(part.shape).map((v, d) => (d === dim ? l.ir.add(v, at) : v));
    addPart(l, whole, part.shape, part.expr, coords);
    start = sizeAdd(start, part.shape[dim]!);
  }
  return l.fromBuffer(whole);
}

/** Tensors along a dimension, one behind the other. */
function join(
  l: Lowering,
  parts: readonly LoweredTensor[],
  dim: number,
  call: LoweringCall,
): LoweredTensor {
  if (usesOf(call.node).needMemory && isWrittenInParts(l, parts, dim, call))
    return writtenInParts(l, parts, dim, call, call.results[0]?.layout ?? null);
  return joined(l, parts, dim, call);
}

const cat: LoweringOf<'aten::cat'> = (l, [tensors, dim], call) => {
  const at = wrapDim(Number(dim ?? 0), call.shape.length, call.op);
  return join(l, nonEmpty(tensors, at, call), at, call);
};

const stack: LoweringOf<'aten::stack'> = (l, [tensors, dim], call) => {
  const at = wrapDim(Number(dim ?? 0), call.shape.length, call.op);
  const list = tensors.map((x) => {
    const sizes = [...x.shape];
    sizes.splice(at, 0, 1);
    return x.view(
      sizes,
      l.vars(sizes).filter((_, d) => d !== at),
    );
  });
  return join(l, list, at, call);
};

/** Lowerings by overload name. */
export const concatLowerings: LoweringTable = lowerings({
  'aten::cat': cat,
  'aten::stack': stack,
});
