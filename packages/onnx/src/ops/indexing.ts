/**
 * @file Reading and writing elements at indices.
 */
import { type Tensor, index, nonzero, scatterReduce, tensor, where } from '@tessera/tensor';
import type { NodeCall } from '../run/node-call.js';
import type { ListOperatorTable, OperatorTable } from '../registry.js';
import { asMatrix, indices, product, range, wrapped } from './like.js';

/** Indices on the device, from 0 on; whole numbers of the host are counted from the end here already. */
function indexInput(call: NodeCall, input: number, size: number): Tensor {
  return wrapped(call.tensor(input).to('int64'), size);
}

function gather(call: NodeCall): Tensor {
  const x = call.tensor(0);
  const dim = call.dim(call.int('axis', 0), x.ndim);
  const at = call.array(1);
  if (!('storage' in at) && at.ndim === 0) {
    const place = at.data[0]!;
    return x.select(dim, place < 0 ? place + x.shape[dim]! : place);
  }
  const chosen = indexInput(call, 1, x.shape[dim]!);
  const items = [...Array<null>(dim).fill(null), chosen];
  return index(x, items);
}

function gatherElements(call: NodeCall): Tensor {
  const x = call.tensor(0);
  const dim = call.dim(call.int('axis', 0), x.ndim);
  return x.gather(dim, indexInput(call, 1, x.shape[dim]!));
}

/** The index vectors of GatherND and ScatterND, one tensor per dimension that they index. */
function coordinates(call: NodeCall, at: Tensor, sizes: readonly number[]): Tensor[] {
  const depth = at.shape.at(-1) ?? 0;
  if (depth < 1 || depth > sizes.length)
    call.fail(`indices of ${depth} dimensions for a value of ${sizes.length}`);
  return range(depth).map((i) => wrapped(at.select(-1, i).to('int64'), sizes[i]!));
}

export function gatherNd(call: NodeCall): Tensor {
  const [x, at] = [call.tensor(0), call.tensor(1)];
  const batch = call.int('batch_dims', 0);
  if (batch === 0) return index(x, coordinates(call, at, x.shape));
  const flat = x.flatten(0, batch - 1);
  const count = flat.shape[0]!;
  const rows = at
    .unsqueeze(batch)
    .flatten(0, batch - 1)
    .flatten(1, -2);
  const own = coordinates(call, rows, flat.shape.slice(1));
  const each = indices(call, range(count)).reshape([count, 1]).expand(own[0]!.shape);
  const found = index(flat, [each, ...own]);
  return found.reshape([...at.shape.slice(0, -1), ...found.shape.slice(2)]);
}

type Reduction = 'none' | 'add' | 'mul' | 'max' | 'min';
const REDUCTIONS = ['none', 'add', 'mul', 'max', 'min'] as const;
const PYTORCH_NAMES = { add: 'sum', mul: 'prod', max: 'amax', min: 'amin' } as const;

/** Writes along a dimension, combining with what is there. */
function write(x: Tensor, dim: number, at: Tensor, values: Tensor, reduction: Reduction): Tensor {
  return reduction === 'none'
    ? x.scatter(dim, at, values)
    : scatterReduce(x, dim, at, values, PYTORCH_NAMES[reduction], { includeSelf: true });
}

function scatterElements(call: NodeCall): Tensor {
  const x = call.tensor(0);
  const dim = call.dim(call.int('axis', 0), x.ndim);
  const at = indexInput(call, 1, x.shape[dim]!);
  return write(x, dim, at, call.tensor(2), call.choice('reduction', REDUCTIONS, 'none'));
}

function scatterNd(call: NodeCall): Tensor {
  const [x, at, values] = [call.tensor(0), call.tensor(1), call.tensor(2)];
  const depth = at.shape.at(-1)!;
  const [outer, inner] = [x.shape.slice(0, depth), x.shape.slice(depth)];
  // Rows by their place among the outer dimensions.
  const place = coordinates(call, at, outer)
    .reduce((sum, part, i) => sum.add(part.mul(product(outer.slice(i + 1)))), indices(call, [0]))
    .reshape([-1, 1])
    .expand([-1, product(inner)]);
  const flat = asMatrix(x, depth);
  const list = asMatrix(values, at.ndim - 1);
  const written = write(flat, 0, place, list, call.choice('reduction', REDUCTIONS, 'none'));
  return written.reshape(x.shape);
}

/** Rows of a cache written behind what is there, per batch; circular caches start over at their end. */
function tensorScatter(call: NodeCall): Tensor {
  const [cache, update] = [call.tensor(0), call.tensor(1)];
  const dim = call.dim(call.int('axis', -2), cache.ndim);
  const [batch, length] = [cache.shape[0]!, update.shape[dim]!];
  const start = call.optional(2)?.to('int64') ?? indices(call, Array<number>(batch).fill(0));
  let at = start.reshape([batch, 1]).add(indices(call, range(length)));
  if (call.choice('mode', ['linear', 'circular'], 'linear') === 'circular')
    at = at.remainder(cache.shape[dim]!);
  const shape = update.shape.map((_, d) => (d === 0 ? batch : d === dim ? length : 1));
  return cache.scatter(dim, at.reshape(shape).expand(update.shape), update);
}

