/**
 * @file `tessera::convolution_pointwise`: a convolution with a prepacked weight and an activation behind it.
 *
 * What weight prepacking makes of `aten::convolution` in frozen graphs, so that passes can tell packed
 * convolutions from others and name what is fused into them. Modelled on mkldnn::_convolution_pointwise.
 */
import { TesseraError } from '@tessera/shared';
import { type OpOverload, type Tensor, callOp } from '@tessera/tensor';
import { defineOp, getOp } from '@tessera/tensor/internal';

/** Activations that may stand behind a convolution. */
const ACTIVATIONS: ReadonlySet<string> = new Set(['relu', 'sigmoid', 'tanh', 'silu']);

/** The activation op that an `attr` names; null for 'none'. @throws invalid-argument */
export function activationOf(attr: string): string | null {
  if (attr === 'none') return null;
  if (ACTIVATIONS.has(attr)) return `aten::${attr}`;
  throw new TesseraError(
    'invalid-argument',
    `convolution_pointwise: there is no activation '${attr}'.`,
    {
      context: { attr },
      hints: [`Use 'none' or one of ${[...ACTIVATIONS].join(', ')}.`],
    },
  );
}

/** The op. */
export const convolutionPointwise: OpOverload<Tensor> = defineOp(
  'tessera::convolution_pointwise(Tensor input, Tensor weight, Tensor? bias, SymInt[] stride, SymInt[] padding, SymInt[] dilation, SymInt groups, str attr) -> Tensor',
  {
    tags: ['compute-intensive'],
    decompose: ({ input, weight, bias, stride, padding, dilation, groups, attr }) => {
      const convolved = callOp(getOp('aten::convolution'), [
        input,
        weight,
        bias,
        stride,
        padding,
        dilation,
        false,
        [0],
        groups,
      ]);
      const activation = activationOf(attr);
      return activation === null ? convolved : (callOp(getOp(activation), [convolved]) as Tensor);
    },
  },
);
