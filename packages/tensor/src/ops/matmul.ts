/**
 * @file Matrix products.
 */
import { TesseraError } from '@tessera/shared';
import { callOp } from '../dispatch/dispatcher.js';
import { readNumbers, writeNumbers } from '../kernels/elements.js';
import { defineOp } from '../op/op-overload.js';
import { contiguousStrides, formatSizes } from '../shape.js';
import type { Tensor } from '../tensor.js';
import { permute } from './view.js';

function shapeError(op: string, a: Tensor, b: Tensor): never {
  throw new TesseraError('shape-mismatch', `${op}: mat1 and mat2 shapes cannot be multiplied (${a.sizes.join('x')} and ${b.sizes.join('x')})`, {
    context: { op, shapes: [a.sizes, b.sizes] },
    hints: [`The inner sizes must agree: ${formatSizes(a.sizes)} @ ${formatSizes(b.sizes)}; transpose one with .t()?`],
  });
}

const mmOp = defineOp('aten::mm(Tensor self, Tensor mat2) -> Tensor', {
  tags: ['compute-intensive'],
  meta: ({ self, mat2 }) => {
    if (self.ndim !== 2 || mat2.ndim !== 2 || self.sizes[1] !== mat2.sizes[0]) shapeError('mm', self, mat2);
    if (self.dtype !== mat2.dtype) {
      throw new TesseraError('dtype-mismatch', `mm: expected mat1 and mat2 to have the same dtype, but got: ${self.dtype} != ${mat2.dtype}`, {
        hints: [`Convert one: x.to('${self.dtype}').`],
      });
    }
    const sizes = [self.sizes[0], mat2.sizes[1]];
    return { sizes, strides: contiguousStrides(sizes), dtype: self.dtype, device: self.device };
  },
  kernel: ({ self, mat2 }, [out]) => {
    const [m, k] = self.sizes as number[];
    const n = mat2.sizes[1] as number;
    const a = readNumbers(self);
    const b = readNumbers(mat2);
    const c = new Float64Array(m! * n);
    for (let i = 0; i < m!; i++) {
      for (let p = 0; p < k!; p++) {
        const left = a[i * k! + p]!;
        for (let j = 0; j < n; j++) c[i * n + j]! += left * b[p * n + j]!;
      }
    }
    writeNumbers(out!, c);
  },
  saved: ['self', 'mat2'],
  vjp: ({ self, mat2 }, { grad }) => ({ self: () => mm(grad, permute(mat2, [1, 0])), mat2: () => mm(permute(self, [1, 0]), grad) }),
});

/** Matrix product, [M, K] @ [K, N] → [M, N]. @throws shape-mismatch, dtype-mismatch */
export function mm(self: Tensor, mat2: Tensor): Tensor {
  return callOp(mmOp, [self, mat2]) as Tensor;
}
