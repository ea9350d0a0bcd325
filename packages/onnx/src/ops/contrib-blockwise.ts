/**
 * @file Weights in blocks of two, four or eight bits, each block with a scale and zero point.
 */
import {
  type Tensor,
  bitwiseLeftShift,
  bitwiseRightShift,
  bitwiseXor,
  matmul,
  pad,
  stack,
} from '@tessera/tensor';
import { weightInt4packMm, weightInt8packMm } from '@tessera/tensor/internal';
import type { NodeCall } from '../run/node-call.js';
import type { OperatorTable } from '../registry.js';
import { asRowsOf, range } from './like.js';

/** Bytes → integers of `bits`, lowest first: the last dimension grows. */
export function unpack(packed: Tensor, bits: number): Tensor {
  if (bits === 8) return packed;
  const size = 2 ** bits;
  const wide = packed.to('int32');
  const parts = range(8 / bits).map((i) =>
    wide.div(size ** i, { roundingMode: 'floor' }).remainder(size),
  );
  return stack(parts, -1).reshape([...packed.shape.slice(0, -1), -1]);
}

/** Bytes [N, …] as words [N, bytes / 4], the first byte lowest; words, which an imported weight is, as they are. */
function wordsOf(packed: Tensor, rows: number): Tensor {
  if (packed.dtype === 'int32') return packed.reshape([rows, -1]);
  const bytes = packed.to('int32').reshape([rows, -1, 4]);
  return range(4)
    .map((i) => bitwiseLeftShift(bytes.select(2, i), 8 * i))
    .reduce((a, b) => a.add(b));
}

/** The highest bit of each byte of a word. */
const SIGNS = 0x80808080 | 0;

/** Words as bytes, the lowest first: the last dimension grows. */
function bytesOf(words: Tensor): Tensor {
  const parts = range(4).map((i) => bitwiseRightShift(words, 8 * i).bitwiseAnd(255));
  return stack(parts, -1).reshape([...words.shape.slice(0, -1), -1]);
}

/** A weight [N, K] in blocks along K. */
interface Blocks {
  readonly rows: number;
  readonly columns: number;
  readonly bits: number;
  readonly size: number;
  readonly count: number;
}

/** Sizes of the weight of a node. @throws onnx-invalid */
function blocksOf(call: NodeCall): Blocks {
  const [rows, columns] = [call.int('N'), call.int('K')];
  const [bits, size] = [call.int('bits', 4), call.int('block_size')];
  if (bits !== 2 && bits !== 4 && bits !== 8)
    call.fail(`weights of ${bits} bits instead of 2, 4 or 8`);
  if (size < 16 || !Number.isInteger(Math.log2(size)))
    call.fail(`block_size is ${size} instead of a power of two from 16 on`);
  return { rows, columns, bits, size, count: Math.ceil(columns / size) };
}

/** Zero points [N, blocks]: floats, or packed in rows of whole bytes; without them the middle of the range. */
function zeroPoints(call: NodeCall, { rows, bits, count }: Blocks): Tensor | number {
  const given = call.optional(3);
  if (given === null) return 2 ** (bits - 1);
  if (given.dtype !== 'uint8') return given.reshape([rows, count]).to('float32');
  return unpack(given.reshape([rows, -1]), bits)
    .narrow(1, 0, count)
    .to('float32');
}

/** Rows of x, with zeros where the last block has no columns. */
function filledRows(x: Tensor, { columns, size, count }: Blocks): Tensor {
  const missing = count * size - columns;
  const flat = x.reshape([-1, columns]);
  return missing === 0 ? flat : pad(flat, [0, missing]);
}

/** x Wᵀ with W of four bits, of which no float copy is made. */
function fourBitProduct(call: NodeCall, x: Tensor, weight: Blocks): Tensor {
  const { rows, size, count } = weight;
  const words = wordsOf(call.tensor(1), rows);
  const scales = call.tensor(2).reshape([rows, count]).to('float32');
  const zeros = zeroPoints(call, weight);
  // The product takes 8 of each number, and adds what is missing: (q - 8) · scale + (8 - zero) · scale.
  const added = typeof zeros === 'number' ? scales.mul(8 - zeros) : scales.mul(zeros.neg().add(8));
  const scaleAndZeros = stack([scales, added], 2).transpose(0, 1).contiguous();
  return weightInt4packMm(filledRows(x, weight), words, size, scaleAndZeros);
}

/** x Wᵀ with W of eight bits, of which no float copy is made. */
function byteProduct(call: NodeCall, x: Tensor, weight: Blocks): Tensor {
  const { rows, size, count } = weight;
  const given = call.tensor(1);
  // Words of an imported weight have numbers with a sign already: those of the file less 128.
  const words = given.dtype === 'int32' ? given : bitwiseXor(wordsOf(given, rows), SIGNS);
  const scales = call.tensor(2).reshape([rows, count]).to('float32');
  const zeros = zeroPoints(call, weight);
  const filled = filledRows(x, weight);
  const y = weightInt8packMm(filled, words.reshape([rows, -1]), scales.t());
  if (typeof zeros === 'number') return y;
  // What is missing, (128 - zero) · scale, is the same for all columns of a block.
  const sums = filled.to('float32').reshape([-1, count, size]).sum(2);
  return y.add(matmul(sums, zeros.neg().add(128).mul(scales).t()).to(x.dtype));
}

/** x Wᵀ with W unpacked: for weights that no product takes as they are. */
function unpackedProduct(call: NodeCall, x: Tensor, weight: Blocks): Tensor {
  const { rows, columns, bits, size, count } = weight;
  const packed = call.tensor(1);
  const bytes = packed.dtype === 'int32' ? bytesOf(packed) : packed;
  const q = unpack(bytes.reshape([rows, count, -1]), bits).to('float32');
  const zeros = zeroPoints(call, weight);
  const scales = call.tensor(2).reshape([rows, count]).to('float32');
  const groups = call.optional(4)?.to('int64') ?? null;
  const cut = (w: Tensor): Tensor => w.reshape([rows, count * size]).narrow(1, 0, columns);
  // Columns have the scale of their block, or of a block that an input names for each.
  const w =
    groups === null
      ? cut(q.sub(typeof zeros === 'number' ? zeros : zeros.unsqueeze(2)).mul(scales.unsqueeze(2)))
      : cut(q)
          .sub(typeof zeros === 'number' ? zeros : zeros.indexSelect(1, groups))
          .mul(scales.indexSelect(1, groups));
  return matmul(x.reshape([-1, columns]), w.to(x.dtype).t());
}

/** x Wᵀ + b with W [N, K] in blocks along K: (q - zero) · scale, q of `bits` bits. */
function matMulNBits(call: NodeCall): Tensor {
  const x = call.tensor(0);
  const weight = blocksOf(call);
  if (x.shape.at(-1) !== weight.columns)
    call.fail(`rows of ${x.shape.at(-1)} elements, and the weight has K = ${weight.columns}`);
  const ofWords = weight.bits === 4 ? fourBitProduct : weight.bits === 8 ? byteProduct : null;
  const product = call.has(4) ? unpackedProduct : (ofWords ?? unpackedProduct);
  const y = asRowsOf(x, product(call, x, weight));
  const bias = call.optional(5);
  return bias === null ? y : y.add(bias);
}

/** Operators with one output. */
export const contribBlockwise: OperatorTable = { MatMulNBits: matMulNBits };
