/**
 * @file Results that have the element type of an input, where a wider dtype holds it: arithmetic of uint16 and uint32
 * wraps around as theirs does, and what moves such values passes the type on.
 *
 * uint64 is int64 here, which wraps at the same bits.
 */
import { type Tensor, isTensor } from '@tessera/tensor';
import type { ElementType } from '../model/element-types.js';
import type { OnnxNode } from '../model/model.js';
import { HostArray } from './host-array.js';
import { noteType, notedType } from './narrow-types.js';
import { type Value, isArray } from './value.js';

/** Operators of the standard domain whose results may leave the range of their first input's type. */
const ARITHMETIC = new Set([
  ...['Add', 'Sub', 'Mul', 'Pow', 'Neg', 'Sum', 'BitwiseNot', 'BitShift', 'MatMul', 'Gemm'],
  ...['ReduceSum', 'ReduceProd', 'ReduceSumSquare', 'CumSum', 'CumProd', 'Einsum'],
  ...['ScatterElements', 'ScatterND'],
]);

/** Operators whose first result has the type of an input and stays in its range, with the number of that input. */
const MOVES = new Map<string, number>([
  ...[
    ...['Identity', 'Reshape', 'Flatten', 'Squeeze', 'Unsqueeze', 'Transpose', 'Expand', 'Tile'],
    ...['Slice', 'Gather', 'GatherElements', 'GatherND', 'Compress', 'Pad', 'Concat', 'Trilu'],
    ...['Max', 'Min', 'Clip', 'Div', 'Mod', 'BitwiseAnd', 'BitwiseOr', 'BitwiseXor', 'Abs'],
    ...['ReduceMax', 'ReduceMin', 'TopK', 'Unique', 'ReverseSequence', 'DepthToSpace', 'Range'],
    ...['SpaceToDepth', 'Scatter'],
  ].map((type) => [type, 0] as const),
  ['Split', 0],
  ['Where', 1],
  ['OneHot', 2],
]);

/** Keeps the lowest bits, as an integer of that many has them. */
export function wrapped(x: Tensor, { bits, signed }: ElementType): Tensor {
  const size = 2 ** bits;
  const low = x.remainder(size);
  if (!signed) return low;
  const isNegative = low.ge(size / 2).to(low.dtype);
  return low.sub(isNegative.mul(size));
}

function wrappedValue(value: Tensor | HostArray, type: ElementType): Tensor | HostArray {
  if (isTensor(value)) return wrapped(value, type);
  const { dtype, shape, data } = value;
  const size = 2 ** type.bits;
  return new HostArray(
    dtype,
    shape,
    data.map((x) => ((x % size) + size) % size),
  );
}

/** Results of a node as the types of its inputs have them. */
export function keepTypes(
  { domain, type }: OnnxNode,
  inputs: readonly Value[],
  results: readonly Value[],
): readonly Value[] {
  const computes = ARITHMETIC.has(type);
  const from = computes ? 0 : MOVES.get(type);
  if (from === undefined || domain !== '') return results;
  const source = inputs[from] ?? null;
  const element = isArray(source) ? notedType(source) : undefined;
  if (element === undefined) return results;
  // Further results are places (of TopK), but those of Split.
  return results.map((value, i) => {
    if ((i > 0 && type !== 'Split') || !isArray(value) || value.dtype !== element.dtype)
      return value;
    return noteType(computes ? wrappedValue(value, element) : value, element);
  });
}
