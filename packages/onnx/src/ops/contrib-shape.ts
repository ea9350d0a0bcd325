/**
 * @file Operators of the `com.microsoft` domain that the standard one has under other terms: shapes, indices, grids,
 * Fourier transforms, distances.
 */
import { inv } from '@tessera/tensor/linalg';
import { type Tensor, cat, index, maximum, stack, where } from '@tessera/tensor';
import type { NodeCall } from '../run/node-call.js';
import type { ListOperatorTable, OperatorTable } from '../registry.js';
import { range } from './constant.js';
import { gatherNd } from './indexing.js';
import { indices, range as upTo, wrapped } from './like.js';
import { sample } from './sampling.js';
import { paddedBy, trilu } from './shape.js';
import { transform } from './signal.js';

/** Distances of the rows of A and of B: Euclidean, or their squares. */
function distances(call: NodeCall): Tensor {
  const [a, b] = [call.tensor(0), call.tensor(1)];
  if (a.shape[1] !== b.shape[1])
    call.fail(`rows of ${a.shape[1]} and of ${b.shape[1]} elements have no distance`);
  const metric = call.choice('metric', ['euclidean', 'sqeuclidean'], 'sqeuclidean');
  const squares = (x: Tensor): Tensor => x.square().sum([1]);
  const mixed = a.matmul(b.t()).mul(-2);
  const zero = mixed.mul(0);
  const sum = maximum(mixed.add(squares(a).unsqueeze(1)).add(squares(b)), zero);
  return metric === 'euclidean' ? sum.sqrt() : sum;
}

/** A dimension of size 1 put in. */
function expandDims(call: NodeCall): Tensor {
  const x = call.tensor(0);
  return x.unsqueeze(call.dim(call.number(1), x.ndim + 1));
}

/** Real and imaginary parts stand beside each other in the last dimension. */
function complexProduct(sign: 1 | -1) {
  return (call: NodeCall): Tensor => {
    const [a, b] = [call.tensor(0), call.tensor(1)];
    if (a.shape.at(-1) !== 2 || b.shape.at(-1) !== 2)
      call.fail('the last dimension of complex numbers has size 2');
    const [ar, ai, br] = [a.select(-1, 0), a.select(-1, 1), b.select(-1, 0)];
    const bi = sign === 1 ? b.select(-1, 1) : b.select(-1, 1).neg();
    return stack([ar.mul(br).sub(ai.mul(bi)), ar.mul(bi).add(ai.mul(br))], -1);
  };
}

/** What both transforms have in common. @throws onnx-unsupported */
function checkTransform(call: NodeCall): void {
  if (call.int('signal_ndim', 1) !== 1) call.unsupported('signal_ndim other than 1');
  if (!call.flag('onesided', true)) call.unsupported('onesided 0');
  if (call.flag('normalized')) call.unsupported('normalized 1');
}

/** […, n] → […, ⌊n / 2⌋ + 1, 2] */
function realTransform(call: NodeCall): Tensor {
  checkTransform(call);
  const x = call.tensor(0);
  const frequencies = Math.floor(x.shape.at(-1)! / 2) + 1;
  return stack([...transform(call, x, null, frequencies, false)], -1);
}

/** […, f, 2] → […, 2 (f - 1)] */
function inverseTransform(call: NodeCall): Tensor {
  checkTransform(call);
  const x = call.tensor(0);
  const count = x.shape.at(-2)!;
  const length = 2 * (count - 1);
  const whole = (part: number, sign: number): Tensor => {
    const half = x.select(-1, part);
    return cat(
      [
        half,
        half
          .narrow(-1, 1, count - 2)
          .flip([-1])
          .mul(sign),
      ],
      -1,
    );
  };
  const [real] = transform(call, whole(0, 1), whole(1, -1), length, true);
  return real.div(length);
}

/** Where the rows or columns of each box lie in an image of a size: [boxes, count]. */
function boxPositions(
  call: NodeCall,
  [start, end]: readonly [Tensor, Tensor],
  size: number,
  count: number,
): Tensor {
  const wide = size - 1;
  if (count === 1)
    return start
      .add(end)
      .mul(wide / 2)
      .unsqueeze(1);
  const steps = indices(call, upTo(count)).to(start.dtype);
  const step = end.sub(start).mul(wide / (count - 1));
  return start.mul(wide).unsqueeze(1).add(step.unsqueeze(1).mul(steps));
}

