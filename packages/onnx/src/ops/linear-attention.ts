/**
 * @file Linear attention: a state that each position decays, corrects and reads; and short causal convolutions.
 */
import { functional as F } from '@tessera/nn';
import { type Tensor, cat, matmul, stack, zeros } from '@tessera/tensor';
import type { NodeCall } from '../run/node-call.js';
import type { ListOperatorTable } from '../registry.js';
import { joinHeads, repeatHeads, splitHeads } from './attention.js';
import { inDType, range } from './like.js';

/** The state [B, heads, K, V] goes from position to position; in float32. */
function linear(call: NodeCall): Tensor[] {
  const [queryHeads, heads] = [call.int('q_num_heads'), call.int('kv_num_heads')];
  const part = (input: number, count: number): Tensor =>
    splitHeads(call.tensor(input).to('float32'), count);
  const [query, key, value] = [part(0, queryHeads), part(1, heads), part(2, heads)];
  const [batch, , length, width] = query.shape;
  const past = call.optional(3);
  const decay = call.has(4) ? part(4, heads) : null;
  // One number for all heads, or one for each.
  const beta = call.has(5) ? splitHeads(call.tensor(5).to('float32'), call.shape(5)[2]!) : null;
  const scale = call.float('scale', 0) || 1 / Math.sqrt(width);
  let state =
    past?.to('float32') ?? zeros([batch, heads, width, value.shape[3]!], { device: call.device });
  const outputs = range(length).map((t) => {
    const at = (x: Tensor): Tensor => x.narrow(2, t, 1);
    if (decay !== null) state = state.mul(at(decay).exp().transpose(2, 3));
    let written = at(value);
    if (beta !== null) written = at(beta).mul(written.sub(matmul(at(key), state)));
    state = state.add(matmul(at(key).transpose(2, 3), written));
    return matmul(at(query), repeatHeads(state, queryHeads)).squeeze(2).mul(scale);
  });
  const dtype = call.dtype(0);
  return [inDType(joinHeads(stack(outputs, 2)), dtype), inDType(state, past?.dtype ?? dtype)];
}

/** A convolution of each channel by itself that sees only what is before, and what it saw last. */
function causalConvolution(call: NodeCall): Tensor[] {
  const [x, weight] = [call.tensor(0), call.tensor(1)];
  const [batch, channels] = x.shape;
  const span = weight.shape[2]! - 1;
  const past =
    call.optional(3) ?? zeros([batch, channels, span], { dtype: x.dtype, device: call.device });
  const whole = cat([past, x], 2);
  const y = F.conv1d(whole, weight, { bias: call.optional(2), groups: channels });
  const isSilu = call.choice('activation', ['none', 'silu', 'swish'], 'none') !== 'none';
  return [isSilu ? F.silu(y) : y, whole.narrow(2, whole.shape[2]! - span, span)];
}

/** Operators of the standard domain. */
export const linearAttention: ListOperatorTable = {
  LinearAttention: linear,
  CausalConvWithState: causalConvolution,
};
