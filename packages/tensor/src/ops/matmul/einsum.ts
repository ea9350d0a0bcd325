/**
 * @file Einstein summation, as a sequence of pairwise batched products. @see torch.einsum
 */
import { callOp } from '../../dispatch/dispatcher.js';
import { defineOp } from '../../op/op-overload.js';
import type { Tensor } from '../../tensor.js';
import { sumProductPair } from './sum-product.js';
import { ELLIPSIS, type EinsumEquation, parseEinsum, refuseEquation } from './einsum-equation.js';
import { sum } from '../reduction/reduction.js';
import { movedim, unsqueeze } from '../view/dims.js';
import { diagonal } from '../view/slice.js';
import { permute, view } from '../view/view.js';

/** Where each label lies once all operands have the same dimensions: those of the result, then the summed ones. */
interface Places {
  readonly of: ReadonlyMap<string, number>;
  /** Number of dimensions that an ellipsis covers. */
  readonly covered: number;
  readonly ndim: number;
  readonly kept: number;
}

function placesOf(equation: EinsumEquation, tensors: readonly Tensor[]): Places {
  let covered = 0;
  equation.operands.forEach((labels, i) => {
    const named = labels.filter((label) => label !== ELLIPSIS).length;
    const ndim = tensors[i]!.ndim;
    if (labels.includes(ELLIPSIS) ? named > ndim : named !== ndim)
      refuseEquation(
        `the number of subscripts in the equation (${named}) ${named > ndim ? 'is more than' : 'does not match'} the number of dimensions (${ndim}) for operand ${i}`,
      );
    if (labels.includes(ELLIPSIS)) covered = Math.max(covered, ndim - named);
  });
  const of = new Map<string, number>();
  let next = 0;
  const place = (label: string): void => {
    if (of.has(label)) return;
    of.set(label, next);
    next += label === ELLIPSIS ? covered : 1;
  };
  equation.result.forEach(place);
  const kept = next;
  const rest = [...new Set(equation.operands.flat())];
  if (rest.includes(ELLIPSIS)) place(ELLIPSIS);
  rest
    .filter((label) => label !== ELLIPSIS)
    .sort()
    .forEach(place);
  return { of, covered, ndim: next, kept };
}

/** An operand with a dimension for every place; size 1 where it has none. */
function aligned(tensor: Tensor, labels: readonly string[], places: Places): Tensor {
  const order = new Array<number>(places.ndim).fill(-1);
  const dimOf = new Map<string, number>();
  const named = labels.length - (labels.includes(ELLIPSIS) ? 1 : 0);
  const missing = places.covered - (tensor.ndim - named);
  let operand = tensor;
  let dim = 0;
  for (const label of labels) {
    const place = places.of.get(label)!;
    const seen = dimOf.get(label);
    if (label === ELLIPSIS) {
      for (let k = 0; k < missing; k++) operand = unsqueeze(operand, dim);
      for (let k = 0; k < places.covered; k++) order[place + k] = dim++;
    } else if (seen !== undefined) {
      if (operand.sizes[dim] !== operand.sizes[seen])
        refuseEquation(
          `subscript ${label} is repeated for an operand but the sizes don't match, ${operand.sizes[dim]} != ${operand.sizes[seen]}`,
        );
      operand = movedim(diagonal(operand, 0, seen, dim), -1, seen);
    } else {
      dimOf.set(label, dim);
      order[place] = dim++;
    }
  }
  for (let i = 0; i < order.length; i++) {
    if (order[i]! >= 0) continue;
    operand = unsqueeze(operand, -1);
    order[i] = dim++;
  }
  return permute(operand, order);
}

/** Which two operands to multiply next, smaller position first. */
function* pairs(count: number, path: readonly number[] | null): Generator<[number, number]> {
  for (let step = 0; step + 1 < count; step++) {
    const [i, j] = path === null ? [0, 1] : [path[2 * step]!, path[2 * step + 1]!];
    if (!(i !== j && Math.min(i, j) >= 0 && Math.max(i, j) < count - step))
      refuseEquation(`invalid contraction path, operands ${i} and ${j} of ${count - step}`);
    yield [Math.min(i, j), Math.max(i, j)];
  }
}

function contract(
  equation: EinsumEquation,
  tensors: readonly Tensor[],
  path: readonly number[] | null,
): Tensor {
  const places = placesOf(equation, tensors);
  const operands = tensors.map((tensor, i) => aligned(tensor, equation.operands[i]!, places));
  // How many operands still have each dimension: it is summed with the last product that has it.
  const holders = new Array<number>(places.ndim).fill(0);
  for (let d = 0; d < places.ndim; d++) {
    const sizes = operands.map((x) => x.sizes[d]!).filter((size) => size !== 1);
    if (sizes.some((size) => size !== sizes[0]))
      refuseEquation(
        `operands do not broadcast with remapped shapes: sizes ${sizes.join(' and ')} in one dimension`,
      );
    holders[d] = sizes.length;
  }
  if (operands.length === 1) {
    const dims = holders.map((_, d) => d).slice(places.kept);
    return dims.length === 0 ? operands[0]! : sum(operands[0]!, dims);
  }
  for (const [i, j] of pairs(operands.length, path)) {
    let [a, b] = [operands[i]!, operands[j]!];
    const [together, left, right]: [number[], number[], number[]] = [[], [], []];
    for (let d = places.kept; d < places.ndim; d++) {
      if (a.sizes[d] !== 1 && b.sizes[d] !== 1) {
        if (--holders[d]! === 1) together.push(d);
      } else if (holders[d] === 1) {
        if (a.sizes[d] !== 1) left.push(d);
        else if (b.sizes[d] !== 1) right.push(d);
      }
    }
    for (const d of [...together, ...left, ...right]) holders[d] = 0;
    if (left.length > 0) a = sum(a, left, { keepdim: true });
    if (right.length > 0) b = sum(b, right, { keepdim: true });
    operands.splice(j, 1);
    operands.splice(i, 1);
    const result = sumProductPair(a, b, together);
    if (path === null) operands.unshift(result);
    else operands.push(result);
  }
  const whole = operands[0]!;
  return places.kept === places.ndim ? whole : view(whole, whole.sizes.slice(0, places.kept));
}

const einsumOp = defineOp(
  'aten::einsum(str equation, Tensor[] tensors, *, int[]? path=None) -> Tensor',
  {
    decompose: ({ equation, tensors: list, path }) => {
      const parsed = parseEinsum(equation);
      if (list.length === 0 || list.length !== parsed.operands.length)
        refuseEquation(
          `${list.length > parsed.operands.length ? 'fewer' : 'more'} operands were provided in the equation (${parsed.operands.length}) than tensors (${list.length})`,
        );
      return contract(parsed, list, path);
    },
  },
);

/**
 * Sums of products of tensors, their dimensions named by letters: `einsum('bij,bjk->bik', a, b)`. Letters
 * that the result lacks are summed over; `...` stands for any dimensions. The tensors may be one array.
 * @throws invalid-argument
 */
export function einsum(
  equation: string,
  ...tensors: readonly Tensor[] | readonly [readonly Tensor[]]
): Tensor {
  return callOp(einsumOp, [equation, tensors.flat(), null]);
}
