/**
 * @file Pointwise operators whose values are those of others, with a derivative of their own: one that is exact, and
 * PyTorch's at the ends, where that of the composition would be 0 · ∞.
 */
import type { NamedArgs, OpRecord } from '../../op/op-record.js';
import { readNumbers, writeNumbers } from '../../kernels/elements.js';
import { pointwiseMeta } from '../../kernels/pointwise-kernel.js';
import { isTensor } from '../../tensor-factory.js';
import type { Tensor } from '../../tensor.js';
import { toDtype } from '../arrange/copy.js';
import { quietly } from '../fft/quietly.js';

/**
 * The part of a record that says the values: `compose` of its operands as floats, rounded once on the CPU, and what
 * compilers compute instead.
 */
export function composed(
  names: readonly string[],
  compose: (...operands: Tensor[]) => Tensor,
): Pick<OpRecord<NamedArgs, Tensor>, 'tags' | 'meta' | 'kernel' | 'expand'> {
  const composedOf = (args: NamedArgs, prepare: (x: Tensor) => Tensor): Tensor =>
    quietly(() =>
      compose(
        ...names
          .map((name): unknown => args[name])
          .filter(isTensor)
          .map(prepare),
      ),
    );
  const meta = pointwiseMeta({ operands: names, result: 'float' });
  return {
    tags: ['pointwise'],
    meta,
    kernel: (args, [out]) =>
      writeNumbers(out!, readNumbers(composedOf(args, (x) => toDtype(x, 'float64')))),
    // Operands of other dtypes first become what the result is: a number in a tensor says little about that.
    expand: (args) => {
      const { dtype } = meta(args);
      return composedOf(args, (x) => toDtype(x, dtype));
    },
  };
}
