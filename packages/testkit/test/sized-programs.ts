/**
 * @file Programs whose sizes vary, for tests of code for all sizes.
 */
import { functional as F } from '@tessera/nn';
import {
  type Tensor,
  arange,
  bmm,
  cat,
  embedding,
  full,
  grad,
  linspace,
  logspace,
  ones,
  randint,
  randn,
  softmax,
  stack,
  zeros,
} from '@tessera/tensor';

/** A program over a size, with the inputs that it takes at it. */
export interface SizedProgram {
  readonly inputs: (n: number) => readonly Tensor[];
  readonly fn: (a: Tensor, b: Tensor, c: Tensor, d: Tensor, n: number) => Tensor | Tensor[];
  /** Plans for one size: for the first, 1 and 0. */
  readonly plans?: number;
}

const w = (...sizes: number[]): Tensor => randn(sizes);

export const SIZED_PROGRAMS: Readonly<Record<string, SizedProgram>> = {
  'a pointwise chain': { inputs: (n) => [w(n, 3), w(3)], fn: (x, b) => x.mul(2).add(b).relu() },
  'a symbolic last dimension': { inputs: (n) => [w(3, n), w(3, 1)], fn: (x, b) => x.mul(b).exp() },
  'two symbols': {
    inputs: (n) => [w(n, n + 2), w(n + 2)],
    fn: (x, b) => [x.add(b), x.t().mul(2)],
  },
  'sums and means': {
    inputs: (n) => [w(n, 4)],
    fn: (x) => [x.sum(), x.sum(0), x.mean(0), x.mean(1), x.mean(), x.amax(1)],
  },
  variances: { inputs: (n) => [w(n, 4)], fn: (x) => [x.var(1), x.std(0), x.var()] },
  softmax: { inputs: (n) => [w(n, 5), w(5, n)], fn: (x, y) => [softmax(x, 1), softmax(y, 1)] },
  'a transposed copy': {
    inputs: (n) => [w(n, 3, 4)],
    fn: (x) => x.permute([2, 0, 1]).mul(2).reshape([-1]),
  },
  'views of rows': {
    inputs: (n) => [w(n, 4, 6)],
    fn: (x) => x.reshape([-1, 6]).add(1).reshape([x.sizes[0]!, 24]).mul(2).flip([0]),
  },
  'a product': {
    inputs: (n) => [w(n, 6), w(6, 7), w(7)],
    fn: (x, a, b) => x.matmul(a).add(b).relu(),
  },
  'products with symbols everywhere': {
    inputs: (n) => [w(n, 6), w(6, n), w(n, n)],
    fn: (a, b, c) => [a.matmul(b), b.matmul(a), c.matmul(c), a.t().matmul(a)],
  },
  'a batched product': {
    inputs: (n) => [w(n, 3, 4), w(n, 4, 5), w(2, n, 4), w(2, 4, n)],
    fn: (a, b, c, d) => [bmm(a, b), bmm(c, d), bmm(d, c)],
  },
  'joined tensors': {
    inputs: (n) => [w(n, 3), w(2, 3), w(n, 3)],
    fn: (a, b, c) => [cat([a, b], 0).mul(2), cat([a.mul(2), c.add(1)], 1), stack([a, c], 0)],
  },
  'joins of unequal parts': {
    inputs: (n) => [w(2, n, 12), w(2, 1, 12), w(2, n + 2, 12), w(2, 12, n)],
    fn: (a, b, c, d) => {
      const whole = cat([a, b.mul(2), c], 1);
      return [
        whole,
        whole.amax(1),
        bmm(whole, d),
        cat([d, c.transpose(1, 2)], 2),
        cat([b, a, b.neg(), a.exp()], 1),
        stack([a, a.add(1)], 1),
      ];
    },
  },
  slices: {
    plans: 1,
    inputs: (n) => [w(n + 2, 4)],
    fn: (x) => [x.slice(0, 1).mul(2), x.slice(0, 0, -1), x.select(0, -1).add(1), x.narrow(1, 1, 2)],
  },
  'values of sizes': {
    inputs: (n) => [w(n, 3)],
    fn: (x) => [
      arange(x.sizes[0]!).add(1),
      full([x.sizes[0]!, 2], 3),
      zeros([2, x.sizes[0]!]).add(x.sizes[0]!),
      x.div(x.sizes[0]!),
    ],
  },
  'a lookup': {
    inputs: (n) => [w(7, 3), randint(0, 7, [n])],
    fn: (table, at) => [table.indexSelect(0, at), table.gather(0, at.unsqueeze(1).expand([-1, 3]))],
  },
  'lookups in tables that vary': {
    inputs: (n) => [w(n + 1, 3), randint(0, n + 1, [4]), randint(0, n + 1, [n, 3])],
    fn: (table, at, grid) => [
      table.indexSelect(0, at),
      table.gather(0, grid),
      embedding(table, at),
      table.index([at]),
    ],
    plans: 3,
  },
  'running values': {
    inputs: (n) => [w(n, 3), w(3, 70, n)],
    fn: (x, y) => [
      x.cumsum(0),
      y.cumsum(1),
      x.cumprod(0),
      ...x.cummax(0),
      y.mul(2).cumsum(-1).add(1),
    ],
    plans: 3,
  },
  'rows in order': {
    inputs: (n) => [w(n + 1, 9), w(70, n + 2)],
    fn: (x, y) => [
      ...x.sort(1),
      ...y.sort(0, { descending: true }),
      ...x.median(1),
      ...y.topk(2, { dim: 0 }),
    ],
    plans: 2,
  },
  'scattered values': {
    inputs: (n) => [
      w(n + 1, 3),
      randint(0, n + 1, [n + 1, 3]),
      w(n + 1, 3),
      randint(0, n + 1, [n + 1]),
    ],
    fn: (x, at, src, rows) => [
      x.scatter(0, at, 2),
      x.scatterAdd(0, at, src),
      x.indexAdd(0, rows, src),
      x.indexPut([rows], src, { accumulate: true }),
    ],
    plans: 2,
  },
  'edges that are mirrored': {
    inputs: (n) => [w(2, n + 3), w(1, 2, n + 2, 4)],
    fn: (x, y) => [
      F.pad(x.unsqueeze(0), [1, 2], { mode: 'reflect' }),
      F.pad(y, [1, 1, 0, 1], { mode: 'reflect' }),
    ],
    plans: 1,
  },
  'edges that are repeated': {
    inputs: (n) => [w(1, 2, n + 1), w(1, 2, n + 1, 4)],
    fn: (x, y) => {
      const [a, b] = [x, y].map((t) => t.detach().requiresGrad_()) as [Tensor, Tensor];
      const out = [
        F.pad(a, [3, 1], { mode: 'replicate' }),
        F.pad(b, [1, 2, 2, 0], { mode: 'replicate' }),
      ];
      const loss = out.map((t) => t.square().sum()).reduce((sum, t) => sum.add(t));
      return [...out.map((t) => t.detach()), ...(grad(loss, [a, b]) as Tensor[])];
    },
    plans: 2,
  },
  'batches of images that are resized': {
    inputs: (n) => [w(n + 1, 2, 3, 4)],
    fn: (x) => {
      const a = x.detach().requiresGrad_();
      const out = [
        F.interpolate(a, { size: [5, 6], mode: 'nearest' }),
        F.interpolate(a, { size: [7, 3], mode: 'bilinear' }),
      ];
      const loss = out.map((t) => t.square().sum()).reduce((sum, t) => sum.add(t));
      return [...out.map((t) => t.detach()), ...(grad(loss, [a]) as Tensor[])];
    },
    plans: 2,
  },
  'images that are enlarged by a factor': {
    inputs: (n) => [w(1, 2, n + 3, n + 5)],
    fn: (x) => [
      F.interpolate(x, { scaleFactor: 2, mode: 'nearest' }).mul(2),
      F.interpolate(x, { scaleFactor: 3, mode: 'nearest-exact' }),
      F.interpolate(x, { scaleFactor: 2, mode: 'bilinear' }),
      F.interpolate(x, { scaleFactor: [2, 4], mode: 'bicubic' }),
      F.interpolate(x.select(0, 0), { scaleFactor: 2, mode: 'linear' }),
    ],
    plans: 1,
  },
  'images that are resized by a fraction': {
    inputs: (n) => [w(1, 2, n + 9, 3 * n + 7)],
    fn: (x) => [
      F.interpolate(x, { scaleFactor: 0.5, mode: 'nearest' }).mul(2),
      F.interpolate(x, { scaleFactor: [0.3, 0.75], mode: 'bilinear' }),
      F.interpolate(x, { scaleFactor: [1.5, 2.5], mode: 'bicubic' }),
    ],
    plans: 1,
  },
  'images that are resized to a size': {
    inputs: (n) => [w(1, 2, n + 3, 2 * n + 1), w(1, 2, 3 * n + 20, n + 40)],
    fn: (x, y) => [
      F.interpolate(x, { size: [7, 5], mode: 'nearest' }),
      F.interpolate(x, { size: y.sizes.slice(2), mode: 'nearest-exact' }),
      F.interpolate(x, { size: y.sizes.slice(2), mode: 'bilinear' }),
      F.interpolate(x, { size: [x.sizes[2]! * 2, 40], mode: 'bilinear', alignCorners: true }),
      F.interpolate(x, { size: [2, 9], mode: 'bicubic' }),
    ],
    plans: 2,
  },
  'gradients of images that are resized': {
    inputs: (n) => [w(1, 1, n + 3, 2 * n + 1), w(1, 1, n + 20, n + 40)],
    fn: (x, y) => {
      const a = x.detach().requiresGrad_();
      const out = [
        F.interpolate(a, { scaleFactor: 2, mode: 'nearest' }),
        F.interpolate(a, { scaleFactor: [3, 1.5], mode: 'bilinear' }),
        F.interpolate(a, { size: [7, 5], mode: 'nearest' }),
        F.interpolate(a, { size: y.sizes.slice(2), mode: 'nearest-exact' }),
        F.interpolate(a, { size: y.sizes.slice(2), mode: 'bilinear', alignCorners: true }),
        F.interpolate(a, { size: [9, 2 * a.sizes[3]!], mode: 'bicubic' }),
        F.interpolate(a, { size: [4, 30], mode: 'bilinear', antialias: true }),
        F.interpolate(a, { size: y.sizes.slice(2), mode: 'bilinear', antialias: true }),
        F.interpolate(a, { size: [3, 30], mode: 'bicubic', antialias: true }),
        F.interpolate(a, { size: y.sizes.slice(2), mode: 'bicubic', antialias: true }),
      ];
      return out.flatMap((t) => [t.detach(), ...(grad(t.square().sum(), [a]) as Tensor[])]);
    },
    plans: 2,
  },
  'images that are sampled': {
    inputs: (n) => [w(1, 2, n + 1, 4), w(1, 3, n, 2)],
    fn: (x, at) => [
      F.gridSample(x, at),
      F.gridSample(x, at, { mode: 'bicubic', paddingMode: 'border', alignCorners: true }),
      F.gridSample(x, at, { mode: 'nearest', paddingMode: 'reflection' }),
    ],
  },
  'numbers at equal distances': {
    inputs: (n) => [w(n)],
    fn: (x) => [
      linspace(-1, 3, x.sizes[0]!, { device: x.device }).mul(x),
      logspace(0, 1, x.sizes[0]!, { device: x.device }).add(x),
    ],
  },
  'pools of windows that vary': {
    inputs: (n) => [w(2, 3, 2 * n + 5, 7)],
    fn: (x) => [F.adaptiveAvgPool2d(x, [3, 2]), F.adaptiveMaxPool2d(x, [2, 2])],
    plans: 1,
  },
  'gradients of pools': {
    inputs: (n) => [w(2, 3, n + 5, 6)],
    fn: (x) => {
      const a = x.detach().requiresGrad_();
      return grad(F.avgPool2d(a, 3, { stride: 1, padding: 1 }).square().sum(), [a]) as Tensor[];
    },
    plans: 1,
  },
  'groups of channels': {
    inputs: (n) => [w(n, 6, n + 2), w(6), w(6)],
    fn: (x, weight, bias) => {
      const a = x.detach().requiresGrad_();
      const out = F.groupNorm(a, 3, { weight, bias });
      return [out, ...(grad(out.square().sum(), [a]) as Tensor[])];
    },
    plans: 3,
  },
  'sizes that no tensor has': {
    inputs: () => [w(3), w(1)],
    fn: (row, x, _, __, n) => {
      const { device } = row;
      return [
        zeros([n, 3], { device }).add(row),
        full([2, n], 0.5, { device }),
        ones([n + 1], { device }).mul(x),
        arange(n, { device }).add(1),
      ];
    },
  },
  'a place that moves': {
    inputs: () => [w(140, 3), w(1, 3), w(140)],
    fn: (x, row, y, _, n) => [
      x.narrow(0, n, 2).mul(2),
      x.sliceScatter(row, 0, n, n + 1).add(1),
      y.selectScatter(row.sum(), 0, n),
      x.select(0, n + 1).add(y.slice(0, n, n + 3)),
    ],
    plans: 1,
  },
  convolutions: {
    inputs: (n) => [w(2, 3, n + 4, n + 6), w(4, 3, 3, 3), w(4), w(3, 2, 2, 2)],
    fn: (x, kernel, bias, up) => [
      F.conv2d(x, kernel, { bias, stride: 2, padding: 1 }),
      F.conv2d(x, kernel).relu(),
      F.convTranspose2d(x, up, { stride: 2 }),
    ],
    plans: 1,
  },
  'gradients of a convolution': {
    inputs: (n) => [w(n + 1, 2, n + 3, 5), w(4, 2, 3, 3)],
    fn: (x, kernel) => {
      const [a, k] = [x.detach().requiresGrad_(), kernel.detach().requiresGrad_()];
      return grad(F.conv2d(a, k, { padding: 1 }).tanh().mean(), [a, k]) as Tensor[];
    },
    plans: 2,
  },
  pools: {
    inputs: (n) => [w(2, 3, 2 * n + 5, 7)],
    fn: (x) => [
      F.maxPool2d(x, 3, { stride: 2, padding: 1 }),
      F.avgPool2d(x, 2),
      F.avgPool2d(x, 3, { padding: 1 }),
      F.adaptiveAvgPool2d(x, 1),
    ],
    plans: 1,
  },
  'windows over windows': {
    inputs: (n) => [
      w(1, 3, n + 30, 2 * n + 41),
      w(4, 3, 7, 7).mul(0.1),
      w(4, 4, 3, 3).mul(0.2),
      w(4, 4, 1, 1),
    ],
    fn: (image, stem, kernel, narrow) => {
      const x = F.maxPool2d(F.conv2d(image, stem, { stride: 2, padding: 3 }).relu(), 3, {
        stride: 2,
        padding: 1,
      });
      const y = F.conv2d(x, kernel, { stride: 2, padding: 1 }).relu();
      const z = F.conv2d(y, kernel, { padding: 1 }).add(F.conv2d(x, narrow, { stride: 2 }));
      return [
        F.adaptiveAvgPool2d(z.relu(), 1).flatten(1),
        F.avgPool2d(z, 2, { ceilMode: true }),
        F.maxPool2d(z, 3, { stride: 2, ceilMode: true, padding: 1 }),
        F.unfold(z, [2, 3], { stride: 2 }),
      ];
    },
    plans: 1,
  },
  'a batch norm': {
    inputs: (n) => [w(n + 1, 3, n + 2), w(3), w(3).abs()],
    fn: (x, mean, variance) => [
      F.batchNorm(x, { runningMean: mean, runningVar: variance }),
      F.batchNorm(x, { training: true }),
    ],
    plans: 2,
  },
  'a layer norm over a symbolic dimension': {
    inputs: (n) => [w(3, n), w(n), w(n, 5)],
    fn: (x, weight, y) => {
      const [a, b] = [x.detach().requiresGrad_(), weight.detach().requiresGrad_()];
      const out = F.layerNorm(a, [x.sizes[1]!], { weight: b });
      return [
        ...(grad(out.square().sum(), [a, b]) as Tensor[]),
        F.layerNorm(y, [5]),
        F.layerNorm(y, [...y.sizes]),
      ];
    },
  },
  'parts of a known dimension': {
    inputs: (n) => [w(n, 3)],
    fn: (x) => x.unbind(1).map((column) => column.mul(2)),
  },
  'the gradient of a lookup': {
    inputs: (n) => [w(7, 3), randint(0, 7, [n + 1]), randint(0, 7, [2, n + 1])],
    fn: (table, at, grid) => {
      const t = table.detach().requiresGrad_();
      const loss = embedding(t, at).square().sum().add(embedding(t, grid).sum());
      return grad(loss, [t]) as Tensor[];
    },
    plans: 2,
  },
  'bags of rows of a table': {
    inputs: (n) => [w(n + 3, 3), randint(0, n + 3, [2 * n + 2]), randint(0, n + 2, [n + 1, 4])],
    fn: (table, at, grid) => {
      const t = table.detach().requiresGrad_();
      const offsets = arange(at.sizes[0]!, { device: at.device }).slice(0, 0, null, 2);
      const out = [
        F.embeddingBag(at, t, { offsets, mode: 'sum' }),
        F.embeddingBag(grid, t, { mode: 'mean' }),
        F.embeddingBag(at, t, { offsets, mode: 'max' }),
      ];
      const loss = out.map((x) => x.square().sum()).reduce((sum, x) => sum.add(x));
      return [...out.map((x) => x.detach()), ...(grad(loss, [t]) as Tensor[])];
    },
    plans: 2,
  },
  'adaptive pools that are as large as others': {
    inputs: (n) => [w(1, 2, 2 * n + 5, n + 4), w(2, 3, n + 1, n + 2)],
    fn: (x, y) => {
      const a = x.detach().requiresGrad_();
      const size = [y.sizes[2]!, y.sizes[3]!] as [number, number];
      const out = [F.adaptiveAvgPool2d(a, size), F.adaptiveMaxPool2d(a, size)];
      const wide = F.adaptiveAvgPool2d(a, [2, 9 * x.sizes[3]!]);
      const loss = [...out, wide].map((t) => t.square().sum()).reduce((sum, t) => sum.add(t));
      return [...out.map((t) => t.detach()), ...(grad(loss, [a]) as Tensor[])];
    },
    plans: 2,
  },
  'a causal mask': {
    inputs: (n) => [w(n, n)],
    fn: (x) => {
      const n = x.sizes[0]!;
      const above = ones([n, n], { device: x.device }).tril().eq(0);
      return softmax(x.maskedFill(above, -Infinity), 1);
    },
  },
  'a gradient': {
    inputs: (n) => [w(n, 6), w(6, 5), w(n, 5)],
    fn: (x, a, y) => {
      const p = a.detach().requiresGrad_();
      const loss = x.matmul(p).tanh().sub(y).square().mean();
      return grad(loss, [p]) as Tensor[];
    },
  },
};
