/**
 * @file Reference kernels and meta rules of pointwise ops.
 */
import { SymScalar, type ScalarLike } from '@tessera/shared';
import type { DType } from '../dtype.js';
import type { NamedArgs, OpRecord, TensorMeta } from '../op/op-record.js';
import { type Operand, resultType, toFloating } from '../type-promotion.js';
import { broadcastShapes, contiguousStrides, numelOf, sameNumbers } from '../shape.js';
import { isTensor } from '../tensor-factory.js';
import type { TensorBase } from '../tensor-base.js';
import type { Tensor } from '../tensor.js';
import { readNumbers, writeNumbers } from './elements.js';

/** How the result dtype follows from the promoted operands. */
export type ResultRule =
  /** The promoted type. */
  | 'promote'
  /** Integers and bools become the default float type. */
  | 'float'
  | 'bool';

/** Options of a pointwise meta rule. */
export interface PointwiseOptions {
  /** Names of the operands, tensors or numbers, in order; default `self`, `other`. */
  readonly operands?: readonly string[];
  readonly result?: ResultRule;
  /** Name used in errors. */
  readonly name?: string;
}

const DEFAULT_OPERANDS = ['self', 'other'];

function operandsOf(args: NamedArgs, names: readonly string[]): Operand[] {
  return names.map((name) => args[name] as Operand | null | undefined).filter((value): value is Operand => value !== null && value !== undefined);
}

/** Numeric value of a number-like operand; a lifted scalar gives its hint (only fakes are traced with those). */
export function scalarValue(value: ScalarLike): number {
  return value instanceof SymScalar ? value.hint : Number(value);
}

/**
 * Strides of a pointwise result: the layout of the first operand of full shape if it is dense
 * (permuted inputs give permuted outputs, as TensorIterator does), else row-major.
 */
export function pointwiseStrides(sizes: readonly number[], tensors: readonly TensorBase[]): number[] {
  for (const tensor of tensors) {
    if (!sameNumbers(tensor.sizes, sizes)) continue;
    const dense = denseStrides(sizes, tensor.strides);
    if (dense !== null) return dense;
  }
  return contiguousStrides(sizes);
}

/** Gap-free strides in the same order of dims; null if the layout broadcasts or has no clear order. */
function denseStrides(sizes: readonly number[], strides: readonly number[]): number[] | null {
  const order = sizes.map((_, i) => i).filter((i) => sizes[i] !== 1);
  if (order.some((i) => strides[i] === 0)) return null;
  order.sort((a, b) => strides[a]! - strides[b]! || b - a);
  const out = contiguousStrides(sizes);
  let step = 1;
  let rowMajor = true;
  for (let k = 0; k < order.length; k++) {
    if (order[k] !== order.slice().sort((a, b) => b - a)[k]) rowMajor = false;
    out[order[k]!] = step;
    step *= sizes[order[k]!]!;
  }
  if (rowMajor) return contiguousStrides(sizes);
  // Dims of size 1 get the stride that a dense layout would give them.
  for (let i = sizes.length - 1; i >= 0; i--) if (sizes[i] === 1) out[i] = i === sizes.length - 1 ? 1 : Math.max(1, out[i + 1]! * sizes[i + 1]!);
  return out;
}

/** Shape, stride and dtype of a pointwise op. @throws shape-mismatch */
export function pointwiseMeta(options: PointwiseOptions = {}): (args: NamedArgs) => TensorMeta {
  const names = options.operands ?? DEFAULT_OPERANDS;
  const rule = options.result ?? 'promote';
  return (args) => {
    const operands = operandsOf(args, names);
    const tensors = operands.filter((operand): operand is Tensor => isTensor(operand));
    const sizes = tensors.length === 1 ? tensors[0]!.sizes : broadcastShapes(tensors.map((t) => t.sizes), options.name ?? 'pointwise');
    const promoted = resultType(operands);
    const dtype: DType = rule === 'bool' ? 'bool' : rule === 'float' ? toFloating(promoted) : promoted;
    return { sizes, strides: pointwiseStrides(sizes, tensors), dtype, device: tensors[0]!.device };
  };
}

/** Reference kernel: `fn` on the operands' elements in double precision, in operand order. */
export function pointwiseKernel(fn: (...values: number[]) => number, options: PointwiseOptions = {}): NonNullable<OpRecord['kernel']> {
  const names = options.operands ?? DEFAULT_OPERANDS;
  return (args, outs) => {
    const out = outs[0]!;
    const columns = names
      .map((name) => args[name] as Operand | null | undefined)
      .filter((value): value is Operand => value !== null && value !== undefined)
      .map((operand) => (isTensor(operand) ? readNumbers(operand, out.sizes) : scalarValue(operand as ScalarLike)));
    const n = numelOf(out.sizes);
    const values = new Float64Array(n);
    const call = new Array<number>(columns.length);
    for (let i = 0; i < n; i++) {
      for (let c = 0; c < columns.length; c++) {
        const column = columns[c]!;
        call[c] = typeof column === 'number' ? column : column[i]!;
      }
      values[i] = fn(...call);
    }
    writeNumbers(out, values);
  };
}