function oneHot(call: NodeCall): Tensor {
  const depth = call.number(1);
  const values = call.tensor(2);
  const at = call.tensor(0);
  const axis = call.int('axis', -1);
  const dim = call.dim(axis, at.ndim + 1);
  const shape = range(at.ndim + 1).map((d) => (d === dim ? depth : 1));
  const classes = indices(call, range(depth)).reshape(shape);
  const chosen = wrapped(at.to('int64'), depth).unsqueeze(dim).eq(classes);
  return where(chosen, values.select(0, 1), values.select(0, 0));
}

function compress(call: NodeCall): Tensor {
  const x = call.hasAttribute('axis') ? call.tensor(0) : call.tensor(0).reshape([-1]);
  const dim = call.dim(call.int('axis', 0), x.ndim);
  const chosen = call.numbers(1).flatMap((flag, i) => (flag === 0 ? [] : [i]));
  return x.indexSelect(dim, indices(call, chosen));
}

/** Indices of elements that are not zero, [rank, count]. */
function nonZero(call: NodeCall): Tensor {
  const x = call.array(0);
  const at = call.device === 'cpu' ? nonzero(call.tensor(0)) : nonzero(tensorOf(call));
  return call.asTensor(x.ndim === 0 ? at.reshape([0, at.shape[0]!]) : at.t());
}

/** How many there are is read anyway, so on other devices the search is the host's. */
function tensorOf(call: NodeCall): Tensor {
  const { data, shape } = call.host(0);
  return tensor([...data]).reshape(shape);
}

function argExtremum(call: NodeCall, largest: boolean): Tensor {
  const x = call.tensor(0);
  const dim = call.dim(call.int('axis', 0), x.ndim);
  const keepdim = call.flag('keepdims', true);
  const find = (of: Tensor): Tensor =>
    largest ? of.argmax(dim, { keepdim }) : of.argmin(dim, { keepdim });
  if (!call.flag('select_last_index')) return find(x);
  return find(x.flip([dim]))
    .neg()
    .add(x.shape[dim]! - 1);
}

/** Operators of the standard domain with one output. */
export const indexing: OperatorTable = {
  Gather: gather,
  GatherElements: gatherElements,
  GatherND: gatherNd,
  Scatter: scatterElements,
  ScatterElements: scatterElements,
  ScatterND: scatterNd,
  TensorScatter: tensorScatter,
  OneHot: oneHot,
  Compress: compress,
  NonZero: nonZero,
  ArgMax: (call) => argExtremum(call, true),
  ArgMin: (call) => argExtremum(call, false),
};

/** Dropping elements at random, or not: outside of training it is the identity. */
function dropout(call: NodeCall): Tensor[] {
  const x = call.tensor(0);
  const isTraining = call.opset >= 12 && call.has(2) && call.number(2) !== 0;
  const ratio = call.opset >= 12 ? (call.optionalNumbers(1)?.[0] ?? 0.5) : call.float('ratio', 0.5);
  if (!isTraining || ratio === 0) return [x, x.eq(x).logicalOr(x.ne(x))];
  const mask = x
    .mul(0)
    .add(1 - ratio)
    .bernoulli();
  return [x.mul(mask).div(1 - ratio), mask.to('bool')];
}

/** Operators of the standard domain with several outputs. */
export const indexingLists: ListOperatorTable = {
  Dropout: dropout,
  Unique: unique,
};

/** The distinct slices, their first places, the place of each slice among them, and how many of each there are. */
function unique(call: NodeCall): Tensor[] {
  const host = call.host(0);
  const hasAxis = call.hasAttribute('axis');
  const dim = hasAxis ? call.dim(call.int('axis', 0), host.ndim) : 0;
  const x = hasAxis ? call.tensor(0) : call.tensor(0).reshape([-1]);
  const shape = hasAxis ? host.shape : [host.numel];
  const [inner, size] = [product(shape.slice(dim + 1)), shape[dim]!];
  const outer = product(shape.slice(0, dim));
  const slices = range(size).map((i) =>
    range(outer * inner).map(
      (j) => host.data[(Math.floor(j / inner) * size + i) * inner + (j % inner)]!,
    ),
  );
  const first = new Map<string, number>();
  const keys = slices.map((slice) => slice.join());
  keys.forEach((key, i) => {
    if (!first.has(key)) first.set(key, i);
  });
  const places = [...first.values()];
  if (call.flag('sorted', true))
    places.sort((a, b) => {
      const at = slices[a]!.findIndex((value, j) => value !== slices[b]![j]);
      return at < 0 ? 0 : slices[a]![at]! - slices[b]![at]!;
    });
  const order = new Map(places.map((place, i) => [keys[place]!, i]));
  const inverse = keys.map((key) => order.get(key)!);
  const counts = Array<number>(places.length).fill(0);
  for (const i of inverse) counts[i]!++;
  const list = (numbers: readonly number[]): Tensor => indices(call, numbers);
  return [x.indexSelect(dim, list(places)), list(places), list(inverse), list(counts)];
}