/** Parts of images, each in a box and resized: […, boxes] → [boxes, C, height, width]. */
function cropAndResize(call: NodeCall): Tensor {
  const [x, boxes] = [call.tensor(0), call.tensor(1)];
  const [height, width] = call.numbers(3);
  const isNearest = call.choice('mode', ['bilinear', 'nearest'], 'bilinear') === 'nearest';
  const outside = call.float('extrapolation_value', 0);
  let y = index(x, call.tensor(2).to('int64'));
  for (const [i, count] of [height, width].entries()) {
    const dim = i + 2;
    const size = x.shape[dim]!;
    const place = boxPositions(call, [boxes.select(1, i), boxes.select(1, i + 2)], size, count);
    const spread = (value: Tensor): Tensor =>
      value.reshape([boxes.shape[0]!, 1, ...(i === 0 ? [count, 1] : [1, count])]);
    const shape = y.shape.map((own, d) => (d === dim ? count : own));
    const at = (value: Tensor): Tensor =>
      y.gather(dim, spread(value.clamp(0, size - 1).to('int64')).expand(shape));
    const low = place.floor();
    const near = isNearest
      ? at(place.add(0.5).floor())
      : at(low).add(
          at(place.ceil())
            .sub(at(low))
            .mul(spread(place.sub(low))),
        );
    const isInside = spread(place.ge(0).logicalAnd(place.le(size - 1)));
    y = where(isInside, near, near.mul(0).add(outside));
  }
  return y;
}

/** Scores of tokens that would end a sequence of n tokens that has been there: -∞. */
function blockRepeats(call: NodeCall): Tensor {
  const [ids, scores] = [call.tensor(0).to('int64'), call.tensor(1)];
  const n = call.int('ngram_size');
  if (n < 1) call.fail(`ngram_size is ${n}`);
  const length = ids.shape[1]!;
  if (length < n) return scores;
  const windows = ids.unfold(1, n, 1);
  const last = ids.narrow(1, length - n + 1, n - 1).unsqueeze(1);
  const isRepeat =
    n === 1
      ? windows.select(2, 0).ge(0)
      : windows
          .narrow(2, 0, n - 1)
          .eq(last)
          .all(2);
  const own = scores.gather(1, windows.select(2, n - 1));
  const values = where(isRepeat, own.mul(0).sub(Infinity), own);
  return scores.scatterReduce(1, windows.select(2, n - 1), values, 'amin', { includeSelf: true });
}

/** The distinct numbers of a vector in their order, the place of each among them, and how often each is there. */
function unique(call: NodeCall): Tensor[] {
  const { data } = call.host(0);
  const order = new Map<number, number>();
  const counts: number[] = [];
  const places = data.map((value) => {
    const at = order.get(value) ?? order.size;
    order.set(value, at);
    counts[at] = (counts[at] ?? 0) + 1;
    return at;
  });
  const first = upTo(order.size).map((i) => places.indexOf(i));
  return [
    call.tensor(0).indexSelect(0, indices(call, first)),
    indices(call, places),
    indices(call, counts),
  ];
}

/** Operators with one output. */
export const contribShapes: OperatorTable = {
  Trilu: trilu,
  Range: range,
  Inverse: (call) => inv(call.tensor(0)),
  Pad: (call) => paddedBy(call, call.numbers(1), call.optionalNumbers(2)?.[0] ?? 0),
  ExpandDims: expandDims,
  GatherND: gatherNd,
  GridSample: sample,
  SampleOp: (call) => call.inputs[0] ?? null,
  CDist: distances,
  ComplexMul: complexProduct(1),
  ComplexMulConj: complexProduct(-1),
  Rfft: realTransform,
  Irfft: inverseTransform,
  CropAndResize: cropAndResize,
  NGramRepeatBlock: blockRepeats,
  TorchEmbedding: (call) => {
    const table = call.tensor(0);
    return index(table, wrapped(call.tensor(1).to('int64'), table.shape[0]!));
  },
};

/** Operators with several outputs. */
export const contribShapeLists: ListOperatorTable = { Unique: unique };
