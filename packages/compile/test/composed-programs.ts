/**
 * @file Random programs of operators that are promised to do the same at all sizes, with their arguments drawn.
 */
import { functional as F } from '@tessera/nn';
import { type Tensor, arange, cat, einsum, stack, where, zeros, zerosLike } from '@tessera/tensor';

type Roll = (sides: number) => number;
/** An operator on a tensor of rank 1 or more, given numbers that stay those of the program. */
type Operator = (x: Tensor, a: number, b: number, inputs: readonly Tensor[]) => Tensor;

const at = (x: Tensor, n: number): number => n % x.ndim;
const size = (x: Tensor, n: number): number => x.sizes[at(x, n)]!;
const last = (x: Tensor): number => x.sizes.at(-1)!;
const positions = (n: number): Tensor => arange(n, { dtype: 'int64' });
const isImage = (x: Tensor): boolean => x.ndim === 3 && x.sizes[1]! > 1 && x.sizes[2]! > 1;
/** A kernel that needs no numbers of its own. */
const kernel = (...sizes: number[]): Tensor =>
  arange(
    sizes.reduce((product, n) => product * n, 1),
    { dtype: 'float32' },
  )
    .cos()
    .view(sizes);

const OPERATORS: Readonly<Record<string, Operator>> = {
  flatten: (x) => x.flatten(),
  transpose: (x, a, b) => x.transpose(at(x, a), at(x, b)),
  contiguous: (x) => x.contiguous(),
  unsqueeze: (x, a) => (x.ndim < 4 ? x.unsqueeze(a % (x.ndim + 1)) : x),
  slice: (x, a, b) => x.slice(at(x, a), b % 3, null, 1 + (a % 3)),
  'slice from the end': (x, a, b) => x.slice(at(x, a), 0, -1 - (b % 2)),
  half: (x, a, b) => {
    const half = Math.floor(size(x, a) / 2);
    return b % 2 === 0 ? x.narrow(at(x, a), 0, half) : x.narrow(at(x, a), half, size(x, a) - half);
  },
  chunk: (x, a, b) => {
    const parts = x.chunk(2 + (b % 2), at(x, a));
    return cat([parts.at(-1)!, parts[0]!], at(x, a));
  },
  split: (x, a) => {
    const parts = x.split(3, at(x, a));
    return cat([parts[0]!, parts.at(-1)!.mul(2)], at(x, a));
  },
  cat: (x, a) => cat([x, x.mul(3)], at(x, a)),
  'cat with zeros': (x, a, b) => cat([x, zeros(x.sizes.with(at(x, a), 1 + (b % 3)))], at(x, a)),
  stack: (x, a) => (x.ndim < 4 ? stack([x, x.mul(2)], a % (x.ndim + 1)) : x),
  pad: (x, a, b) => F.pad(x, [a % 3, b % 3]),
  sum: (x, a, b) => (x.ndim > 1 ? x.sum(at(x, a), { keepdim: b % 2 === 0 }) : x),
  mean: (x, a) => (x.ndim > 1 ? x.mean(at(x, a)) : x),
  amax: (x, a) => (x.ndim > 1 ? x.amax(at(x, a)) : x),
  softmax: (x, a) => x.softmax(at(x, a)),
  cumsum: (x, a) => x.cumsum(at(x, a)),
  outer: (x) => (x.ndim === 1 ? x.unsqueeze(0).mul(x.unsqueeze(1)) : x),
  einsum: (x) => (x.ndim === 2 ? einsum('ij,kj->ik', x, x.add(1)) : x.mul(x)),
  repeat: (x, a, b) => x.repeat(x.sizes.map((_, d) => (d === at(x, a) ? 1 + (b % 3) : 1))),
  'repeat by a size': (x, a, b) =>
    x.numel < 400 ? x.repeat(x.sizes.map((_, d) => (d === at(x, a) ? size(x, b) : 1))) : x,
  tile: (x) => x.tile([2]),
  'repeat elements': (x, a) => x.repeatInterleave(2, at(x, a)),
  'merge dims': (x) => (x.ndim > 1 ? x.reshape([-1, last(x)]) : x),
  'split a dim': (x) => (last(x) % 2 === 0 ? x.reshape([...x.sizes.slice(0, -1), 2, -1]) : x),
  flip: (x, a) => x.flip([at(x, a)]),
  roll: (x, a) => x.roll(1, at(x, a)),
  tril: (x) => (x.ndim > 1 ? x.tril() : x),
  diagonal: (x) => (x.ndim === 2 ? x.diagonal() : x),
  'add positions': (x) => x.add(arange(last(x), { dtype: 'float32' })),
  expand: (x, a) => (x.ndim < 4 ? x.unsqueeze(0).expand([size(x, a), ...x.sizes]) : x),
  unfold: (x, a, b) => (x.ndim < 4 ? x.unfold(at(x, a), 2, 1 + (b % 2)) : x),
  select: (x, a, b) => (x.ndim > 1 ? x.select(at(x, a), -(b % 2)) : x),
  'layer norm': (x) => F.layerNorm(x, [last(x)]),
  'group norm': (x) => (x.ndim === 3 && x.sizes[1]! % 2 === 0 ? F.groupNorm(x, 2) : x),
  conv1d: (x, a, b) =>
    x.ndim === 3
      ? F.conv1d(x.slice(1, 0, 2), kernel(3, 2, 2), { stride: 1 + (a % 2), padding: b % 2 })
      : x,
  conv2d: (x, a, b) =>
    isImage(x)
      ? F.conv2d(x.unsqueeze(1), kernel(2, 1, 2, 2), {
          stride: 1 + (a % 2),
          padding: b % 2,
        }).flatten(0, 1)
      : x,
  'average pool': (x, a) => (isImage(x) ? F.avgPool2d(x, 2, { stride: 1 + (a % 2) }) : x),
  upsample: (x, a) =>
    x.ndim === 3
      ? F.interpolate(x.unsqueeze(0), {
          scaleFactor: 2,
          mode: a % 2 === 0 ? 'nearest' : 'bilinear',
        }).squeeze(0)
      : x,
  attention: (x, a) =>
    x.ndim === 3
      ? F.scaledDotProductAttention(x, x.flip([1]), x.mul(0.5), { isCausal: a % 2 === 0 })
      : x,
  std: (x, a) => x.std(at(x, a)),
  norm: (x, a) => x.norm(2, at(x, a)),
  sort: (x, a) => x.sort(at(x, a))[0],
  topk: (x, a) => x.topk(2, { dim: at(x, a) })[0],
  argmax: (x, a) => x.add(x.argmax(at(x, a), { keepdim: true }).to('float32')),
  gather: (x, a) => x.gather(at(x, a), x.argsort(at(x, a))),
  'scatter add': (x, a) => zerosLike(x).scatterAdd(at(x, a), x.argsort(at(x, a)), x),
  'index select': (x, a) => x.indexSelect(at(x, a), positions(size(x, a)).flip([0])),
  index: (x) => x.index([positions(x.sizes[0]!).flip([0])]),
  'one hot': (x) => F.oneHot(x.argmax(0), x.sizes[0]!).to('float32'),
  'in place': (x) => {
    const y = x.clone();
    y.slice(0, 1).add_(1);
    return y;
  },
  'a remainder': (x) => x.mul((x.sizes[0]! % 3) + 1),
  numel: (x) => x.div(x.numel),
  where: (x) => where(x.gt(0), x, x.mul(0.5)),
  'add a mean': (x, _a, _b, inputs) => x.add(inputs[0]!.mean()),
};

