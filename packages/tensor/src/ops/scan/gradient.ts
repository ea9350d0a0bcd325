/**
 * @file `gradient`: differences of neighbours, divided by the spacing. A function alone, as in PyTorch: `x.grad` is another thing.
 */
import { type ScalarLike, type OptionNames, TesseraError, checkOptionNames } from '@tessera/shared';
import { callOp } from '../../dispatch/dispatcher.js';
import { type OpOverload, defineOp } from '../../op/op-overload.js';
import { formatSizes, wrapDims } from '../../shape.js';
import { isTensor } from '../../tensor-factory.js';
import type { Tensor } from '../../tensor.js';
import { div } from '../pointwise/division.js';
import { cat } from '../arrange/join.js';
import { add, mul, neg, sub } from '../pointwise/arithmetic.js';
import { select, slice } from '../view/slice.js';
import { reshape } from '../view/view.js';
import { diff } from './diff.js';
import { checkTensors } from '../../check-tensors.js';

/** Inner differences between the edges' own. */
function withEdges(first: Tensor, inner: Tensor, last: Tensor, dim: number): Tensor {
  return cat([first, inner, last], dim);
}

/** a·x + b·y + c·z */
function weighted(terms: readonly (readonly [weight: Tensor | number, value: Tensor])[]): Tensor {
  return terms
    .map(([weight, value]) => mul(value, weight))
    .reduce((total, term) => add(total, term));
}

/** Second-order accurate differences for even spacing. */
function evenGradient(self: Tensor, spacing: ScalarLike, dim: number, edgeOrder: number): Tensor {
  const at = (from: number, to: number | null): Tensor => slice(self, dim, from, to);
  const inner = div(div(sub(at(2, null), at(0, -2)), spacing), 2);
  if (edgeOrder === 1)
    return withEdges(
      div(sub(at(1, 2), at(0, 1)), spacing),
      inner,
      div(sub(at(-1, null), at(-2, -1)), spacing),
      dim,
    );
  const first = weighted([
    [-1.5, at(0, 1)],
    [2, at(1, 2)],
    [-0.5, at(2, 3)],
  ]);
  const last = weighted([
    [0.5, at(-3, -2)],
    [-2, at(-2, -1)],
    [1.5, at(-1, null)],
  ]);
  return withEdges(div(first, spacing), inner, div(last, spacing), dim);
}

/** The same for coordinates that may be uneven. */
function unevenGradient(self: Tensor, coordinates: Tensor, dim: number, edgeOrder: number): Tensor {
  const at = (from: number, to: number | null): Tensor => slice(self, dim, from, to);
  const shape = self.sizes.map((_, i) => (i === dim ? -1 : 1));
  const steps = diff(coordinates, 1, 0);
  const before = slice(steps, 0, 0, -1);
  const after = slice(steps, 0, 1);
  const a = div(neg(after), mul(before, add(before, after)));
  const b = div(sub(after, before), mul(before, after));
  const c = div(before, mul(after, add(before, after)));
  const inner = weighted([
    [reshape(a, shape), at(0, -2)],
    [reshape(b, shape), at(1, -1)],
    [reshape(c, shape), at(2, null)],
  ]);
  const step = (i: number): Tensor => select(steps, 0, i);
  if (edgeOrder === 1)
    return withEdges(
      div(sub(at(1, 2), at(0, 1)), step(0)),
      inner,
      div(sub(at(-1, null), at(-2, -1)), step(-1)),
      dim,
    );
  // One-sided parabola through three points; `near` is the step at the edge, `far` the next one.
  const edge = (near: Tensor, far: Tensor): [Tensor, Tensor, Tensor] => [
    div(add(mul(near, 2), far), mul(near, add(near, far))),
    div(add(near, far), mul(near, far)),
    div(near, mul(far, add(near, far))),
  ];
  const [a0, b0, c0] = edge(step(0), step(1));
  const [a1, b1, c1] = edge(step(-1), step(-2));
  const first = weighted([
    [neg(a0), at(0, 1)],
    [b0, at(1, 2)],
    [neg(c0), at(2, 3)],
  ]);
  const last = weighted([
    [c1, at(-3, -2)],
    [neg(b1), at(-2, -1)],
    [a1, at(-1, null)],
  ]);
  return withEdges(first, inner, last, dim);
}

