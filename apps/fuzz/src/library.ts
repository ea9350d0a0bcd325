/**
 * @file Functions that programs may call beside the operators that they are made of: one expression each, which printed
 * programs show.
 *
 * `x` and `y` are tensors of the program, `f` and `g` the same as float32 if they are none of floats, `v` a row of `f`'s
 * elements, `k` a number that changes between calls, `m` modules. An entry that does not fit its tensors is refused when it
 * is drawn.
 */
import * as nn from '@tessera/nn';
import * as F from '@tessera/nn/functional';
import * as T from '@tessera/tensor';
import * as fft from '@tessera/tensor/fft';
import * as func from '@tessera/tensor/func';
import * as linalg from '@tessera/tensor/linalg';
import * as special from '@tessera/tensor/special';
import type { Tensor } from '@tessera/tensor';

const POINTWISE = [
  ...'log1p expm1 atan asinh digamma lgamma reciprocal rsqrt sqrt trunc frac deg2rad sinc mish selu relu6'.split(
    ' ',
  ),
  ...'hardswish isfinite isinf signbit positive i0 exp2 log2 log10 log tan sinh cosh asin acos atanh erfc'.split(
    ' ',
  ),
  ...'nanToNum logSigmoid hardsigmoid cosh_ erf_ expm1_ square_ sqrt_ trunc_ frac_ reciprocal_ atan_ floor_'.split(
    ' ',
  ),
].map((name) => `x.${name}()`);

const PAIRS = [
  ...'atan2 hypot copysign fmax fmin floorDivide fmod xlogy logaddexp heaviside gcd lcm bitwiseOr bitwiseLeftShift'.split(
    ' ',
  ),
  ...'div_ remainder_ pow_ atan2_ fmod_ floorDivide_ logicalAnd_ bitwiseXor_ copysign_ lt_ ge_'.split(
    ' ',
  ),
].map((name) => `x.${name}(y)`);

