/**
 * @file Running logarithms of sums of exponentials.
 */
import { addedLogs } from '../../kernels/special-functions.js';
import { denseMeta } from '../../kernels/suggest-format.js';
import { callOp } from '../../dispatch/dispatcher.js';
import { readNumbers, writeNumbers } from '../../kernels/elements.js';
import { mapRows, rowLayout } from '../../kernels/reduce-kernel.js';
import { checkFloating } from '../../kernels/restrict-dtypes.js';
import { type OpOverload, defineOp } from '../../op/op-overload.js';
import { wrapDim } from '../../shape.js';
import type { Tensor } from '../../tensor.js';
import { mul, neg } from '../pointwise/arithmetic.js';

const logcumsumexpOp = defineOp('aten::logcumsumexp(Tensor self, int dim) -> Tensor', {
  meta: ({ self, dim }) => {
    checkFloating('logcumsumexp_out_cpu', self);
    wrapDim(dim, self.ndim, 'logcumsumexp');
    return denseMeta(self);
  },
  kernel: ({ self, dim }, outs) =>
    mapRows(self, wrapDim(dim, self.ndim), outs, (values, [results]) => {
      let held = -Infinity;
      values.forEach((value, i) => (results![i] = held = addedLogs(held, value, Math.E)));
    }),
  saved: ['self', 'out'],
  vjp: ({ self, dim }, { grad, out }) => ({
    self: () => weighted(grad, self, out, dim, true),
  }),
});

/** e^(a - b), 1 where both are the same infinity. */
function share(a: number, b: number): number {
  return a === b ? 1 : Math.exp(a - b);
}

/**
 * The derivative of `out = logcumsumexp(x)` and its transpose. With shares kᵢⱼ = exp(xᵢ - outⱼ) for i ≤ j: Σⱼ kᵢⱼ wⱼ
 * if from the end, else Σᵢ kᵢⱼ wᵢ. Kept as multiples of exp(out), which only grows, neither sum overflows.
 */
const weightedOp: OpOverload<Tensor> = defineOp(
  'tessera::logcumsumexp_weighted(Tensor weight, Tensor self, Tensor out, int dim, bool from_end) -> Tensor',
  {
    meta: ({ out }) => denseMeta(out),
    kernel: ({ weight, self, out: end, dim, from_end }, [out]) => {
      const sizes = out!.sizes;
      const [w, x, reached] = [weight, self, end].map((tensor) => readNumbers(tensor, sizes));
      const results = new Float64Array(w.length);
      const { within, starts } = rowLayout(
        sizes,
        sizes.length === 0 ? [] : [wrapDim(dim, sizes.length)],
      );
      const order = from_end === true ? [...within].reverse() : within;
      for (const start of starts) {
        let sum = 0;
        let before: number | null = null;
        for (const offset of order) {
          const i = start + offset;
          const now = reached[i]!;
          // No number where that is infinite, as in PyTorch.
          const part = Math.exp(x[i]! - now);
          if (from_end === true) {
            if (before !== null) sum *= share(now, before);
            sum += w[i]!;
            results[i] = part * sum;
          } else {
            if (before !== null) sum *= share(before, now);
            results[i] = sum += part * w[i]!;
          }
          before = now;
        }
      }
      writeNumbers(out!, results);
    },
    saved: ['weight', 'self', 'out'],
    vjp: ({ weight, self, out: end, dim, from_end: isFromEnd }, { grad, out }) => {
      const [w, x, reached, d] = [weight, self, end, dim];
      const other = (): Tensor => weighted(grad, x, reached, d, !isFromEnd);
      return {
        weight: other,
        self: () => (isFromEnd ? mul(grad, out) : mul(w, other())),
        out: () => neg(isFromEnd ? mul(w, other()) : mul(grad, out)),
      };
    },
  },
);

function weighted(weight: Tensor, x: Tensor, out: Tensor, dim: number, fromEnd: boolean): Tensor {
  return callOp(weightedOp, [weight, x, out, dim, fromEnd]);
}

/** log Σ exp(x) of the elements up to each along a dimension, without overflow. @throws invalid-dim, dtype-unsupported */
export function logcumsumexp(self: Tensor, dim: number): Tensor {
  return callOp(logcumsumexpOp, [self, dim]);
}
