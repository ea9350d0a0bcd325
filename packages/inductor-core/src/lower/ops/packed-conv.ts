/**
 * @file Lowering of `tessera::convolution_pointwise`: a convolution with the activation behind it, which
 * the scheduler fuses into its epilogue.
 */
import { activationOf } from '@tessera/passes';
import { activationLowerings } from './activation.js';
import { convolution } from './conv.js';
import { pointwiseLowerings } from './pointwise.js';
import { type LoweringOf, type LoweringTable, lowerings } from '../typed-lowering.js';

const convolutionPointwise: LoweringOf<'tessera::convolution_pointwise'> = (
  l,
  [input, weight, bias, stride, padding, dilation, groups, attr],
  call,
) => {
  const convolved = convolution(
    l,
    [input, weight, bias, stride, padding, dilation, false, [0], groups],
    call,
  );
  const activation = activationOf(attr);
  if (activation === null) return convolved;
  const lower = activationLowerings[activation] ?? pointwiseLowerings[activation]!;
  return lower(l, [convolved], call);
};

/** Lowerings by overload name. */
export const packedConvLowerings: LoweringTable = lowerings({
  'tessera::convolution_pointwise': convolutionPointwise,
});