/** See the file header. */
export const LIBRARY: readonly string[] = [
  ...POINTWISE,
  ...PAIRS,
  // Three operands, numbers among them.
  'x.lerp(y, 0.3)',
  'x.lerp_(y, y)',
  'x.addcmul(y, y, { value: 0.5 })',
  'x.addcdiv_(y, y.abs().add(1), { value: -2 })',
  'x.add(y, { alpha: 2 })',
  'x.sub_(y, { alpha: k })',
  'x.clamp(y.neg(), y)',
  'x.clampMin_(0.25)',
  'x.clampMax(k)',
  'x.mul(k).neg().add(1)',
  'x.div(k + 1.5, { roundingMode: "floor" })',
  'T.where(x.gt(k), x, y)',
  'x.maskedFill(y.gt(0), k)',
  'x.nanToNum({ nan: k })',
  'x.dist(y)',
  // Views, and writing to them.
  'x.movedim(0, -1)',
  'x.flatten()',
  'x.ravel().narrow(0, 0, 1)',
  'x.unflatten(-1, [1, -1])',
  'x.expandAs(y)',
  'x.viewAs(y)',
  'x.swapaxes(0, -1)',
  'x.squeeze(-1)',
  'x.unsqueeze(-1).squeeze(-1)',
  'x.tensorSplit(2, -1)[1]',
  'x.diagonal(1)',
  'x.asStrided([2], [1])',
  'x.flatten().asStrided([2, 2], [1, 1], 0).sum(0)',
  'x.T',
  'x.mT',
  'x.select(-1, -1)',
  '(x.select(0, 0).fill_(k), x)',
  '(x.diagonal().mul_(2), x)',
  '(x.slice(-1, 0, 1).copy_(y.slice(-1, 0, 1)), x)',
  '(x.T.add_(1), x)',
  '(x.unbind(0)[0].sub_(k), x)',
  '(x.flatten().add_(1), x)',
  '(x.expand([2, ...x.shape])[0] ?? x).clone()',
  'x.detach().add_(1)',
  // Along dimensions.
  'x.cummax(-1)[0]',
  'x.cummin(0)[1]',
  'x.cumprod(-1)',
  'x.cumsum_(0)',
  'x.logcumsumexp(-1)',
  'x.nansum()',
  'x.nanmean(0)',
  'x.median()',
  'x.median(-1)[0]',
  'x.kthvalue(1, { dim: -1 })[0]',
  'x.mode(-1)[0]',
  'x.quantile(0.4, { dim: 0 })',
  'x.std(0)',
  'T.varMean(f, -1, { correction: 0 })[0]',
  'T.aminmax(x)[0]',
  'x.amin([0])',
  'x.argmin(-1)',
  'x.argsort(-1)',
  'x.sort(-1, { descending: true, stable: true })[1]',
  'x.topk(1, { dim: 0, largest: false })[0]',
  'x.all(-1)',
  'x.countNonzero(0)',
  'f.norm(1, -1)',
  'f.norm(Infinity)',
  'f.logSoftmax(-1)',
  'F.softmin(f, 0)',
  'F.normalize(f, { dim: -1 })',
  'x.sum(null, { dtype: "float64" })',
  'x.mean(null, { dtype: "float64" })',
  'x.diff()',
  'T.trapezoid(f)',
  'T.cov(f.reshape([1, -1]))',
  'T.bincount(x.abs().to("int64").flatten().clamp(0, 9))',
  'T.unique(x)',
  'T.histc(f, { bins: 4, min: -2, max: 2 })',
  'T.logsumexp(f, 0)',
  'f.renorm(2, 0, 1)',
  // Reading and writing at indices.
  'x.scatter(-1, T.zerosLike(x).to("int64"), y)',
  'x.scatterAdd(0, T.zerosLike(x, { dtype: "int64" }), y)',
  'x.scatterReduce(0, T.zerosLike(x, { dtype: "int64" }), y, "amax")',
  'x.scatter_(-1, x.argsort(-1), x.clone())',
  'x.indexAdd(0, T.arange(x.shape[0]), y)',
  'x.indexAdd_(0, T.zeros([x.shape[0]], { dtype: "int64" }), x.clone(), { alpha: 0.5 })',
  'x.indexCopy(0, T.arange(x.shape[0]).flip(0), y)',
  'x.indexFill_(0, T.tensor([0], { dtype: "int64" }), k)',
  'x.indexPut([T.tensor([0, 0], { dtype: "int64" })], T.tensor(1).to(x.dtype), { accumulate: true })',
  'x.index([T.tensor([0, -1], { dtype: "int64" })])',
  'x.index([x.gt(0)])',
  'x.take(T.tensor([0, -1], { dtype: "int64" }))',
  'x.takeAlongDim(x.argsort(0), 0)',
  'x.put(T.tensor([0], { dtype: "int64" }), T.tensor([1]).to(x.dtype))',
  'x.maskedScatter(x.gt(0), x.flip(0).flatten())',
  'x.selectScatter(y.select(0, 0), 0, -1)',
  'x.sliceScatter(y.slice(0, 0, 1), 0, 0, 1)',
  'x.diagonalScatter(y.diagonal())',
  'x.gather(-1, x.argmax(-1, { keepdim: true }))',
  'T.bucketize(x, T.tensor([-1, 0, 1]))',
  'T.searchsorted(f.sort(-1)[0], g)',
  'x.repeatInterleave(2, 0)',
  'x.tile([2])',
  'x.rot90()',
  'x.tril(-1)',
  'x.triu_(1)',
  'x.fliplr()',
  'T.hstack([x, y])',
  'T.vstack([x, y])',
  'T.dstack([x, x])',
  'T.meshgrid([v, v.narrow(0, 0, 1)])[0]',
  'T.diagEmbed(x)',
  'T.diag(x)',
  'T.trace(x)',
  'T.blockDiag([x, y])',
  'T.cartesianProd([v.narrow(0, 0, 2), v.narrow(0, 0, 1)])',
  'F.oneHot(x.abs().to("int64").clamp(0, 4), 5)',
  // Products.
  'T.outer(v, v.narrow(0, 0, 2))',
  'T.kron(x, T.ones([2], { dtype: x.dtype }))',
  'T.dot(v, v)',
  'f.matmul(g.mT)',
  'T.mv(f, f.select(0, 0))',
  'T.addmm(f.select(0, 0), f, T.eye(f.shape[1], { dtype: f.dtype }), { beta: 0.5 })',
  'T.bmm(f.expand([2, ...f.shape]), f.mT.expand([2, f.shape[1], f.shape[0]]))',
  'T.baddbmm(T.ones([2, 1, 1], { dtype: f.dtype }), f.expand([2, ...f.shape]), f.mT.expand([2, f.shape[1], f.shape[0]]))',
  'T.einsum("ij,kj->ik", f, g)',
  'T.einsum("...i->...", f)',
  'T.tensordot(f, f.mT, [[-1], [0]])',
  'T.cdist(f, f.add(1))',
  'linalg.matrixPower(f.matmul(f.mT), 2)',
  'linalg.vecdot(f, f)',
  'linalg.inv(f.matmul(f.mT).add(T.eye(f.shape[0], { dtype: f.dtype }).mul(4)))',
  'linalg.solve(f.matmul(f.mT).add(T.eye(f.shape[0], { dtype: f.dtype }).mul(4)), f)',
  'linalg.cholesky(f.matmul(f.mT).add(T.eye(f.shape[0], { dtype: f.dtype }).mul(4)))',
  'linalg.det(f.matmul(f.mT).add(T.eye(f.shape[0], { dtype: f.dtype })))',
  // Layers of networks.
  'F.conv1d(v.reshape([1, 1, -1]), T.linspace(-1, 1, 3).reshape([1, 1, 3]), { padding: 1 })',
  'F.conv1d(v.reshape([1, 1, -1]), T.ones([2, 1, 2]), { stride: 2 })',
  'F.conv2d(v.reshape([1, 1, 1, -1]), T.ones([2, 1, 1, 2]), { padding: [0, 1] })',
  'F.convTranspose1d(v.reshape([1, 1, -1]), T.ones([1, 2, 2]), { stride: 2 })',
  'F.maxPool1d(v.reshape([1, 1, -1]), 2, { padding: 1 })',
  'F.avgPool1d(v.reshape([1, 1, -1]), 2)',
  'F.adaptiveAvgPool1d(v.reshape([1, 1, -1]), 2)',
  'F.adaptiveMaxPool1d(v.reshape([1, 1, -1]), 2)',
  'F.interpolate(v.reshape([1, 1, -1]), { scaleFactor: 2 })',
  'F.interpolate(v.reshape([1, 1, -1]), { size: 5, mode: "linear" })',
  'F.pad(v.reshape([1, 1, -1]), [1, 1], { mode: "reflect" })',
  'F.pad(v.reshape([1, 1, -1]), [1, 0], { mode: "circular" })',
  'F.unfold(v.reshape([1, 1, 1, -1]), [1, 2])',
  'F.layerNorm(f, [f.shape.at(-1)])',
  'F.rmsNorm(f, [f.shape.at(-1)])',
  'F.groupNorm(f.reshape([1, 2, -1]), 2)',
  'F.glu(T.cat([f, f], -1))',
  'F.prelu(f, T.tensor([0.25]))',
  'F.celu(f, { alpha: 0.5 })',
  'F.threshold(f, 0, k)',
  'F.softshrink(f)',
  'F.embedding(x.abs().to("int64").clamp(0, 3), T.linspace(-1, 1, 8).reshape([4, 2]))',
  'F.embeddingBag(x.abs().to("int64").clamp(0, 3).reshape([1, -1]), T.linspace(-1, 1, 8).reshape([4, 2]))',
  'F.scaledDotProductAttention(f.unsqueeze(0), f.unsqueeze(0), f.unsqueeze(0))',
  'F.scaledDotProductAttention(f.unsqueeze(0), f.unsqueeze(0), f.unsqueeze(0), { isCausal: true })',
  'F.dropout(f, { p: k > 0 ? 0.5 : 0.25 })',
  'F.gumbelSoftmax(f)',
  'm.gru.call(v.reshape([-1, 1]).expand([-1, 2]))[0]',
  'm.lstm.call(v.reshape([-1, 1]).expand([-1, 2]))[0]',
  'm.attention.call(v.reshape([1, -1, 1]).expand([1, -1, 4]), v.reshape([1, -1, 1]).expand([1, -1, 4]), v.reshape([1, -1, 1]).expand([1, -1, 4]))[0]',
  'm.conv.call(v.reshape([1, 1, -1]))',
  'm.batch.call(v.reshape([-1, 1]))',
  'm.table.call(x.abs().to("int64").clamp(0, 3))',
  'm.encoder.call(v.reshape([1, -1, 1]).expand([1, -1, 4]))',
  // Losses.
  'F.mseLoss(f, g)',
  'F.l1Loss(f, g, { reduction: "sum" })',
  'F.smoothL1Loss(f, g, { reduction: "none" })',
  'F.huberLoss(f, g, { delta: 0.5 })',
  'F.crossEntropy(f, T.zeros([f.shape[0]], { dtype: "int64" }))',
  'F.crossEntropy(f, g.softmax(-1), { labelSmoothing: 0.1 })',
  'F.nllLoss(f.logSoftmax(-1), T.zeros([f.shape[0]], { dtype: "int64" }))',
  'F.binaryCrossEntropyWithLogits(f, g.sigmoid())',
  'F.klDiv(f.logSoftmax(-1), g.softmax(-1), { reduction: "batchmean" })',
  'F.cosineSimilarity(f, g, { dim: -1 })',
  'F.hingeEmbeddingLoss(f, g.sign())',
  'F.marginRankingLoss(f, g, f.sign())',
  'F.tripletMarginLoss(f, g, f.add(1))',
  'F.gaussianNllLoss(f, g, g.abs())',
  'F.poissonNllLoss(f, g)',
  // Transforms of functions.
  'func.vmap((r) => r.sin().mul(r.sum()))(f)',
  'func.vmap((r) => r.mul(k).cumsum(0), { inDims: 1, outDims: 1 })(f)',
  'func.vmap((a, b) => a.mul(b).sum(), { inDims: [0, null] })(f, v)',
  'func.vmap(func.grad((r) => r.tanh().mul(r).sum()))(f)',
  'func.grad((a) => a.sin().mul(k).sum())(f)',
  'func.gradAndValue((a) => a.mul(a).mul(a).sum())(f)[0]',
  'func.jvp((a) => a.exp().mul(a), [f], [f.cos()])[1]',
  'func.vjp((a) => a.sigmoid().cumsum(0), f)[1](f.neg())[0]',
  'func.jacrev((a) => a.sin().mul(a.sum()))(v)',
  'func.jacfwd((a) => a.mul(a).cumsum(0))(v)',
  'func.hessian((a) => a.mul(a).mul(a).sum())(v)',
  'func.linearize((a) => a.mul(a).sin(), f)[1](f)',
  'T.jacobian((a) => a.sin(), v)',
  'T.hvp((a) => a.mul(a).mul(a).sum(), v, v)[1]',
  'T.checkpoint((a) => a.sin().mul(a).exp(), f)',
  'T.checkpoint((a) => F.dropout(a, { p: 0.5 }).tanh(), f)',
  'T.autocast({ dtype: "bfloat16" }, () => f.matmul(f.mT))',
  'T.autocast({ dtype: "bfloat16" }, () => F.linear(f, f).softmax(-1))',
  'nn.functionalCall(m.conv, { bias: T.tensor([0.5]) }, [v.reshape([1, 1, -1])])',
  // Gradients and modes inside.
  // Where the graph breaks, a gradient with a graph cannot be differentiated (docs/errors/double-backward-compiled.md).
  'f.requiresGrad ? T.grad(f.sin().mul(f).sum(), [f], { createGraph: true })[0].detach() : f',
  'f.requiresGrad ? T.grad(f.mul(g).sum(), [f, g], { allowUnused: true })[0] : f',
  'T.noGrad(() => x.add_(1))',
  'T.noGrad(() => x.mul(2)).add(x)',
  'T.enableGrad(() => x.mul(2))',
  'T.inferenceMode(() => x.mul(2)).mul(x)',
  'x.detach().requiresGrad_().mul(2)',
  'nn.clipGradNorm_([f], 1)',
  'nn.clipGradNorm_(m.conv.parameters(), 0.5)',
  '(nn.clipGradValue_(m.batch.parameters(), 0.1), x)',
  '(m.conv.zeroGrad(), x)',
  '(m.conv.train(!m.conv.training), m.conv.call(v.reshape([1, 1, -1])))',
  '(m.batch.eval(), m.batch.call(v.reshape([-1, 1])))',
  'm.rnn.call(v.reshape([1, -1, 1]).expand([1, -1, 2]), v.narrow(0, 0, 1).reshape([1, 1, 1]).expand([1, 1, 3]))[1]',
  'm.cell.call(v.reshape([-1, 1]).expand([-1, 2]))[1]',
  'm.linear.call(v.reshape([-1, 1]).expand([-1, 2]).to("float32"))',
  'm.linear.weight.mul(f.sum())',
  'T.noGrad(() => m.linear.weight.add_(0.5)).sum().add(f.sum())',
  'm.linear.weight.T.matmul(m.linear.weight).mul(k)',
  'm.norm.call(v.reshape([1, -1, 1]).expand([1, -1, 2]))',
  // Conversions.
  'x.to(y.dtype)',
  'x.to("float16").mul(y.to("float16"))',
  'x.to("bfloat16").sum(0)',
  'x.to("int8").add(y.to("uint8"))',
  'x.to("int16").mul(3).to("int8")',
  'x.to("float64").mul(y)',
  'x.gt(0).sum()',
  'x.gt(0).to("float32").mean(0)',
  'x.gt(0).cumsum(0)',
  // What waits long for a use, or is read as a number.
  'x.mul(x.ndim)',
  'x.reshape([-1]).mul(x.numel)',
  'x.add(x.shape.at(-1))',
  'x.isContiguous() ? x.add(1) : x.mul(2)',
  'x.requiresGrad ? x.mul(2) : x.sub(1)',
  'x.flatten().slice(0, Math.max(0, Math.trunc(k)))',
  // Fourier transforms, special functions, random numbers.
  'fft.rfft(v)',
  'fft.irfft(fft.rfft(v), { n: v.numel })',
  'special.ndtr(f)',
  'special.xlog1py(f, g.abs())',
  'special.entr(f)',
  'special.erfcx(f)',
  'T.bernoulli(f.sigmoid())',
  // Normal numbers have the digits of float32, whatever they become.
  'T.randnLike(f, { dtype: "float32" })',
  'T.multinomial(f.softmax(-1), 1)',
  'f.clone().uniform_(-1, 1)',
  'f.to("float32").clone().normal_()',
  'f.clone().bernoulli_(0.5)',
  'T.randperm(x.shape[0])',
];

