/**
 * @file `prims::inductor_force_stride_order`: the same values with given strides, copied only if needed.
 *
 * Marks where a layout is promised: outputs of a graph keep their eager strides whatever layout the
 * inside works with.
 */
import { type OpOverload, type Tensor } from '@tessera/tensor';
import { defineOp, readNumbers, writeNumbers } from '@tessera/tensor/internal';

/** The op. Strides in elements. */
export const forceStrideOrder: OpOverload<Tensor> = defineOp(
  'prims::inductor_force_stride_order(Tensor input, SymInt[] stride) -> Tensor',
  {
    tags: ['pointwise'],
    meta: ({ input, stride }) => ({
      sizes: input.sizes,
      strides: stride,
      dtype: input.dtype,
      device: input.device,
    }),
    kernel: ({ input }, [out]) => writeNumbers(out!, readNumbers(input)),
  },
);
