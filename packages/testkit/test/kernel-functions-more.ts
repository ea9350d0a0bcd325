/**
 * @file Further functions whose kernels PyTorch 2.13's compiler was counted on, on its CPU target alone: windows,
 * joins, cells, losses and gates, where its counts leave no room.
 */
import { functional as F } from '@tessera/nn';
import { type Tensor, cat, cosineSimilarity, stack } from '@tessera/tensor';
import type { KernelFunction } from './kernel-functions.js';

type Inputs = ReturnType<KernelFunction['make']>['inputs'];

function sample(
  name: string,
  torch: number,
  training: boolean,
  fn: (...inputs: Tensor[]) => Tensor,
  inputs: () => Inputs,
): KernelFunction {
  return { name, torch, training, make: () => ({ fn, inputs: inputs() }) };
}

function lstmCell(...inputs: Tensor[]): Tensor {
  const [value, hidden, cell, wide, deep] = inputs as [Tensor, Tensor, Tensor, Tensor, Tensor];
  const gates = F.linear(value, wide).add(F.linear(hidden, deep)).chunk(4, 1);
  const [i, f, o, u] = gates as [Tensor, Tensor, Tensor, Tensor];
  const next = f.sigmoid().mul(cell).add(i.sigmoid().mul(u.tanh()));
  return o.sigmoid().mul(next.tanh());
}

/** Rotary embedding of neighbours. */
function rotated(value: Tensor, cos: Tensor, sin: Tensor): Tensor {
  const even = value.slice(-1, 0, null, 2);
  const odd = value.slice(-1, 1, null, 2);
  const turned = [even.mul(cos).sub(odd.mul(sin)), even.mul(sin).add(odd.mul(cos))];
  return stack(turned, -1).flatten(-2);
}

function gated(value: Tensor, wide: Tensor, narrow: Tensor): Tensor {
  const [a, b] = F.linear(value, wide).chunk(2, -1) as [Tensor, Tensor];
  return F.linear(a.mul(F.gelu(b)), narrow);
}

/** A costly value whose gradient goes to two of four parts. */
function quarters(value: Tensor): Tensor {
  const [a, b, c, d] = value.split(16, 1) as [Tensor, Tensor, Tensor, Tensor];
  return a.sin().mul(b.cos()).add(c.exp().mul(d));
}

/** Attention written out, whose keys and values each serve two heads of the query. */
function sharedHeads(q: Tensor, k: Tensor, v: Tensor): Tensor {
  const [keys, values] = [k, v].map((x) => x.repeatInterleave(2, 1)) as [Tensor, Tensor];
  return q.matmul(keys.transpose(-2, -1)).mul(0.35).softmax(-1).matmul(values);
}

/** The functions, made on tensors of given sizes. */
export function moreKernelFunctions(x: (...sizes: number[]) => Tensor): readonly KernelFunction[] {
  const headInputs = (): Inputs => [x(2, 4, 16, 8), x(2, 2, 16, 8), x(2, 2, 16, 8)];
  return [
    sample(
      'avg_pool',
      1,
      false,
      (a) => F.avgPool2d(a.sin(), 2),
      () => [x(2, 4, 8, 8)],
    ),
    sample(
      'max_pool_gelu',
      1,
      false,
      (a) => F.gelu(F.maxPool2d(a.sin(), 3, { stride: 2, padding: 1 })),
      () => [x(2, 4, 8, 8)],
    ),
    sample(
      'cat_of_slices',
      2,
      true,
      (a) => cat([a.narrow(1, 0, 1).exp(), a.narrow(1, 1, 7).sin()], 1),
      () => [x(8, 8)],
    ),
    {
      ...sample(
        'upsample',
        1,
        false,
        (a) => F.interpolate(a.sin(), { scaleFactor: 2 }),
        () => [x(2, 4, 8, 8)],
      ),
      exception: {
        kernels: 2,
        reason:
          'PyTorch computes the value again for each of its copies. Here that took as long for a sine and 1.6 times as long for a GELU (of [8, 32, 32, 32], doubled), so it is computed once.',
      },
    },
    sample(
      'running_sum',
      2,
      false,
      (a) => a.sin().cumsum(1).tanh(),
      () => [x(16, 40)],
    ),
    sample('split_train', 2, true, quarters, () => [x(8, 64)]),
    sample('lstm_cell_train', 3, true, lstmCell, () => [
      x(8, 16),
      x(8, 12),
      x(8, 12),
      x(48, 16),
      x(48, 12),
    ]),
    sample('rope', 1, false, rotated, () => [x(2, 4, 8, 8), x(8, 4), x(8, 4)]),
    sample('geglu_train', 2, true, gated, () => [x(8, 16), x(64, 16), x(16, 32)]),
    sample(
      'cosine_similarity',
      4,
      false,
      (a, b) => cosineSimilarity(a, b, { dim: -1 }),
      () => [x(8, 32), x(8, 32)],
    ),
    sample(
      'outer_train',
      3,
      true,
      (a, b) => a.unsqueeze(1).add(b.unsqueeze(0)).tanh().sum(),
      () => [x(16), x(32)],
    ),
    sample('shared_heads', 2, false, sharedHeads, headInputs),
    sample('shared_heads_train', 5, true, sharedHeads, headInputs),
  ];
}
