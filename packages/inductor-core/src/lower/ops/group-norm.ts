/**
 * @file Group normalisation and its gradient: the input seen as [N, group, C / group, HxW].
 */
import { type Size, sizeFloorDiv, sizeMul } from '@tessera/shared';
import type { Expr } from '../../ir/expr.js';
import type { IndexExpr } from '../../ir/index-expr.js';
import { castTensor, tensorArg } from './elementwise.js';
import type { LoweredTensor } from '../lowered-tensor.js';
import type { Lowering } from '../lowering.js';
import type { LoweredArg } from '../registry.js';
import { type Project, normalize, normalizeBackward, optional } from './normalize.js';
import { accumulateDtype } from '../reduce.js';
import { type Shape, numelOf } from '../shape-math.js';
import { type LoweringOf, type LoweringTable, lowerings } from '../typed-lowering.js';

/** [N, group, C / group, HxW]. */
function groupedShape(
  [batch, channels, ...spatial]: Shape,
  group: number,
): [Size, Size, Size, Size] {
  return [batch!, group, sizeFloorDiv(channels!, group), numelOf(spatial)];
}

/** input as `groupedShape`. */
function grouped(l: Lowering, x: LoweredTensor, sizes: Shape): LoweredTensor {
  const [, , perGroup] = sizes;
  const [n, g, c, p] = l.vars(sizes);
  const spatial = x.shape.slice(2);
  const rest = spatial.map((size, d) =>
    size === 1 ? l.ir.int(0) : l.ir.mod(l.ir.div(p, numelOf(spatial.slice(d + 1))), size),
  );
  return x.view(sizes, [n, l.ir.add(l.ir.scale(g, perGroup), c), ...rest]);
}

/** The inverse of `grouped`. */
function ungrouped(l: Lowering, x: LoweredTensor, sizes: Shape, perGroup: Size): LoweredTensor {
  const [n, c, ...spatial] = l.vars(sizes);
  let below: Size = 1;
  let flat: IndexExpr = l.ir.int(0);
  for (let d = spatial.length - 1; d >= 0; d--) {
    flat = l.ir.add(flat, l.ir.scale(spatial[d]!, below));
    below = sizeMul(below, sizes[d + 2]!);
  }
  return x.view(sizes, [n, l.ir.div(c, perGroup), l.ir.mod(c, perGroup), flat]);
}

const groupNorm: LoweringOf<'aten::native_group_norm'> = (
  l,
  [x, weight, bias, , , , group, eps],
  call,
) => {
  const sizes = groupedShape(x.shape, Number(group));
  const [, , perGroup] = sizes;
  const channel: Project = ([, g, c]) => [l.ir.add(l.ir.scale(g!, perGroup), c!)];
  const { out, mean, rstd } = normalize(l, {
    input: grouped(l, x, sizes),
    dims: [2, 3],
    eps: Number(eps),
    weight,
    bias,
    parameterCoords: channel,
    dtype: call.dtype,
  });
  const statistic = (s: LoweredTensor, at: number): LoweredTensor => {
    const [n, g] = l.vars([sizes[0]!, sizes[1]!]);
    return castTensor(
      l,
      s.view([sizes[0]!, sizes[1]!], [n!, g!, l.ir.int(0), l.ir.int(0)]),
      call.results[at]!.dtype,
    );
  };
  return [ungrouped(l, out, x.shape, perGroup), statistic(mean, 1), statistic(rstd, 2)];
};

const groupNormBackward: LoweringOf<'aten::native_group_norm_backward'> = (
  l,
  [grad, x, mean, rstd, weight, , , , group, mask],
  call,
) => {
  const acc = accumulateDtype(x.dtype);
  const sizes = groupedShape(x.shape, Number(group));
  const [, , perGroup] = sizes;
  const [n, g] = l.vars(sizes);
  const channel: Project = ([, gg, c]) => [l.ir.add(l.ir.scale(gg!, perGroup), c!)];
  const statistic = (arg: LoweredArg): Expr =>
    l.ir.cast(tensorArg(arg, call.op).load([n!, g!]), acc);
  const shared = {
    grad: grouped(l, grad, sizes),
    input: grouped(l, x, sizes),
    dims: [2, 3],
    mean: statistic(mean),
    rstd: statistic(rstd),
    weight: optional(l, weight, channel, sizes, acc),
    parameterDims: [0, 3],
    parameterSizes: [sizes[1]!, perGroup],
    dtypes: [x.dtype, call.results[1]?.dtype ?? x.dtype, call.results[2]?.dtype ?? x.dtype],
    throughStatistics: true,
  };
  const [gradInput, gradWeight, gradBias] = normalizeBackward(l, { ...shared, mask });
  const flat = (t: LoweredTensor | null | undefined): LoweredTensor | null => {
    if (t == null) return null;
    const [c] = l.vars([x.shape[1]!]);
    return t.view([x.shape[1]!], [l.ir.div(c!, perGroup), l.ir.mod(c!, perGroup)]);
  };
  return [
    gradInput == null ? null : ungrouped(l, gradInput, x.shape, perGroup),
    flat(gradWeight),
    flat(gradBias),
  ];
};

/** Decompositions by overload name. */
export const groupNormDecompositions: LoweringTable = lowerings({
  'aten::native_group_norm': groupNorm,
  'aten::native_group_norm_backward': groupNormBackward,
});
