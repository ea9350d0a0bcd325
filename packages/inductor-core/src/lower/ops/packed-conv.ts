/**
 * @file Lowering of `tessera::convolution_pointwise`: a convolution with the activation behind it, which
 * the scheduler fuses into its epilogue.
 */
import { activationOf } from '@tessera/passes';
import { activationLowerings } from './activation.js';
import { convolution } from './conv.js';
import type { LoweredTensor } from '../lowered-tensor.js';
import { pointwiseLowerings } from './pointwise.js';
import type { LoweringFn } from '../registry.js';

const convolutionPointwise: LoweringFn = (
  l,
  [input, weight, bias, stride, padding, dilation, groups, attr],
  call,
) => {
  const convolved = convolution(
    l,
    [input, weight, bias, stride, padding, dilation, false, [0], groups],
    call,
  ) as LoweredTensor;
  const activation = activationOf(attr as string);
  if (activation === null) return convolved;
  const lower = activationLowerings[activation] ?? pointwiseLowerings[activation]!;
  return lower(l, [convolved], call);
};

/** Lowerings by overload name. */
export const packedConvLowerings: Readonly<Record<string, LoweringFn>> = {
  'tessera::convolution_pointwise': convolutionPointwise,
};
