/**
 * @file Orthogonal initialisation.
 */
import { checkOptionNames, TesseraError } from '@tessera/shared';
import { type Tensor, fromTypedArray, noGrad, randn } from '@tessera/tensor';
import { GAIN, type GainOptions } from './gain.js';
import { checkTensors } from '@tessera/tensor/internal';

/** Orthonormal columns by Householder reflections of a [rows, columns] matrix, rows ≥ columns; signs as R's diagonal positive. */
function orthonormal(matrix: Float64Array, rows: number, columns: number): Float64Array {
  const q = new Float64Array(rows * columns);
  const reflections: { readonly v: Float64Array; readonly sign: number }[] = [];
  for (let k = 0; k < columns; k++) {
    const v = new Float64Array(rows);
    let length = 0;
    for (let i = k; i < rows; i++) length += (v[i] = matrix[i * columns + k]!) ** 2;
    length = Math.sqrt(length);
    // The reflection maps the column to ∓length; the sign makes R's diagonal positive.
    const sign = v[k]! < 0 ? 1 : -1;
    v[k]! -= sign * length;
    reflect(matrix, v, rows, columns);
    reflections.push({ v, sign });
  }
  for (let k = 0; k < columns; k++) q[k * columns + k] = reflections[k]!.sign;
  for (const { v } of reflections.reverse()) reflect(q, v, rows, columns);
  return q;
}

/** matrix -= 2 v (vᵀ matrix) / vᵀv */
function reflect(matrix: Float64Array, v: Float64Array, rows: number, columns: number): void {
  const square = v.reduce((sum, x) => sum + x * x, 0);
  if (square === 0) return;
  for (let j = 0; j < columns; j++) {
    let dot = 0;
    for (let i = 0; i < rows; i++) dot += v[i]! * matrix[i * columns + j]!;
    const factor = (2 * dot) / square;
    for (let i = 0; i < rows; i++) matrix[i * columns + j]! -= factor * v[i]!;
  }
}

/**
 * Rows (or columns, whichever are fewer) that are orthonormal, times `gain`; dimensions after the first
 * count as one.
 *
 * @throws shape-mismatch below two dimensions
 * @see torch.nn.init.orthogonal_ @see https://arxiv.org/abs/1312.6120
 */
export function orthogonal_(tensor: Tensor, options?: GainOptions): Tensor {
  checkOptionNames('orthogonal_', options, GAIN);
  checkTensors('orthogonal_', { tensor });
  const gain = options?.gain ?? 1;
  if (tensor.ndim < 2)
    throw new TesseraError(
      'shape-mismatch',
      'Only tensors with 2 or more dimensions are supported',
      {
        hints: ['Initialise vectors with uniform_ or normal_.'],
      },
    );
  if (tensor.numel === 0) return tensor;
  const rows = tensor.sizes[0]!;
  const columns = tensor.numel / rows;
  const [tall, wide] = [Math.max(rows, columns), Math.min(rows, columns)];
  return noGrad(() => {
    const drawn = Float64Array.from(
      randn([tall, wide], { dtype: 'float64' }).toTypedArray() as Float64Array,
    );
    const q = fromTypedArray(orthonormal(drawn, tall, wide), [tall, wide], { dtype: 'float64' });
    const oriented = rows < columns ? q.transpose(0, 1) : q;
    return tensor.copy_(oriented.mul(gain).reshape(tensor.sizes).to(tensor.device));
  });
}