const NAMES = Object.keys(OPERATORS);

/** What a dimension of an input is, of two sizes that vary: those, others that follow them, and fixed ones. */
const DIMS: readonly ((b: number, n: number) => number)[] = [
  (b) => b,
  (_, n) => n,
  (b) => b,
  (_, n) => n,
  (_, n) => 2 * n,
  (b, n) => b + n,
  () => 3,
];

/** A program of two sizes. */
export interface ComposedProgram {
  readonly text: string;
  /** Sizes of its inputs. */
  readonly shapes: (b: number, n: number) => number[][];
  readonly run: (inputs: readonly Tensor[]) => Tensor;
}

/** Draws one. */
export function composedProgram(roll: Roll): ComposedProgram {
  const dims = Array.from({ length: 1 + roll(2) }, () =>
    Array.from({ length: 1 + roll(3) }, () => DIMS[roll(DIMS.length)]!),
  );
  const steps = Array.from({ length: 2 + roll(5) }, () => {
    const name = NAMES[roll(NAMES.length)]!;
    return { name, operator: OPERATORS[name]!, a: roll(12), b: roll(12) };
  });
  return {
    text: steps.map(({ name, a, b }) => `${name} (${a}, ${b})`).join(', '),
    shapes: (b, n) => dims.map((list) => list.map((dim) => dim(b, n))),
    run: (inputs) =>
      steps.reduce((x, { operator, a, b }) => {
        const whole = x.ndim === 0 ? x.reshape([1]) : x;
        return whole.numel > 20_000 || whole.ndim > 4 ? whole : operator(whole, a, b, inputs);
      }, inputs[0]!),
  };
}