/** Modules that entries call, [class and arguments]. */
const MODULES = {
  gru: 'GRU(2, 3)',
  lstm: 'LSTM(2, 3)',
  attention: 'MultiheadAttention(4, 2, { batchFirst: true })',
  conv: 'Conv1d(1, 1, 2, { padding: 1 })',
  batch: 'BatchNorm1d(1)',
  table: 'Embedding(4, 2)',
  rnn: 'RNN(2, 3, { batchFirst: true })',
  cell: 'LSTMCell(2, 3)',
  linear: 'Linear(2, 3)',
  norm: 'RMSNorm([2])',
  encoder: 'TransformerEncoderLayer(4, 2, { dimFeedforward: 4, dropout: 0, batchFirst: true })',
};

/** See `MODULES`. */
export type Modules = Readonly<Record<string, nn.Module>>;

const NAMESPACES = { T, F, fft, func, linalg, nn, special };

/** Makes the modules that entries call. */
export function makeModules(): Modules {
  T.manualSeed(13);
  return Object.fromEntries(
    Object.entries(MODULES).map(([name, text]) => [name, evaluate(`new nn.${text}`) as nn.Module]),
  );
}

type Entry = (...values: readonly unknown[]) => unknown;

const entries = new Map<string, Entry>();

/** The function of an entry. */
function entryOf(text: string): Entry {
  let entry = entries.get(text);
  if (entry === undefined) entries.set(text, (entry = evaluate(`${ENTRY} => ${text}`) as Entry));
  return entry;
}

