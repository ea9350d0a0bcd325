/**
 * @file QR decomposition.
 */
import { type OptionNames, TesseraError, checkOptionNames } from '@tessera/shared';
import { callOp } from '../../dispatch/dispatcher.js';
import { householderQr } from '../../kernels/reflections.js';
import { readNumbers, writeNumbers } from '../../kernels/elements.js';
import { type OpOverload, defineOp } from '../../op/op-overload.js';
import { withOverloads } from '../../op/with-overloads.js';
import type { TensorMeta } from '../../op/op-record.js';
import type { Tensor } from '../../tensor.js';
import { cat } from '../arrange/join.js';
import { checkMatrix, columnMajorStrides } from './shape.js';
import { solveTriangular } from './solve-triangular.js';
import { matmul } from '../matmul/composite.js';
import { add, neg, sub } from '../pointwise/arithmetic.js';
import { triu } from '../indexing/triangle.js';
import { mT } from '../view/dims.js';
import { narrow } from '../view/slice.js';
import { numelOf } from '../../shape.js';

/** How much of q is computed: as many columns as r needs, all, or none. */
export type QrMode = 'reduced' | 'complete' | 'r';

/** For a tall or square matrix. @see linalg_qr_backward in PyTorch's FunctionsManual */
function tallGradient(gradQ: Tensor | null, gradR: Tensor | null, q: Tensor, r: Tensor): Tensor {
  const fromR = gradR === null ? null : matmul(gradR, mT(r));
  const fromQ = gradQ === null ? null : matmul(mT(q), gradQ);
  const both = fromR !== null && fromQ !== null ? sub(fromR, fromQ) : (fromR ?? neg(fromQ!));
  const symmetric = add(triu(both), mT(triu(both, 1)));
  const inside = matmul(q, symmetric);
  const total = gradQ === null ? inside : add(inside, gradQ);
  return solveTriangular(mT(r), total, { upper: false, left: false });
}

function qrGradient(gradQ: Tensor | null, gradR: Tensor | null, q: Tensor, r: Tensor): Tensor {
  const [m, n] = r.sizes.slice(-2);
  if (m >= n) return tallGradient(gradQ, gradR, q, r);
  // The first m columns determine q; the others are q · r too.
  const first = narrow(r, -1, 0, m);
  if (gradR === null) {
    const part = tallGradient(gradQ, null, q, first);
    return cat([part, narrow(r, -1, m, n - m).mul(0)], -1);
  }
  const rest = narrow(gradR, -1, m, n - m);
  const through = matmul(q, matmul(narrow(r, -1, m, n - m), mT(rest)));
  const toQ = gradQ === null ? through : add(gradQ, through);
  return cat([tallGradient(toQ, narrow(gradR, -1, 0, m), q, first), matmul(q, rest)], -1);
}

const qrOp: OpOverload<[Tensor, Tensor]> = withOverloads(
  defineOp('aten::linalg_qr(Tensor A, str mode="reduced") -> (Tensor Q, Tensor R)', {
    tags: ['compute-intensive'],
    meta: ({ A: x, mode }) => {
      checkMatrix('linalg.qr', x);
      if (mode !== 'reduced' && mode !== 'complete' && mode !== 'r')
        throw new TesseraError(
          'invalid-argument',
          `qr received unrecognized mode '${mode}' but expected one of 'reduced' (default), 'r', or 'complete'`,
          { hints: ["Use 'reduced'."] },
        );
      const batch = x.sizes.slice(0, -2);
      const [m, n] = x.sizes.slice(-2);
      const k = mode === 'complete' ? m : Math.min(m, n);
      const of = (sizes: number[]): TensorMeta => ({
        sizes,
        strides: columnMajorStrides(sizes),
        dtype: x.dtype,
        device: x.device,
      });
      const q: TensorMeta =
        mode === 'r' ? { ...of([0, 0]), sizes: [0], strides: [1] } : of([...batch, m, k]);
      return [q, of([...batch, k, n])];
    },
    kernel: ({ A: x, mode }, outs) => {
      const [m, n] = x.sizes.slice(-2);
      const k = outs[1]!.sizes.at(-2)!;
      const values = readNumbers(x);
      const rs = new Float64Array(outs[1]!.numel);
      const qs = new Float64Array(mode === 'r' ? 0 : outs[0]!.numel);
      const count = numelOf(x.sizes.slice(0, -2));
      for (let b = 0; b < count; b++) {
        const matrix = values.subarray(b * m * n, (b + 1) * m * n);
        const { q, r } = householderQr(matrix, m, n, mode === 'r' ? 0 : k);
        if (mode !== 'r') qs.set(q, b * m * k);
        rs.set(r.subarray(0, k * n), b * k * n);
      }
      writeNumbers(outs[1]!, rs);
      if (mode !== 'r') writeNumbers(outs[0]!, qs);
    },
    saved: ['out'],
    vjp: ({ A, mode }, { grads, outs }) => ({
      A: () => {
        if (mode === 'r' || (mode === 'complete' && A.sizes.at(-2)! > A.sizes.at(-1)!))
          throw new TesseraError(
            'derivative-missing',
            `The derivative of linalg.qr depends on Q, of which mode='${mode}' has not what it needs.`,
            { hints: ["Use mode: 'reduced'."] },
          );
        return qrGradient(grads[0]!, grads[1]!, outs[0]!, outs[1]!);
      },
    }),
  }),
  defineOp('aten::qr(Tensor self, bool some=True) -> (Tensor Q, Tensor R)', {
    decompose: ({ self, some }) => callOp(qrOp, [self, some ? 'reduced' : 'complete']),
  }),
);

const MODE: OptionNames<{ mode?: QrMode }> = { mode: true };

/** q @ r = self with orthonormal columns of q and upper triangular r: [.., M, N] → [.., M, K], [.., K, N]. @throws invalid-dim, dtype-unsupported, invalid-argument */
export function qr(self: Tensor, options?: { mode?: QrMode }): [q: Tensor, r: Tensor] {
  checkOptionNames('qr', options, MODE);
  return callOp(qrOp, [self, options?.mode ?? 'reduced']);
}
