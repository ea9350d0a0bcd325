/**
 * @file The QR decomposition as LAPACK leaves it: reflections, of which `householderProduct` makes q.
 */
import { callOp } from '../../dispatch/dispatcher.js';
import { householderFactors } from '../../kernels/reflections.js';
import { readNumbers, writeNumbers } from '../../kernels/elements.js';
import { defineOp } from '../../op/op-overload.js';
import type { Tensor } from '../../tensor.js';
import { checkMatrix, columnMajorMeta, rowMajorMeta } from './shape.js';

const geqrfOp = defineOp('aten::geqrf(Tensor self) -> (Tensor a, Tensor tau)', {
  tags: ['compute-intensive'],
  meta: ({ self }) => {
    checkMatrix('torch.geqrf', self);
    const [m, n] = self.sizes.slice(-2);
    return [
      columnMajorMeta(self.sizes, self),
      rowMajorMeta([...self.sizes.slice(0, -2), Math.min(m, n)], self),
    ];
  },
  kernel: ({ self }, outs) => {
    const [m, n] = self.sizes.slice(-2);
    const values = readNumbers(self);
    const factors = new Float64Array(values.length);
    const scales: number[] = [];
    for (let at = 0; at < values.length; at += m * n) {
      const { packed, tau } = householderFactors(values.subarray(at, at + m * n), m, n);
      factors.set(packed, at);
      scales.push(...tau);
    }
    writeNumbers(outs[0]!, factors);
    writeNumbers(outs[1]!, scales);
  },
});

/**
 * r on and above the diagonal, below it the vectors of Householder reflections, and their factors tau:
 * [.., M, N] → [.., M, N], [.., min(M, N)]. Has no derivative, as in PyTorch: `qr` has.
 *
 * @throws invalid-dim, dtype-unsupported
 * @see torch.geqrf
 */
export function geqrf(self: Tensor): [a: Tensor, tau: Tensor] {
  return callOp(geqrfOp, [self]);
}