type Spacing = ScalarLike | Tensor;

/** Differences along each of dims, with a spacing per dim. @throws invalid-argument */
function gradients(
  self: Tensor,
  spacing: readonly Spacing[],
  dims: readonly number[],
  edgeOrder: number,
): Tensor[] {
  const fail = (message: string): never => {
    throw new TesseraError('invalid-argument', `torch.gradient ${message}`, {
      hints: ['Give one spacing per dimension.'],
    });
  };
  if (self.dtype === 'uint8') fail('does not support uint8 input.');
  if (edgeOrder !== 1 && edgeOrder !== 2) fail('only supports edge_order=1 and edge_order=2.');
  if (spacing.length !== dims.length)
    fail(`spacing is a number or ${dims.length} of them, not ${spacing.length}`);
  for (const dim of dims)
    if ((self.sizes[dim] ?? 1) < edgeOrder + 1)
      fail(`dimensions of ${formatSizes(self.sizes)} are smaller than edge_order+1`);
  return dims.map((dim, i) => {
    const by = spacing[i]!;
    if (!isTensor(by)) return evenGradient(self, by, dim, edgeOrder);
    if (by.ndim !== 1 || by.numel !== self.sizes[dim])
      fail(
        `a spacing is as long as its dimension (${self.sizes[dim]}), not ${formatSizes(by.sizes)}`,
      );
    return unevenGradient(self, by, dim, edgeOrder);
  });
}

const TAIL = 'int edge_order=1) -> Tensor[]';

type GradientArgs = {
  readonly self: Tensor;
  readonly spacing?: Spacing | readonly Spacing[] | null;
  readonly dim?: number | readonly number[] | null;
  readonly edge_order?: number;
};

/** Registers an overload: how it names spacing and dims. */
function defineGradient(name: string, args: string): OpOverload<Tensor[]> {
  return defineOp(`aten::gradient.${name}(Tensor self, *, ${args}${TAIL}`, {
    decompose: ({ self, spacing, dim, edge_order }: GradientArgs) => {
      const dims = wrapDims(dim!, self.ndim, 'gradient');
      const list = Array.isArray(spacing) ? spacing : dims.map(() => spacing ?? 1);
      return gradients(self, list, dims, edge_order!);
    },
  });
}

export const gradientScalarOp: OpOverload = defineGradient(
  'scalarint',
  'Scalar? spacing=None, int? dim=None, ',
);
export const gradientScalarDimsOp: OpOverload = defineGradient(
  'scalararray',
  'Scalar spacing, int[] dim, ',
);
export const gradientDimsOp: OpOverload = defineGradient('array', 'int[] dim, ');
export const gradientScalarsOp: OpOverload = defineGradient(
  'scalarrayint',
  'Scalar[] spacing, int? dim=None, ',
);
const numbersOp = defineGradient('scalarrayarray', 'Scalar[] spacing, int[] dim, ');
export const gradientTensorsOp: OpOverload = defineGradient(
  'tensorarrayint',
  'Tensor[] spacing, int? dim=None, ',
);
const tensorsOp = defineGradient('tensorarray', 'Tensor[] spacing, int[] dim, ');

/** Spacing (one number, or a number or vector of coordinates per dim), dims (all), accuracy at the edges. */
export interface GradientOptions {
  readonly spacing?: ScalarLike | readonly ScalarLike[] | readonly Tensor[];
  readonly dim?: number | readonly number[] | null;
  readonly edgeOrder?: 1 | 2;
}
const GRADIENT: OptionNames<GradientOptions> = { spacing: true, dim: true, edgeOrder: true };

/** Estimates of the derivative along each dim, by central differences. @throws invalid-argument @see torch.gradient */
export function gradient(self: Tensor, options?: GradientOptions): Tensor[] {
  checkOptionNames('gradient', options, GRADIENT);
  checkTensors('gradient', { self });
  const dims = wrapDims(options?.dim ?? null, self.ndim, 'gradient');
  const spacing = options?.spacing ?? 1;
  const list: readonly Spacing[] = Array.isArray(spacing) ? spacing : dims.map(() => spacing);
  const op = list.some((item) => isTensor(item)) ? tensorsOp : numbersOp;
  return callOp(op, [self, list, dims, options?.edgeOrder ?? 1]);
}
