/**
 * @file Programs of operators that are promised to do the same at all sizes, for tests of what samples tell.
 */
import { LSTM, functional as F } from '@tessera/nn';
import { grad, vmap } from '@tessera/tensor/func';
import * as linalg from '@tessera/tensor/linalg';
import {
  type Tensor,
  arange,
  bmm,
  cat,
  diag,
  diagEmbed,
  einsum,
  embedding,
  eye,
  fliplr,
  flipud,
  full,
  inner,
  linspace,
  meshgrid,
  ones,
  onesLike,
  outer,
  pixelShuffle,
  randint,
  randn,
  rot90,
  softmax,
  stack,
  stdMean,
  tensordot,
  varMean,
  zeros,
  zerosLike,
} from '@tessera/tensor';
import { ctcAlphas, rsub } from '@tessera/tensor/internal';

/** A program over a size, with the inputs that it takes at it. */
export interface Program {
  readonly inputs: (n: number) => readonly Tensor[];
  readonly fn: (...inputs: Tensor[]) => readonly Tensor[];
  /** Graphs that determine the others, if not four. */
  readonly samples?: number;
}

const w = (...sizes: number[]): Tensor => randn(sizes);
const leaf = (...sizes: number[]): Tensor => randn(sizes).requiresGrad_();

/** What leaves get from a backward inside the program. */
function gradients(loss: Tensor, leaves: readonly Tensor[]): Tensor[] {
  loss.backward();
  return [loss.detach(), ...leaves.map((x) => x.grad!)];
}

const sumOf = (values: readonly Tensor[]): Tensor =>
  values.map((value) => value.square().mean()).reduce((sum, value) => sum.add(value));

const lstm = new LSTM(4, 4);
for (const parameter of lstm.parameters()) parameter.requiresGrad_(false);

