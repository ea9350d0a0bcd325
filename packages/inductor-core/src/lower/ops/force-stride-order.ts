/**
 * @file Lowering of `prims::inductor_force_stride_order`: the same value where its memory lies as asked,
 * else a copy, which the scheduler fuses into whoever makes the value if it can.
 */
import { tensorArg } from './elementwise.js';
import { type LoweringOf, type LoweringTable, lowerings } from '../typed-lowering.js';

const forceStrideOrder: LoweringOf<'prims::inductor_force_stride_order'> = (
  l,
  [input, stride],
  call,
) => {
  const x = tensorArg(input, call.op);
  const buffer = x.wholeBuffer;
  if (buffer !== null && buffer.strides.every((size, d) => size === stride[d])) return x;
  return l.pointwise(call.shape, x.expr);
};

/** Lowerings by overload name. */
export const layoutLowerings: LoweringTable = lowerings({
  'prims::inductor_force_stride_order': forceStrideOrder,
});
