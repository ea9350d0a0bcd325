/**
 * @file Taking the slices at ascending places and its gradient, spreading them out again. Both are gathers, each the
 * gradient of the other: a scatter takes (result × sources) comparisons on devices without atomics.
 */
import { Function } from '../../autograd/function.js';
import type { FunctionContext } from '../../autograd/function-context.js';
import type { Tensor } from '../../tensor.js';
import { zeros } from '../factory/factory.js';
import { arange } from '../factory/range.js';
import { indexSelect } from '../indexing/select.js';
import { sub } from '../pointwise/arithmetic.js';
import { eq } from '../pointwise/comparison.js';
import { clampMin } from '../pointwise/extremum.js';
import { where } from '../pointwise/where.js';
import { reshape } from '../view/view.js';
import { placesOf } from './running-count.js';

type CompactionContext = FunctionContext<[at: Tensor, running: Tensor]> & { dim: number };

class Compact extends Function {
  static forward(
    ctx: CompactionContext,
    self: Tensor,
    dim: number,
    at: Tensor,
    running: Tensor,
  ): Tensor {
    ctx.saveForBackward(at, running);
    ctx.dim = dim;
    return indexSelect(self, dim, at);
  }
  static backward(ctx: CompactionContext, grad: Tensor): (Tensor | null)[] {
    const [at, running] = ctx.savedTensors;
    return [Spread.apply(grad, ctx.dim, at, running), null, null, null];
  }
}

class Spread extends Function {
  static forward(
    ctx: CompactionContext,
    self: Tensor,
    dim: number,
    at: Tensor,
    running: Tensor,
  ): Tensor {
    ctx.saveForBackward(at, running);
    ctx.dim = dim;
    const { dtype, device } = self;
    const count = running.numel;
    const sizes = self.sizes.map((size, d) => (d === dim ? count : size));
    if (at.numel === 0) return zeros(sizes, { dtype, device });
    const rank = clampMin(sub(running, 1), 0);
    const isTaken = eq(indexSelect(at, 0, rank), arange(count, { device }));
    const along = sizes.map((_, d) => (d === dim ? count : 1));
    return where(reshape(isTaken, along), indexSelect(self, dim, rank), 0);
  }
  static backward(ctx: CompactionContext, grad: Tensor): (Tensor | null)[] {
    const [at, running] = ctx.savedTensors;
    return [Compact.apply(grad, ctx.dim, at, running), null, null, null];
  }
}

/** The slices of dimension `dim` of size N at the `count` places where running counts [N] rise. Differentiable. */
export function compact(self: Tensor, dim: number, running: Tensor, count: number): Tensor {
  return Compact.apply(self, dim, placesOf(running, count), running);
}
