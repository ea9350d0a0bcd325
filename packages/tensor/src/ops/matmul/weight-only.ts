/**
 * @file Products with weights of 8 or 4 bits: x @ dequantized(W)ᵀ, without a float copy of W.
 *
 * Weights lie in words of 32 bits, four or eight to a word, the first in the lowest bits, so that they take the same
 * memory on every device. Gradients flow to x and to scales; for them W is dequantized, for as long as the product takes.
 *
 * @see torch._weight_int8pack_mm, torch._weight_int4pack_mm; their packing is that of PyTorch's own kernels
 */
import { denseMeta } from '../../kernels/suggest-format.js';
import { TesseraError } from '@tessera/shared';
import { callOp } from '../../dispatch/dispatcher.js';
import { type DType, isFloatingPoint } from '../../dtype.js';
import { readNumbers, writeNumbers } from '../../kernels/elements.js';
import { multiplyAdd } from '../../kernels/matmul-kernel.js';
import { defineOp } from '../../op/op-overload.js';
import type { TensorMeta } from '../../op/op-record.js';
import { formatSizes } from '../../shape.js';
import type { Tensor } from '../../tensor.js';
import { toDtype } from '../arrange/copy.js';
import { stack } from '../arrange/join.js';
import { arange } from '../factory/range.js';
import { add, mul, sub } from '../pointwise/arithmetic.js';
import { bitwiseAnd } from '../pointwise/logical.js';
import { bitwiseRightShift } from '../pointwise/integer.js';
import { sum } from '../reduction/reduction.js';
import { unsqueeze } from '../view/dims.js';
import { narrow, select } from '../view/slice.js';
import { reshape } from '../view/view.js';
import { mm } from './matmul.js';

function refuse(op: string, message: string, tensors: readonly Tensor[]): never {
  throw new TesseraError('shape-mismatch', `${op}: ${message}`, {
    context: { op, shapes: tensors.map(({ sizes }) => sizes) },
    hints: ['quantize() of @tessera/transformers packs the weights of a model.'],
  });
}

/** [M, K] and words [N, ⌈K / perWord⌉] → [M, N]. @throws shape-mismatch, dtype-mismatch */
function productMeta(op: string, self: Tensor, mat2: Tensor, perWord: number): TensorMeta {
  const [rows, inner] = self.sizes;
  if (self.ndim !== 2 || mat2.ndim !== 2 || mat2.sizes[1] !== Math.ceil(inner / perWord))
    refuse(op, `${formatSizes(self.sizes)} @ words ${formatSizes(mat2.sizes)}ᵀ do not fit`, [
      self,
      mat2,
    ]);
  if (!isFloatingPoint(self.dtype) || mat2.dtype !== 'int32')
    throw new TesseraError(
      'dtype-mismatch',
      `${op}: expected floats @ int32 words, but got ${self.dtype} and ${mat2.dtype}`,
    );
  const sizes = [rows, mat2.sizes[0]!];
  return denseMeta(self, sizes);
}

/** Numbers of `bits` bits from words, sign-extended or not; [N, K] row by row. */
function unpacked(words: Tensor, inner: number, bits: number, signed: boolean): Float64Array {
  const [rows, width] = words.sizes;
  const perWord = 32 / bits;
  const packed = readNumbers(words);
  const out = new Float64Array(rows * inner);
  for (let n = 0; n < rows; n++)
    for (let k = 0; k < inner; k++) {
      const word = packed[n * width + Math.floor(k / perWord)]!;
      const up = word << (32 - bits - (k % perWord) * bits);
      out[n * inner + k] = signed ? up >> (32 - bits) : up >>> (32 - bits);
    }
  return out;
}

/** x @ Wᵀ with W row by row, into `out`. */
function productInto(out: Tensor, self: Tensor, weight: Float64Array): void {
  const [rows, inner] = self.sizes;
  const columns = out.sizes[1]!;
  const turned = new Float64Array(weight.length);
  for (let n = 0; n < columns; n++)
    for (let k = 0; k < inner; k++) turned[k * columns + n] = weight[n * inner + k]!;
  const result = new Float64Array(rows * columns);
  multiplyAdd(readNumbers(self), turned, result, rows, inner, columns);
  writeNumbers(out, result);
}

