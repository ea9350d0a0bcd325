/**
 * @file The LSTM whose weights are of eight bits, and whose operands are put into 256 steps as it runs.
 */
import type { Tensor } from '@tessera/tensor';
import type { NodeCall } from '../run/node-call.js';
import type { ListOperatorTable } from '../registry.js';
import { inSteps } from './quantize.js';
import { lstm } from './recurrent.js';

/** Weights [D, K, gates · hidden] with a scale and zero point per direction, or per column, turned round. */
function weight(call: NodeCall, input: number, scale: number): Tensor {
  const { dtype } = call.tensor(0);
  const each = (at: number): Tensor => {
    const value = call.tensor(at).to(dtype);
    const [directions, columns = 1] = value.shape;
    return value.reshape([directions!, 1, columns]);
  };
  const wide = call.tensor(input).to(dtype);
  return wide
    .sub(each(scale + 1))
    .mul(each(scale))
    .transpose(1, 2);
}

/** A tensor as 256 steps over its range hold it. */
function inOwnSteps(x: Tensor): Tensor {
  const { steps, scale, zero } = inSteps(x);
  return steps.sub(zero).mul(scale);
}

/** Operators with several outputs. */
export const contribQuantizedLstm: ListOperatorTable = {
  DynamicQuantizeLSTM: lstm({
    weights: (call) => [weight(call, 1, 8), weight(call, 2, 10)],
    operand: inOwnSteps,
  }),
};
