/**
 * @file Padding by mirroring and by repeating the edge, and their gradients.
 */
import { type Size, sizeAdd, sizeMul, sizeSub } from '@tessera/shared';
import { within } from '../within.js';
import type { Expr } from '../../ir/expr.js';
import type { IndexExpr } from '../../ir/index-expr.js';
import { digits } from './contract.js';
import { intList } from './elementwise.js';
import { ExprMath } from '../expr-math.js';
import type { Lowering } from '../lowering.js';
import { ready } from './pool-backward.js';
import { accumulateDtype } from '../reduce.js';
import type { Shape } from '../shape-math.js';
import { type Axis, clampedIndex, resampled, resampledBackward } from './resample.js';
import { type LoweringOf, type LoweringTable, lowerings } from '../typed-lowering.js';

/** Elements added before each padded dimension, outermost first. */
function before(padding: readonly number[]): number[] {
  return Array.from({ length: padding.length / 2 }, (_, s) => padding[padding.length - 2 - 2 * s]!);
}

function mirrored(l: Lowering, o: IndexExpr, pad: number, size: Size): IndexExpr {
  const m = new ExprMath(l.ir);
  const distance = m.abs(l.ir.index('int32', l.ir.add(o, l.ir.int(-pad))));
  const back = m.sub(m.term(sizeMul(2, sizeSub(size, 1)), 'int32'), distance);
  return clampedIndex(l, m.where(m.lt(distance, size), distance, back), 0, sizeSub(size, 1));
}

/** Arguments: self, padding. */
const reflection: LoweringOf<
  'aten::reflection_pad1d' | 'aten::reflection_pad2d' | 'aten::reflection_pad3d'
> = (l, [self, padding], call) => {
  const x = ready(l, self);
  const pads = before(intList(padding));
  const vars = l.vars(call.shape);
  const lead = vars.length - pads.length;
  const coords = vars.map((v, d) =>
    d < lead || x.shape[d] === 1
      ? x.shape[d] === 1
        ? l.ir.int(0)
        : v
      : mirrored(l, v, pads[d - lead]!, x.shape[d]!),
  );
  return l.pointwise(call.shape, x.load(coords));
};

/** Arguments: grad_output, self, padding. An element shows at its place and mirrored at either end. */
const reflectionBackward: LoweringOf<
  | 'aten::reflection_pad1d_backward'
  | 'aten::reflection_pad2d_backward'
  | 'aten::reflection_pad3d_backward'
> = (l, [grad, self, padding], call) => {
  const sizes = self.shape;
  const g = ready(l, grad);
  const m = new ExprMath(l.ir);
  const pads = before(intList(padding));
  const vars = l.vars(sizes);
  const lead = vars.length - pads.length;
  const acc = accumulateDtype(g.dtype);
  let total: Expr | null = null;
  for (let i = 0; i < 3 ** pads.length; i++) {
    const kinds = digits(l, i, Array<number>(pads.length).fill(3));
    let exists: Expr = l.ir.const('bool', 1);
    const coords = vars.map((v, d) => {
      if (d < lead) return v;
      const [size, pad] = [sizes[d]!, pads[d - lead]!];
      const kind = kinds[d - lead] as Extract<IndexExpr, { kind: 'int' }>;
      const at = l.ir.index('int32', v);
      // The ends are not repeated.
      if (kind.value === 1) exists = m.and(exists, m.gt(at, 0));
      if (kind.value === 2) exists = m.and(exists, m.lt(at, sizeSub(size, 1)));
      const sign = kind.value === 0 ? 1 : -1;
      const end = kind.value === 2 ? sizeMul(2, sizeSub(size, 1)) : 0;
      const o = l.ir.add(l.ir.scale(v, sign), l.ir.size(sizeAdd(end, pad)));
      exists = m.and(exists, within(l, o, 0, g.shape[d]!));
      return g.shape[d] === 1 ? l.ir.int(0) : o;
    });
    const term = l.ir.masked(exists, l.ir.cast(g.load(coords), acc), 0);
    total = total === null ? term : m.add(total, term);
  }
  return l.pointwise(sizes, l.ir.cast(total!, call.dtype));
};

function replicationAxes(
  l: Lowering,
  input: Shape,
  output: Shape,
  padding: readonly number[],
): Axis[] {
  return before(padding).map((pad, s) => {
    const [size, total] = [input[s]!, output[s]!];
    const at = (o: IndexExpr): Expr => l.ir.index('int32', l.ir.add(o, l.ir.int(-pad)));
    // An edge is read by the elements before or behind it too.
    const [low, high] = [pad, padding[padding.length - 1 - 2 * s]!].map((n) => Math.max(n, 0));
    return {
      input: size,
      output: total,
      taps: (o) => [{ at: clampedIndex(l, at(o), 0, sizeSub(size, 1)), weight: null }],
      readers: () => ({
        first: (i) => l.ir.add(i, l.ir.int(pad - low!)),
        count: low! + high! + 1,
      }),
    };
  });
}

/** Arguments: self, padding. */
const replication: LoweringOf<
  'aten::replication_pad1d' | 'aten::replication_pad2d' | 'aten::replication_pad3d'
> = (l, [x, padding], call) => {
  const pads = intList(padding);
  const lead = call.shape.length - pads.length / 2;
  const axes = replicationAxes(l, x.shape.slice(lead), call.shape.slice(lead), pads);
  return resampled(l, x, axes, call);
};

/** Arguments: grad_output, self, padding. */
const replicationBackward: LoweringOf<
  | 'aten::replication_pad1d_backward'
  | 'aten::replication_pad2d_backward'
  | 'aten::replication_pad3d_backward'
> = (l, [g, { shape }, padding], call) => {
  const pads = intList(padding);
  const lead = shape.length - pads.length / 2;
  const axes = replicationAxes(l, shape.slice(lead), g.shape.slice(lead), pads);
  return resampledBackward(l, g, axes, call);
};

/** Lowerings by overload name. */
export const padEdgeLowerings: LoweringTable = lowerings({
  'aten::reflection_pad1d': reflection,
  'aten::reflection_pad1d_backward': reflectionBackward,
  'aten::replication_pad1d': replication,
  'aten::replication_pad1d_backward': replicationBackward,
  'aten::reflection_pad2d': reflection,
  'aten::reflection_pad2d_backward': reflectionBackward,
  'aten::replication_pad2d': replication,
  'aten::replication_pad2d_backward': replicationBackward,
  'aten::reflection_pad3d': reflection,
  'aten::reflection_pad3d_backward': reflectionBackward,
  'aten::replication_pad3d': replication,
  'aten::replication_pad3d_backward': replicationBackward,
});