/** Numbers of words as a float tensor [N, K], by operators: for gradients. */
function unpackWords(words: Tensor, inner: number, bits: number, dtype: DType): Tensor {
  const shifts = mul(arange(32 / bits, { dtype: 'int32', device: words.device }), bits);
  const parts = bitwiseAnd(bitwiseRightShift(unsqueeze(words, -1), shifts), 2 ** bits - 1);
  return toDtype(narrow(reshape(parts, [words.sizes[0]!, -1]), 1, 0, inner), dtype);
}

/** The same for numbers of 8 bits with a sign. */
function unpackSigned(words: Tensor, inner: number, dtype: DType): Tensor {
  const unsigned = unpackWords(words, inner, 8, dtype);
  // 128 … 255 stand for -128 … -1.
  const wraps = toDtype(unsigned.gt(127), dtype);
  return sub(unsigned, mul(wraps, 256));
}

/** The float weight [N, K] of `weightInt8packMm`. */
export function dequantizeInt8(words: Tensor, scales: Tensor, inner: number): Tensor {
  const values = unpackSigned(words, inner, scales.dtype);
  if (scales.ndim === 1) return mul(values, unsqueeze(scales, 1));
  const [groups, rows] = scales.sizes;
  const split = reshape(values, [rows, groups, inner / groups]);
  return reshape(mul(split, unsqueeze(scales.t(), 2)), [rows, inner]);
}

/** The float weight [N, K] of `weightInt4packMm`. */
export function dequantizeInt4(words: Tensor, group: number, scaleAndZeros: Tensor): Tensor {
  const [groups, rows] = scaleAndZeros.sizes;
  const values = unpackWords(words, groups * group, 4, scaleAndZeros.dtype);
  const split = reshape(sub(values, 8), [rows, groups, group]);
  const [scale, zero] = [0, 1].map((i) => unsqueeze(select(scaleAndZeros, 2, i).t(), 2));
  return reshape(add(mul(split, scale), zero), [rows, groups * group]);
}

/** How many columns of scales of 8-bit weights a row has. */
function groupsOf(scales: Tensor): number {
  return scales.ndim === 1 ? 1 : scales.sizes[0]!;
}

const int8Op = defineOp(
  'aten::_weight_int8pack_mm(Tensor self, Tensor mat2, Tensor scales) -> Tensor',
  {
    tags: ['compute-intensive'],
    meta({ self, mat2, scales }) {
      const isEven = Number.isInteger(self.sizes[1]! / groupsOf(scales));
      if (scales.ndim > 2 || scales.sizes.at(-1) !== mat2.sizes[0] || !isEven)
        refuse(
          '_weight_int8pack_mm',
          'there has to be a scale for each row of the weight, [N], or for each group of columns, [groups, N]',
          [mat2, scales],
        );
      return productMeta('_weight_int8pack_mm', self, mat2, 4);
    },
    kernel({ self, mat2, scales }, [out]) {
      const inner = self.sizes[1]!;
      const [rows, groups] = [mat2.sizes[0]!, groupsOf(scales)];
      const weight = unpacked(mat2, inner, 8, true);
      const scale = readNumbers(scales);
      productInto(
        out!,
        self,
        weight.map((value, i) => {
          const group = Math.floor(((i % inner) * groups) / inner);
          return value * scale[group * rows + Math.floor(i / inner)]!;
        }),
      );
    },
    savedFor: { self: ['mat2', 'scales'], scales: ['self', 'mat2'] },
    vjp: ({ mat2, scales, self }, { grad }) => ({
      self: () => mm(grad, toDtype(dequantizeInt8(mat2, scales, self.sizes[1]!), grad.dtype)),
      // Of each group, the gradient of its elements by the number that each of them is.
      scales: () => {
        const inner = self.sizes[1]!;
        const ofWeight = mul(mm(grad.t(), self), unpackSigned(mat2, inner, grad.dtype));
        const groups = groupsOf(scales);
        const sums = sum(reshape(ofWeight, [mat2.sizes[0]!, groups, inner / groups]), 2);
        return reshape(toDtype(sums.t(), scales.dtype), scales.sizes);
      },
    }),
  },
);

