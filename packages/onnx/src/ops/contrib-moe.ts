/**
 * @file Mixtures of experts of onnxruntime: floats, and weights of two, four and eight bits.
 *
 * All experts are computed for all tokens, without looking at which were picked: one graph, no matter what the router
 * says. So they are one network as wide as all of them, in which each expert's part counts by its weight.
 *
 * @see `moe_cpu.cc`, `moe_quantization_cpu.cc` of onnxruntime
 */
import { functional as F } from '@tessera/nn';
import { type Tensor, matmul, zerosLike } from '@tessera/tensor';
import type { NodeCall } from '../run/node-call.js';
import type { OperatorTable } from '../registry.js';
import { unpack } from './contrib-blockwise.js';
import { asRowsOf } from './like.js';

/** A map of all experts: [experts, out, in], and [experts, out] or null. */
interface ExpertMap {
  readonly weight: Tensor;
  readonly bias: Tensor | null;
}

type MapAt = (number: 1 | 2 | 3) => ExpertMap | null;

/** How much each expert counts for each token, [tokens, experts]: of those picked the shares that `of` gives. */
function weightsOf(call: NodeCall, of: (best: Tensor, picked: Tensor) => Tensor): Tensor {
  if (call.flag('use_sparse_mixer')) call.unsupported('use_sparse_mixer');
  const scores = call.tensor(1);
  const [best, picked] = scores.topk(call.int('k', 1));
  const shares = of(best, picked);
  const whole = call.flag('normalize_routing_weights');
  return zerosLike(scores).scatter(
    1,
    picked,
    whole ? shares.div(shares.sum(1, { keepdim: true })) : shares,
  );
}

/** [tokens, experts, out] of tokens [tokens, in]. */
function mapped(x: Tensor, { weight, bias }: ExpertMap): Tensor {
  const y = matmul(x, weight.flatten(0, 1).t()).unflatten(1, [weight.size(0), -1]);
  return bias === null ? y : y.add(bias);
}

/** Between the maps, [tokens, experts, inner]. */
function activated(call: NodeCall, x: Tensor, first: ExpertMap, third: ExpertMap | null): Tensor {
  const kind = call.choice(
    'activation_type',
    ['relu', 'gelu', 'silu', 'swiglu', 'identity'],
    'relu',
  );
  const y = mapped(x, first);
  if (kind === 'swiglu') return swiglu(call, y, third && mapped(x, third));
  const own = {
    relu: () => y.relu(),
    gelu: () => F.gelu(y, { approximate: 'tanh' }),
    silu: () => F.silu(y),
    identity: () => y,
  }[kind]();
  return third === null ? own : own.mul(mapped(x, third));
}

/** g · σ(alpha · g) · (l + beta) of two maps: apart, or in one, in turns (`swiglu_fusion` 1) or one behind the other (2). */
function swiglu(call: NodeCall, y: Tensor, third: Tensor | null): Tensor {
  const fusion = call.int('swiglu_fusion', 0);
  if (fusion === 0 && third === null) call.fail('swiglu without fc3 wants a swiglu_fusion');
  const limit = call.float('swiglu_limit', Infinity);
  const [gate, line] =
    fusion === 0 ? [y, third!] : fusion === 1 ? y.unflatten(2, [-1, 2]).unbind(3) : y.chunk(2, 2);
  const g = gate!.clampMax(limit);
  const share = g.mul(call.float('activation_alpha', 1)).sigmoid();
  return g.mul(share).mul(line!.clamp(-limit, limit).add(call.float('activation_beta', 0)));
}

function mixture(call: NodeCall, weights: Tensor, map: MapAt): Tensor {
  const input = call.tensor(0);
  const x = input.reshape([-1, input.size(-1)]);
  const shares = weights.to(x.dtype);
  const parts = activated(call, x, map(1)!, map(3)).mul(shares.unsqueeze(2)).flatten(1);
  const { weight, bias } = map(2)!;
  // Side by side, so that the sum over what goes in is that over the experts, too.
  const y = matmul(parts, weight.transpose(0, 1).flatten(1).t());
  return asRowsOf(input, bias === null ? y : y.add(matmul(shares, bias)));
}

function floats(call: NodeCall): Tensor {
  const probabilities = F.softmax(call.tensor(1), -1);
  const weights = weightsOf(call, (_best, picked) => probabilities.gather(1, picked));
  return mixture(call, weights, (number) => {
    const at = 2 * number;
    return call.has(at) ? { weight: call.tensor(at), bias: call.optional(at + 1) } : null;
  });
}

/** (q - zero) · scale of each row, or of each block of columns. */
function unrounded(call: NodeCall, at: number, zerosAt: number): Tensor {
  const bits = call.int('expert_weight_bits', 4);
  if (bits !== 2 && bits !== 4 && bits !== 8)
    call.fail(`weights of ${bits} bits instead of 2, 4 or 8`);
  const q = unpack(call.tensor(at), bits);
  const [experts, rows] = q.shape;
  const scales = call.tensor(at + 1).reshape([experts, rows, -1]);
  const blocks = scales.size(2);
  const zeros = call.optional(zerosAt);
  const isByRow = zeros?.ndim === 2;
  const middle =
    zeros === null
      ? 2 ** (bits - 1)
      : unpack(zeros, bits)
          .narrow(-1, 0, isByRow ? rows : blocks)
          .reshape([experts, rows, -1, 1])
          .to('float32');
  const inBlocks = q.reshape([experts, rows, blocks, -1]).to('float32');
  return inBlocks.sub(middle).mul(scales.unsqueeze(3)).reshape(q.shape);
}

function rounded(call: NodeCall): Tensor {
  const kind = call.text('quant_type', 'int');
  if (kind !== 'int') call.unsupported(`quant_type '${kind}'`);
  if (call.int('weights_prepacked', -1) === 1) call.unsupported('weights_prepacked 1');
  const weights = weightsOf(call, (best, picked) =>
    call.has(14) ? call.tensor(14).gather(1, picked) : F.softmax(best, -1),
  );
  const { dtype } = call.tensor(0);
  return mixture(call, weights, (number) => {
    const at = 3 * number - 1;
    if (!call.has(at)) return null;
    const weight = unrounded(call, at, 10 + number).to(dtype);
    return { weight, bias: call.optional(at + 2) };
  });
}

/** Operators with one output. */
export const contribMixtures: OperatorTable = { MoE: floats, QMoE: rounded };
