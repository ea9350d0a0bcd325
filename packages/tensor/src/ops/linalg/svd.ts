/**
 * @file Singular value decomposition.
 */
import { type OptionNames, TesseraError, checkOptionNames } from '@tessera/shared';
import { isGradEnabled } from '../../autograd/grad-mode.js';
import { seemsToRequireGrad } from '../../autograd/history.js';
import { callOp } from '../../dispatch/dispatcher.js';
import { readNumbers, writeNumbers } from '../../kernels/elements.js';
import { singularValues } from '../../kernels/singular-values.js';
import { defineOp } from '../../op/op-overload.js';
import { checkMatrix, columnMajorStrides } from './shape.js';
import type { TensorMeta } from '../../op/op-record.js';
import { contiguousStrides, numelOf } from '../../shape.js';
import type { Tensor } from '../../tensor.js';
import { diagEmbed } from '../view/diagonal.js';
import { div } from '../pointwise/division.js';
import { eye } from '../factory/range.js';
import { matmul } from '../matmul/composite.js';
import { add, mul, sub } from '../pointwise/arithmetic.js';
import { square } from '../pointwise/power.js';
import { mT, unsqueeze } from '../view/dims.js';
import { narrow } from '../view/slice.js';
import { checkTensors } from '../../check-tensors.js';

function skew(x: Tensor): Tensor {
  return sub(x, mT(x));
}

/** @see svd_backward in PyTorch's FunctionsManual */
function svdGradient(
  [gradU, gradS, gradVh]: readonly (Tensor | null)[],
  [u, s, vh]: readonly [Tensor, Tensor, Tensor],
): Tensor {
  const k = s.sizes.at(-1)!;
  const [m, n] = [u.sizes.at(-2)!, vh.sizes.at(-1)!];
  const [row, column] = [unsqueeze(s, -2), unsqueeze(s, -1)];
  if (gradU == null && gradVh == null) {
    const scale = unsqueeze(gradS!, -1);
    return m >= n ? matmul(u, mul(scale, vh)) : matmul(mul(u, mT(scale)), vh);
  }
  // Differences of squared values; ones on the diagonal, which the skew parts make irrelevant.
  const gaps = add(
    sub(square(row), square(column)),
    eye(k, null, { dtype: s.dtype, device: s.device }),
  );
  const parts: Tensor[] = [];
  if (gradU != null) parts.push(mul(div(skew(matmul(mT(u), gradU)), gaps), row));
  if (gradVh != null) parts.push(mul(column, div(skew(matmul(vh, mT(gradVh))), gaps)));
  if (gradS != null) parts.push(diagEmbed(gradS));
  const core = parts.reduce((total, part) => add(total, part));
  if (m > k && gradU != null) {
    const scaled = div(gradU, row);
    const outside = sub(scaled, matmul(u, matmul(mT(u), scaled)));
    return matmul(add(matmul(u, core), outside), vh);
  }
  if (n > k && gradVh != null) {
    const scaled = div(gradVh, column);
    const outside = sub(scaled, matmul(matmul(scaled, mT(vh)), vh));
    return matmul(u, add(matmul(core, vh), outside));
  }
  return m >= n ? matmul(u, matmul(core, vh)) : matmul(matmul(u, core), vh);
}

const svdOp = defineOp(
  'aten::_linalg_svd(Tensor A, bool full_matrices=False, bool compute_uv=True, *, str? driver=None) -> (Tensor U, Tensor S, Tensor Vh)',
  {
    tags: ['compute-intensive'],
    meta: ({ A: x, full_matrices, compute_uv }) => {
      checkMatrix('linalg.svd', x);
      const batch = x.sizes.slice(0, -2);
      const [m, n] = x.sizes.slice(-2);
      const k = Math.min(m, n);
      const of = (sizes: number[], strides: number[]): TensorMeta => ({
        sizes,
        strides,
        dtype: x.dtype,
        device: x.device,
      });
      const values = of([...batch, k], contiguousStrides([...batch, k]));
      if (compute_uv === false) return [of([0], [1]), values, of([0], [1])];
      const u = [...batch, m, full_matrices === true ? m : k];
      const vh = [...batch, full_matrices === true ? n : k, n];
      return [of(u, columnMajorStrides(u)), values, of(vh, columnMajorStrides(vh))];
    },
    kernel: ({ A: x, full_matrices, compute_uv }, outs) => {
      const [m, n] = x.sizes.slice(-2);
      const values = readNumbers(x);
      const [us, ss, vs] = outs.map(({ numel }) => new Float64Array(numel));
      const wanted = compute_uv === false ? 'none' : full_matrices === true ? 'full' : 'reduced';
      const count = numelOf(x.sizes.slice(0, -2));
      for (let i = 0; i < count; i++) {
        const matrix = values.subarray(i * m * n, (i + 1) * m * n);
        const { u, s, v } = singularValues(matrix, m, n, wanted);
        ss!.set(s, i * s.length);
        u.forEach((column, k) => {
          const at = i * m * u.length + k;
          for (let r = 0; r < m; r++) us![at + r * u.length] = column[r]!;
        });
        v.forEach((column, k) => vs!.set(column, (i * v.length + k) * n));
      }
      writeNumbers(outs[1]!, ss!);
      if (compute_uv === false) return;
      writeNumbers(outs[0]!, us!);
      writeNumbers(outs[2]!, vs!);
    },
    saved: ['out'],
    vjp: ({ compute_uv }, { grads, outs }) => ({
      A: () => {
        if (compute_uv === false)
          throw new TesseraError(
            'derivative-missing',
            'linalg.svd: the derivative needs the singular vectors, which were not computed.',
            { hints: ['Use linalg.svdvals(), or linalg.svd().'] },
          );
        const k = outs[1]!.sizes.at(-1)!;
        const cut = (x: Tensor | null, dim: number): Tensor | null =>
          x === null ? null : narrow(x, dim, 0, k);
        return svdGradient(
          [cut(grads[0]!, -1), grads[1]!, cut(grads[2]!, -2)],
          [cut(outs[0]!, -1)!, outs[1]!, cut(outs[2]!, -2)!],
        );
      },
    }),
  },
);

const FULL_MATRICES: OptionNames<{ fullMatrices?: boolean }> = { fullMatrices: true };

/** u @ diag(s) @ vh = self with orthonormal u and vh and descending s: [.., M, N] → [.., M, K], [.., K], [.., K, N]; square u and vh if `fullMatrices`. @throws invalid-dim, dtype-unsupported */
export function svd(
  self: Tensor,
  options?: { fullMatrices?: boolean },
): [u: Tensor, s: Tensor, vh: Tensor] {
  checkOptionNames('svd', options, FULL_MATRICES);
  const full = options?.fullMatrices ?? true;
  return callOp(svdOp, [self, full, true, null]);
}

/** Singular values, descending, [.., M, N] → [.., min(M, N)]. @throws invalid-dim, dtype-unsupported */
export function svdvals(self: Tensor): Tensor {
  checkTensors('svdvals', { self });
  // The derivative needs the vectors.
  const vectors = isGradEnabled() && seemsToRequireGrad(self);
  return callOp(svdOp, [self, false, vectors, null])[1]!;
}