const int4Op = defineOp(
  'aten::_weight_int4pack_mm(Tensor self, Tensor mat2, int qGroupSize, Tensor qScaleAndZeros) -> Tensor',
  {
    tags: ['compute-intensive'],
    meta({ self, mat2, qGroupSize, qScaleAndZeros: scales }) {
      const [groups, rows, both] = scales.sizes;
      const fits = groups * qGroupSize === self.sizes[1] && rows === mat2.sizes[0] && both === 2;
      if (scales.ndim !== 3 || !fits)
        refuse(
          '_weight_int4pack_mm',
          `expected a scale and a zero for each group of ${qGroupSize}, [K / ${qGroupSize}, N, 2]`,
          [self, mat2, scales],
        );
      return productMeta('_weight_int4pack_mm', self, mat2, 8);
    },
    kernel({ self, mat2, qGroupSize, qScaleAndZeros }, [out]) {
      const inner = self.sizes[1]!;
      const rows = mat2.sizes[0]!;
      const scales = readNumbers(qScaleAndZeros);
      const weight = unpacked(mat2, inner, 4, false).map((value, i) => {
        const [n, k] = [Math.floor(i / inner), i % inner];
        const at = 2 * (Math.floor(k / qGroupSize) * rows + n);
        return (value - 8) * scales[at]! + scales[at + 1]!;
      });
      productInto(out!, self, weight);
    },
    savedFor: { self: ['mat2', 'qScaleAndZeros'], qScaleAndZeros: ['self', 'mat2'] },
    vjp: ({ self, mat2, qGroupSize, qScaleAndZeros }, { grad }) => ({
      self: () => mm(grad, toDtype(dequantizeInt4(mat2, qGroupSize, qScaleAndZeros), grad.dtype)),
      // Of each group, the gradient of its elements by the number that each of them is, and by one.
      qScaleAndZeros: () => {
        const [groups, rows] = qScaleAndZeros.sizes;
        const split = [rows, groups, qGroupSize];
        const ofWeight = reshape(mm(grad.t(), self), split);
        const values = unpackWords(mat2, groups * qGroupSize, 4, grad.dtype);
        const scales = sum(mul(ofWeight, reshape(sub(values, 8), split)), 2);
        const both = stack([scales.t(), sum(ofWeight, 2).t()], 2);
        return toDtype(both, qScaleAndZeros.dtype);
      },
    }),
  },
);

/**
 * x @ (W · scales)ᵀ with W of 8 bits: [M, K] @ [N, K]ᵀ → [M, N].
 *
 * @param mat2 W in words, int32 [N, ⌈K / 4⌉]: column k in bits 8 · (k mod 4) of word ⌊k / 4⌋, signed
 * @param scales [N], as PyTorch has it; or [groups, N], where a group of K / groups columns shares one
 * @throws shape-mismatch, dtype-mismatch
 * @see torch._weight_int8pack_mm
 */
export function weightInt8packMm(self: Tensor, mat2: Tensor, scales: Tensor): Tensor {
  return callOp(int8Op, [self, mat2, scales]);
}

/**
 * x @ ((W - 8) · scale + zero)ᵀ with W of 4 bits: [M, K] @ [N, K]ᵀ → [M, N].
 *
 * @param mat2 W in words, int32 [N, K / 8]: column k in bits 4 · (k mod 8) of word ⌊k / 8⌋
 * @param qGroupSize columns of W that share a scale and a zero
 * @param qScaleAndZeros [K / qGroupSize, N, 2]
 * @throws shape-mismatch, dtype-mismatch
 * @see torch._weight_int4pack_mm
 */
export function weightInt4packMm(
  self: Tensor,
  mat2: Tensor,
  qGroupSize: number,
  qScaleAndZeros: Tensor,
): Tensor {
  return callOp(int4Op, [self, mat2, qGroupSize, qScaleAndZeros]);
}
