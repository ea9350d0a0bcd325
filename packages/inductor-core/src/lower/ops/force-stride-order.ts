/**
 * @file Lowering of `prims::inductor_force_stride_order`: the same value where its memory lies as asked,
 * else a copy, which the scheduler fuses into whoever makes the value if it can.
 */
import { tensorArg } from './elementwise.js';
import type { LoweringFn } from '../registry.js';
import type { Shape } from '../shape-math.js';

const forceStrideOrder: LoweringFn = (l, [input, stride], call) => {
  const x = tensorArg(input!, call.op);
  const strides = stride as Shape;
  const buffer = x.wholeBuffer;
  if (buffer !== null && buffer.strides.every((size, d) => size === strides[d])) return x;
  return l.pointwise(call.shape, x.expr);
};

/** Lowerings by overload name. */
export const layoutLowerings: Readonly<Record<string, LoweringFn>> = {
  'prims::inductor_force_stride_order': forceStrideOrder,
};
