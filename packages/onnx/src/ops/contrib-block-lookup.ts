/**
 * @file Rows of a table in blocks of few bits, and products with weights of bitsandbytes: numbers that stand for others.
 */
import { type Tensor, index, matmul, stack, tensor } from '@tessera/tensor';
import { typeOf } from '../run/narrow-types.js';
import type { NodeCall } from '../run/node-call.js';
import type { OperatorTable } from '../registry.js';
import { unpack } from './contrib-blockwise.js';
import { wrapped } from './like.js';

/** Slices of x at indices along a dimension, in place of it. */
function slices(x: Tensor, dim: number, at: Tensor): Tensor {
  return index(x, [...Array<null>(dim).fill(null), at]);
}

/** Gather of (q - zero) · scale, with a scale and zero point of each block along one axis. */
function gatherBlocks(call: NodeCall): Tensor {
  const [packed, scales] = [call.tensor(0), call.tensor(2)];
  const [bits, block] = [call.int('bits', 4), call.int('block_size', 128)];
  const gathers = call.dim(call.int('gather_axis', 0), packed.ndim);
  const quantized = call.dim(call.int('quantize_axis', 1), packed.ndim);
  const type = typeOf(call.array(0));
  const isPacked = type.bits === 8 && bits < 8;
  if (isPacked && gathers === packed.ndim - 1)
    call.fail(
      'bytes hold several numbers along the last axis, and that is the one to gather along',
    );
  const open = (x: Tensor): Tensor => (isPacked ? unpack(x, bits) : x);
  const at = wrapped(call.tensor(1).to('int64'), packed.shape[gathers]!);
  const q = open(slices(packed, gathers, at)).to('float32');
  const dim = quantized < gathers ? quantized : quantized + at.ndim - 1;
  // Blocks are those of the axis that is gathered along, or whole along another.
  const isAcross = gathers === quantized;
  const blocks = isAcross ? at.div(block, { roundingMode: 'floor' }) : at;
  const each = (x: Tensor): Tensor => {
    const own = slices(x, gathers, blocks).to('float32');
    return isAcross ? own : own.repeatInterleave(block, dim).narrow(dim, 0, q.shape[dim]!);
  };
  const zeros = (): Tensor | number => {
    if (!call.has(3)) return type.bits === 8 ? 2 ** (bits - 1) : 0;
    const opened = open(call.tensor(3));
    return each(opened.narrow(-1, 0, scales.shape.at(-1)!));
  };
  return q.sub(zeros()).mul(each(scales)).to(scales.dtype);
}

/** Half of the floats of four bits. */
const MINIFLOATS = [0, 0.0052083333, 0.6666666667, 1, 0.3333333333, 0.5, 0.1666666667, 0.25];

/** What four bits stand for in bitsandbytes: floats with an exponent, and quantiles of the normal distribution. */
const CODES = [
  [...MINIFLOATS, ...MINIFLOATS.map((x) => -x)],
  [
    -1, -0.6961928009986877, -0.5250730514526367, -0.39491748809814453, -0.28444138169288635,
    -0.18477343022823334, -0.09105003625154495, 0, 0.07958029955625534, 0.16093020141124725,
    0.24611230194568634, 0.33791524171829224, 0.44070982933044434, 0.5626170039176941,
    0.7229568362236023, 1,
  ],
];

/** x Wᵀ with W [N, K] one after the other in blocks: a code times the largest number of the block. */
function bitsAndBytesProduct(call: NodeCall): Tensor {
  const x = call.tensor(0);
  const [n, k] = [call.int('N'), call.int('K')];
  const [block, kind] = [call.int('block_size'), call.int('quant_type')];
  const codes = CODES[kind] ?? call.fail(`quant_type is ${kind} instead of 0 (FP4) or 1 (NF4)`);
  const bytes = call.tensor(1).reshape([-1]).to('int32');
  // The first of two is in the higher bits.
  const digits = stack([bytes.div(16, { roundingMode: 'floor' }), bytes.remainder(16)], 1);
  const table = tensor([...codes], { dtype: 'float32', device: call.device });
  const values = index(
    table,
    digits
      .reshape([-1])
      .narrow(0, 0, n * k)
      .to('int64'),
  );
  const largest = call
    .tensor(2)
    .to('float32')
    .repeatInterleave(block, 0)
    .narrow(0, 0, n * k);
  return matmul(x, values.mul(largest).reshape([n, k]).to(x.dtype).t());
}

/** Operators with one output. */
export const contribBlockLookup: OperatorTable = {
  GatherBlockQuantized: gatherBlocks,
  MatMulBnb4: bitsAndBytesProduct,
};