export const PROGRAMS: Readonly<Record<string, Program>> = {
  'views and copies': {
    inputs: (n) => [w(n, 4, 6), w(n, 24)],
    fn: (x, y) => [
      x.reshape([-1, 6]).mul(2),
      x.permute([2, 0, 1]).reshape([6, -1]).add(1),
      x.transpose(0, 1).contiguous().flatten(),
      y.view([y.sizes[0]!, 4, 6]).mul(x),
      y.unflatten(1, [2, 12]).mul(2),
      x
        .unsqueeze(0)
        .squeeze(0)
        .clone()
        .add(x.movedim(1, 2).reshape([x.sizes[0]!, 4, 6])),
      x.select(1, 2).unsqueeze(1).expand([-1, 3, -1]).mul(2),
      x.select(0, -1).expand([x.sizes[0]!, 4, 6]).mul(x),
      x.mT.expandAs(x.mT).mul(1.5),
      y.viewAs(y).reshapeAs(x.add(1)).detach().mul(3),
      y.to('float64').mul(2),
      x.flip([0]).add(y.t().reshape([-1]).narrow(0, 0, 6)),
    ],
  },
  parts: {
    inputs: (n) => [w(n + 2, 12), w(n, 3)],
    fn: (x, y) => [
      ...x.chunk(3, 1).map((part) => part.mul(2)),
      ...x.split(5, 1).map((part) => part.sum()),
      ...x.split([4, 8], 1).map((part) => part.amax(0)),
      ...y.unbind(1).map((column) => column.add(1)),
      x.slice(0, 1, -1).add(1),
      x.slice(0, 2).mul(y.sum()),
      x.narrow(0, 1, y.sizes[0]!).mul(2),
      cat([x, x.mul(2)], 0),
      cat([y, y.neg(), y], 1),
      stack([y, y.mul(2)], 1),
      F.pad(y, [1, 2, 0, 3]),
      x.sliceScatter(y.sum().expand([2, 12]), 0, 0, 2),
      x.selectScatter(y.sum().expand([12]), 0, 1),
    ],
  },
  'gradients of parts': {
    inputs: (n) => [leaf(n + 2, 4)],
    fn: (a) => {
      const parts = [
        a.slice(0, 1).square(),
        a.select(0, -1),
        ...a.chunk(2, 1).map((part) => part.exp()),
      ];
      return gradients(sumOf(parts), [a]);
    },
  },
  'values made of sizes': {
    inputs: (n) => [w(n, 3)],
    fn: (x) => {
      const n = x.sizes[0]!;
      return [
        zeros([n, 2]).add(1),
        ones([2, n]).mul(3),
        full([n], 2.5).mul(x.sum()),
        arange(n).add(1),
        zerosLike(x).add(1),
        onesLike(x).mul(x),
        x.newZeros([n]).add(1),
        x
          .newOnes([n, n])
          .tril()
          .add(ones([n, n]).triu(1)),
        x.mul(n).div(n + 1),
      ];
    },
  },
  sums: {
    inputs: (n) => [w(n, 4), w(4, n)],
    fn: (x, y) => [
      x.sum(),
      x.sum(0),
      x.mean(0),
      x.mean(),
      y.mean(1),
      x.amax(0),
      y.amin(1),
      x.prod(),
      y.prod(1),
      x.max(),
      x.min(),
      y.argmax(1),
      x.argmin(0),
      x.gt(0).any(0),
      x.gt(9).all(),
      x.logsumexp(0),
      softmax(y, 1),
      softmax(x, 0),
      F.logSoftmax(y, 1),
      x.max(0)[0],
      y.min(1)[0],
    ],
  },
  'norms and activations': {
    inputs: (n) => [leaf(n, 6), leaf(3, n), w(6)],
    fn: (a, c, b) => {
      const n = c.sizes[1]!;
      const out = [
        F.layerNorm(a, [6], { weight: b }),
        F.layerNorm(c, [n]),
        F.rmsNorm(a, [6]),
        F.relu6(a),
        F.selu(a),
        F.celu(a),
        softmax(c, 1),
        F.logSoftmax(a, 1),
        rsub(a.square(), 1),
      ];
      return [...out.map((value) => value.detach()), ...gradients(sumOf(out), [a, c])];
    },
  },
  losses: {
    inputs: (n) => [leaf(n, 5), randint(0, 5, [n]), w(n, 5)],
    fn: (a, at, y) => {
      const loss = F.crossEntropy(a, at).add(F.mseLoss(a, y)).add(F.l1Loss(a, y));
      return gradients(loss.add(F.nllLoss(F.logSoftmax(a, 1), at)), [a]);
    },
  },
  products: {
    inputs: (n) => [leaf(n, 6), leaf(6, 5), w(2, n, 6), w(5)],
    fn: (a, p, z, b) => {
      const out = [
        a.matmul(p),
        F.linear(a, p.t(), b),
        bmm(z, z.mT),
        z.matmul(p),
        z.mT.matmul(z),
        a.mv(p.select(1, 0)),
        a.select(1, 0).dot(a.select(1, 1)),
        b.addmm(a, p),
        bmm(z, z.mT).baddbmm(z, z.mT),
      ];
      return [...out.map((value) => value.detach()), ...gradients(sumOf(out), [a, p])];
    },
  },
  lookups: {
    inputs: (n) => [leaf(7, 3), randint(0, 7, [n]), w(n, 4), randint(0, 4, [n, 2])],
    fn: (t, at, x, places) => [
      ...gradients(embedding(t, at).square().sum(), [t]),
      t.detach().indexSelect(0, at),
      x.gather(1, places),
    ],
  },
  'a recurrent layer': {
    inputs: (n) => [leaf(n, 2, 4)],
    fn: (a) => {
      const out = lstm.call(a)[0];
      return [out.detach(), ...gradients(out.square().sum(), [a])];
    },
  },
  'the forward variables of CTC': {
    inputs: (n) => [leaf(n, 2, 8)],
    fn: (a) => {
      const reach = arange(8, { dtype: 'float32' }).clamp(0, 2).expand([2, 8]);
      const out = ctcAlphas(a, reach);
      // Those that are impossible are too large to be summed.
      return [out.detach(), ...gradients(out.exp().sum(), [a])];
    },
  },
  attention: {
    inputs: (n) => [leaf(2, 4, n, 8)],
    fn: (a) => {
      const out = F.scaledDotProductAttention(a, a.mul(0.5), a.add(1), { isCausal: true });
      return [out.detach(), ...gradients(out.square().sum(), [a])];
    },
  },
  'parts of a half': {
    inputs: (n) => [leaf(n + 2, 4)],
    samples: 7,
    fn: (a) => {
      const half = Math.floor(a.sizes[0]! / 2);
      const out = [a.slice(0, 0, half).mul(2), a.narrow(0, half, 1).exp(), a.select(0, half)];
      return [...out.map((value) => value.detach()), ...gradients(sumOf(out), [a])];
    },
  },
  'parts in equal numbers': {
    inputs: (n) => [leaf(3 * n + 1, 2)],
    // One more until the template has the sizes of parts right.
    samples: 5,
    fn: (a) => {
      const parts = a.chunk(3).map((part) => part.square().sum(0));
      return [...parts.map((part) => part.detach()), ...gradients(sumOf(parts), [a])];
    },
  },
  'steps and windows': {
    inputs: (n) => [leaf(2, 3, n + 6), leaf(4, 3, 3)],
    samples: 10,
    fn: (a, k) => {
      const out = [
        a.slice(2, 1, null, 2).mul(2),
        a.unfold(2, 3, 2).sum(3),
        F.conv1d(a, k, { stride: 2, padding: 1 }),
        F.avgPool1d(a, 2),
      ];
      return [...out.map((value) => value.detach()), ...gradients(sumOf(out), [a, k])];
    },
  },
  'convolutions whose padding is named, trained': {
    inputs: (n) => [
      leaf(2, 3, n + 8),
      leaf(2, 3, 3),
      leaf(2, 3, 4),
      leaf(2, 3, 3, n + 2),
      leaf(2, 3, 2, 3),
      leaf(2, 3, 2, 4, n + 1),
      leaf(2, 3, 1, 2, 3),
    ],
    fn: (a, odd, even, image, k, volume, k3) =>
      gradients(
        sumOf([
          F.conv1d(a, odd, { padding: 'same' }),
          F.conv1d(a, odd, { padding: 'same', dilation: 2 }),
          F.conv1d(a, even, { padding: 'same' }),
          F.conv1d(a, even, { padding: 'valid' }),
          F.conv1d(a.select(0, 0), odd, { padding: 'same' }),
          F.conv2d(image, k, { padding: 'same' }),
          F.conv3d(volume, k3, { padding: 'same' }),
          F.conv3d(volume, k3, { padding: 1 }),
        ]),
        [a, odd, even, image, k, volume, k3],
      ),
  },
  'strided convolutions whose padding is named': {
    inputs: (n) => [w(2, 3, n + 6), w(2, 3, 3)],
    samples: 7,
    fn: (a, k) => [F.conv1d(a, k, { padding: 'valid', stride: 2 }).mul(2)],
  },
  'windows over images': {
    inputs: (n) => [leaf(1, 2, n + 4, 6), leaf(3, 2, 3, 3), leaf(2, 3, 3, 3), w(2, 3, 3)],
    samples: 7,
    fn: (a, k, t, t1) => {
      const out = [
        F.conv2d(a, k, { padding: 1 }),
        F.convTranspose2d(a, t, { stride: 2 }),
        F.convTranspose1d(a.transpose(0, 1).select(3, 0).expand([2, 2, -1]), t1, { padding: 1 }),
        F.maxPool2d(a, 2),
        F.avgPool2d(a, [2, 3], { stride: 1 }),
        F.adaptiveAvgPool2d(a, 1),
        F.adaptiveAvgPool1d(a.squeeze(0), 1),
        F.interpolate(a, { scaleFactor: 2 }),
        F.interpolate(a, { scaleFactor: 2, mode: 'bilinear' }),
        F.pad(a, [1, 2, 1, 0], { mode: 'reflect' }),
        F.pad(a.squeeze(0), [1, 2], { mode: 'reflect' }),
        F.pad(a, [1, -1, -1, 2]),
      ];
      const pools = [F.maxPool1d(a.detach().squeeze(0).mT, 1)];
      return [...[...out, ...pools].map((value) => value.detach()), ...gradients(sumOf(out), [a])];
    },
  },
  'windows over windows': {
    inputs: (n) => [w(1, 2, 2 * n + 25, 2 * n + 25), w(3, 2, 5, 5), w(3, 3, 3, 3), w(3, 3, 1, 1)],
    // One more, since two of the first four have as many windows.
    samples: 5,
    fn: (a, wide, k, narrow) => {
      const half = F.maxPool2d(F.conv2d(a, wide, { stride: 2, padding: 2 }).relu(), 3, {
        stride: 2,
      });
      const part = F.conv2d(half, k, { stride: 2, padding: 1 });
      const third = F.conv2d(part.add(F.conv2d(half, narrow, { stride: 2 })), k, { padding: 1 });
      const last = F.avgPool2d(third.relu(), 2, { stride: 1 });
      return [part, last, last.mean([2, 3]), F.adaptiveAvgPool2d(part, 1).flatten(1)];
    },
  },
  'windows over windows, in rows and columns': {
    inputs: (n) => [w(2, 2, n + 25, 3 * n + 18), w(3, 2, 3, 3), w(3, 3, 3, 3)],
    // Of rows and columns, and until both have had enough numbers of windows.
    samples: 12,
    fn: (a, k, l) => {
      const half = F.conv2d(a, k, { stride: 2, padding: 1 });
      const part = F.conv2d(half.add(1), l, { stride: [2, 3], dilation: 2 });
      return [half.sum([2, 3]), part.transpose(2, 3).mul(2), part.softmax(-1), part.mean()];
    },
  },
  'windows over windows, and what is made of their sizes': {
    inputs: (n) => [w(1, 2, n + 25, n + 25), w(3, 2, 3, 3), w(3, 3, 3, 3)],
    samples: 13,
    fn: (a, k, l) => {
      const half = F.conv2d(a, k, { stride: 2, padding: 1 });
      const part = F.maxPool2d(F.conv2d(half, l, { stride: 2 }), 2);
      const rows = part.flatten(2).transpose(1, 2);
      return [rows.matmul(rows.mT), rows.reshape([-1]).cumsum(0)];
    },
  },
  'rearranged parts': {
    inputs: (n) => [leaf(n + 2, 4), w(n, n + 3), leaf(3, 4, n, n), w(n)],
    fn: (a, x, image, v) => {
      const out = [
        a.unfold(0, 3, 1).mean(2),
        a.roll(1, 0).mul(2),
        a.roll(-1),
        a.repeat([2, 3]),
        a.tile([2, 1]),
        a.repeatInterleave(2, 0),
        pixelShuffle(image, 2),
        image.diagonal(0, 2, 3),
        a.cumsum(0),
        a.diff(1, 0),
        meshgrid([a.select(1, 0), a.select(1, 1)], { indexing: 'ij' })[0]!,
      ];
      const plain = [
        rot90(x),
        fliplr(x),
        flipud(x),
        x.trace(),
        diag(v),
        diag(x, 1),
        diagEmbed(v),
        x.diagonal(1).add(1),
        x.diagonal().clone(),
        x.diagonalScatter(v),
      ];
      return [
        ...[...out, ...plain].map((each) => each.detach()),
        ...gradients(sumOf(out), [a, image]),
      ];
    },
  },
  'spreads and norms': {
    inputs: (n) => [leaf(n, 6), leaf(2, 4, n), w(6), w(4)],
    fn: (a, z, b, c) => {
      const out = [
        a.std(0),
        a.var(0),
        ...varMean(a, 0),
        ...stdMean(a, 0, { correction: 0 }),
        F.normalize(a, { dim: 0 }),
        F.batchNorm(a, { runningMean: b, runningVar: b.abs(), training: true }),
        F.batchNorm(z, { runningMean: c, runningVar: c.abs() }),
        F.groupNorm(z, 2),
        F.instanceNorm(z),
        F.cosineSimilarity(a, a.add(1), { dim: 0 }),
        F.pairwiseDistance(a, a.add(1)),
        F.glu(a),
        F.dropout(a),
      ];
      return [...out.map((value) => value.detach()), ...gradients(sumOf(out), [a, z])];
    },
  },
  'orders and places': {
    inputs: (n) => [leaf(n + 2, 4), randint(0, 4, [n + 2, 2]), randint(0, n + 2, [n])],
    // Rows that are too long to be ranked are sorted in another way, of which there are samples too.
    samples: 6,
    fn: (a, at, rows) => {
      const out = [a.sort(0)[0], a.topk(2, { dim: 0 })[0], a.median(0)[0], a.index([rows])];
      const x = a.detach();
      const plain = [
        x.argsort(0),
        F.oneHot(at, 4),
        x.scatter(1, at, x.narrow(1, 0, 2)),
        x.scatterAdd(1, at, x.narrow(1, 0, 2)),
        x.indexPut([rows], x.sum(), { accumulate: true }),
        x.indexAdd(0, rows, x.narrow(0, 0, rows.sizes[0]!)),
      ];
      return [...out.map((each) => each.detach()), ...plain, ...gradients(sumOf(out), [a])];
    },
  },
  'messages between nodes': {
    // Edges and nodes, and the graph that each node is of.
    inputs: (n) => [leaf(2 * n, 3), randint(0, n, [2 * n]), leaf(n, 3)],
    fn: (messages, to, nodes) => {
      const rows = to.unsqueeze(1).expand([-1, 3]);
      const out = (['sum', 'mean', 'amax', 'amin'] as const).flatMap((reduce) => [
        nodes.scatterReduce(0, rows, messages, reduce),
        nodes.scatterReduce(0, rows, messages, reduce, { includeSelf: false }),
      ]);
      out.push(
        nodes.scatterReduce(0, rows, messages.sigmoid().add(1), 'prod'),
        messages.indexFill(0, to, 0),
        messages.indexCopy(0, arange(nodes.sizes[0]!, { dtype: 'int64' }), nodes),
        F.logSigmoid(messages),
      );
      return [...out.map((each) => each.detach()), ...gradients(sumOf(out), [messages, nodes])];
    },
  },
  'more losses': {
    inputs: (n) => [leaf(n, 5), w(n, 5)],
    fn: (a, y) => {
      const p = y.sigmoid();
      const loss = F.smoothL1Loss(a, y)
        .add(F.huberLoss(a, y))
        .add(F.klDiv(F.logSoftmax(a, 1), softmax(y, 1), { reduction: 'batchmean' }))
        .add(F.binaryCrossEntropy(a.sigmoid(), p))
        .add(F.binaryCrossEntropyWithLogits(a, p));
      return gradients(loss, [a]);
    },
  },
  'more products': {
    inputs: (n) => [leaf(n, 6), leaf(6, 5), w(n), w(3, 6)],
    fn: (a, p, v, u) => {
      const out = [
        einsum('ij,jk->ik', a, p),
        einsum('bi,bj->bij', a, a),
        tensordot(a, p, 1),
        outer(v, a.select(1, 0)),
        inner(a, u),
        a.mul(eye(a.sizes[0]!).sum()).add(linspace(0, 1, a.sizes[0]!).unsqueeze(1)),
      ];
      return [...out.map((value) => value.detach()), ...gradients(sumOf(out), [a, p])];
    },
  },
  'factors of batches of matrices': {
    inputs: (n) => [leaf(n, 3, 3), leaf(n, 3, 2), leaf(n, 3)],
    fn: (a, b, v) => {
      const positive = a.matmul(a.mT).add(eye(3).mul(4));
      const inside = a.detach().requiresGrad_();
      linalg
        .logdet(inside.matmul(inside.mT).add(eye(3)))
        .sum()
        .backward();
      const factor = linalg.cholesky(positive);
      const [values, vectors] = linalg.eigh(positive);
      const [q, r] = linalg.qr(positive);
      const out = [
        factor,
        linalg.solve(positive, b),
        linalg.solve(positive, v),
        linalg.inv(positive),
        linalg.inv(positive.mul(2)),
        linalg.det(positive),
        linalg.logdet(positive),
        linalg.slogdet(positive)[1],
        linalg.solveTriangular(factor, b, { upper: false }),
        linalg.choleskySolve(b, factor),
        linalg.choleskyInverse(factor),
        values,
        vectors.square(),
        linalg.eigvalsh(positive),
        linalg.svdvals(b),
        q.square(),
        r.square(),
      ];
      const [lu, pivots] = linalg.luFactor(positive.detach());
      const plain = [
        inside.grad!,
        lu,
        linalg.luSolve(lu, pivots, b.detach()),
        linalg.choleskyEx(positive.detach())[0],
        linalg.invEx(positive.detach())[0],
        linalg.solveEx(positive.detach(), b.detach())[0],
        linalg.luFactorEx(positive.detach())[0],
      ];
      return [...out.map((each) => each.detach()), ...plain, ...gradients(sumOf(out), [a, b, v])];
    },
  },
  'gradients of each example': {
    inputs: (n) => [w(3, 5), w(n, 5), w(n, 3)],
    fn: (weight, x, y) => {
      const loss = (of: Tensor, a: Tensor, b: Tensor): Tensor =>
        F.mseLoss(F.linear(a, of).tanh(), b);
      const each = vmap(grad(loss), { inDims: [null, 0, 0] })(weight, x, y);
      return [each, each.flatten(1).norm(2, 1)];
    },
  },
};