/** What a text of the tables above means. */
function evaluate(text: string): unknown {
  // oxlint-disable-next-line no-new-func -- of this file
  return new Function(...Object.keys(NAMESPACES), `return ${text};`)(...Object.values(NAMESPACES));
}

/** Parameters of an entry, in its text. */
export const ENTRY = '(x, y, f, g, v, k, m)';

/** What an entry makes of two tensors. */
export function callLibrary(text: string, x: Tensor, y: Tensor, k: number, m: Modules): unknown {
  const [f, g] = [x, y].map((t) => (T.isFloatingPoint(t.dtype) ? t : t.to('float32')));
  return entryOf(text)(x, y, f!, g!, f!.flatten(), k, m);
}

/** The same for printed programs. */
export const LIBRARY_TEXT: readonly string[] = [
  'const library = (entry: (...args: any[]) => T.Tensor, x: T.Tensor, y: T.Tensor, k: number, m: object): T.Tensor => {',
  "  const [f, g] = [x, y].map((t) => (T.isFloatingPoint(t.dtype) ? t : t.to('float32')));",
  '  return entry(x, y, f, g, f!.flatten(), k, m);',
  '};',
  'function makeModules() {',
  '  T.manualSeed(13);',
  '  return {',
  ...Object.entries(MODULES).map(([name, text]) => `    ${name}: new nn.${text},`),
  '  };',
  '}',
];
