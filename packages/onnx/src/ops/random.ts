/**
 * @file Random tensors, from Tessera's generator: the numbers are those of `manualSeed`, not of the node's own seed.
 */
import { type DType, type Tensor, multinomial, rand, randn } from '@tessera/tensor';
import { elementType } from '../model/element-types.js';
import type { NodeCall } from '../run/node-call.js';
import type { OperatorTable } from '../registry.js';

/** The dtype of an attribute, or of the input. */
function wanted(call: NodeCall, fallback: DType): DType {
  const type = elementType(call.int('dtype', 0));
  return type === undefined ? fallback : type.dtype;
}

function like(call: NodeCall): { shape: readonly number[]; dtype: DType } {
  return { shape: call.shape(0), dtype: wanted(call, call.dtype(0)) };
}

function given(call: NodeCall): { shape: readonly number[]; dtype: DType } {
  return { shape: call.ints('shape') ?? [], dtype: wanted(call, 'float32') };
}

type Target = ReturnType<typeof like>;

function uniform(call: NodeCall, { shape, dtype }: Target): Tensor {
  const [low, high] = [call.float('low', 0), call.float('high', 1)];
  return rand([...shape], { dtype, device: call.device })
    .mul(high - low)
    .add(low);
}

function normal(call: NodeCall, { shape, dtype }: Target): Tensor {
  return randn([...shape], { dtype, device: call.device })
    .mul(call.float('scale', 1))
    .add(call.float('mean', 0));
}

/** Operators of the standard domain. */
export const randoms: OperatorTable = {
  RandomUniform: (call) => uniform(call, given(call)),
  RandomUniformLike: (call) => uniform(call, like(call)),
  RandomNormal: (call) => normal(call, given(call)),
  RandomNormalLike: (call) => normal(call, like(call)),
  Bernoulli: (call) =>
    call
      .tensor(0)
      .bernoulli()
      .to(wanted(call, call.dtype(0))),
  Multinomial: (call) =>
    multinomial(call.tensor(0).exp(), call.int('sample_size', 1), { replacement: true }).to(
      wanted(call, 'int32'),
    ),
};
