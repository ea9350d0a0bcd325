/**
 * @file Attention and its gradients: two products (three more backward) around a softmax of the scores.
 *
 * Scaling and masks are epilogues of the first product. The backward computes the weights again from
 * their log Σ exp, so nothing of the size of the scores is kept between the two. Devices with kernels for attention
 * do not keep them within one either (attention-kernel.ts), where that is not slower.
 */
import { readyOperand } from '../ready-operand.js';
import type { Size } from '@tessera/shared';
import type { DType } from '@tessera/tensor';
import type { Expr } from '../../ir/expr.js';
import type { IndexExpr } from '../../ir/index-expr.js';
import { contract } from './contract.js';
import { castTensor } from './elementwise.js';
import { ExprMath } from '../expr-math.js';
import { LoweredTensor } from '../lowered-tensor.js';
import type { Lowering } from '../lowering.js';
import { accumulateDtype, reduce } from '../reduce.js';
import type { LoweredArg } from '../registry.js';
import { alongDim } from './softmax.js';
import { type Shape, fixed } from '../shape-math.js';
import { type LoweringOf, type LoweringTable, lowerings } from '../typed-lowering.js';

/** Operands of a product per batch and head: `a[b, h, m, k] · b[b, h, k, n]`, coordinates by these names. */
interface HeadProduct {
  /** [B, H, M, N] of the result. */
  readonly sizes: Shape;
  /** Terms that are summed. */
  readonly inner: Shape;
  readonly a: (b: IndexExpr, h: IndexExpr, m: IndexExpr, k: readonly IndexExpr[]) => Expr;
  readonly b: (b: IndexExpr, h: IndexExpr, k: readonly IndexExpr[], n: IndexExpr) => Expr;
}

function product(l: Lowering, spec: HeadProduct, dtype: DType): LoweredTensor {
  const [batch, heads, rows, columns] = spec.sizes;
  return contract(l, {
    shape: { batch: [batch, heads], m: [rows], n: [columns], k: spec.inner },
    a: ([b, h], [m], k) => spec.a(b!, h!, m!, k),
    b: ([b, h], k, [n]) => spec.b(b!, h!, k, n!),
    sizes: spec.sizes,
    dtype,
    layout: null,
    coords: ({ batch: [b, h], m, n }) => [b!, h!, m[0]!, n[0]!],
    decode: ([b, h, m, n]) => ({ batch: [b!, h!], m: [m!], n: [n!] }),
  });
}

/** The operands of one call. */
export class Attention {
  readonly batch: Size;
  readonly heads: number;
  readonly length: Size;
  readonly width: number;
  readonly keyHeads: number;
  readonly keys: Size;
  /** Query heads that share one of key and value. */
  readonly group: number;
  readonly scale: number;

  constructor(
    readonly l: Lowering,
    readonly query: LoweredTensor,
    readonly key: LoweredTensor,
    readonly value: LoweredTensor,
    private readonly mask: LoweredTensor | null,
    readonly isCausal: boolean,
    scale: LoweredArg,
  ) {
    const [batch, heads, length, width] = query.shape;
    const [, keyHeads, keys] = key.shape;
    [this.batch, this.length, this.keys] = [batch, length, keys];
    [this.heads, this.width, this.keyHeads] = [fixed(heads), fixed(width), fixed(keyHeads)];
    this.group = this.heads / this.keyHeads;
    this.scale = typeof scale === 'number' ? scale : 1 / Math.sqrt(this.width);
    for (const x of [key, value]) readyOperand(l, x);
  }

  /** Gives the query memory, where its elements are read many times. */
  readyQuery(): void {
    readyOperand(this.l, this.query);
  }

  get scoreSizes(): Shape {
    return [this.batch, this.heads, this.length, this.keys];
  }

  /** The key head of a query head. */
  shared(h: IndexExpr): IndexExpr {
    if (this.keyHeads === 1) return this.l.ir.int(0);
    return this.group === 1 ? h : this.l.ir.div(h, this.group);
  }

  /** Scaled and masked scores [B, H, L, S]. */
  scores(): LoweredTensor {
    const { l, query, key } = this;
    const acc = accumulateDtype(query.dtype);
    const dots = product(
      l,
      {
        sizes: this.scoreSizes,
        inner: [this.width],
        a: (b, h, i, k) => query.load([b, h, i, ...k]),
        b: (b, h, k, j) => key.load([b, this.shared(h), j, ...k]),
      },
      acc,
    );
    return l.pointwise(this.scoreSizes, this.score(dots.expr));
  }

  /** A product of query and key, scaled and masked, over the sizes of the scores. */
  score(dot: Expr): Expr {
    const { l, mask } = this;
    const m = new ExprMath(l.ir);
    let score = m.mul(dot, this.scale);
    const at = l.vars(this.scoreSizes);
    if (mask !== null) {
      const lead = 4 - mask.shape.length;
      const coords = mask.shape.map((size, d) => (size === 1 ? l.ir.int(0) : at[d + lead]!));
      score =
        mask.dtype === 'bool'
          ? m.where(mask.load(coords), score, -Infinity)
          : m.add(score, l.ir.cast(mask.load(coords), dot.dtype));
    }
    if (this.isCausal)
      score = m.where(
        m.le(l.ir.index('int32', at[3]!), l.ir.index('int32', at[2]!)),
        score,
        -Infinity,
      );
    return score;
  }
}

function optionalTensor(arg: LoweredArg): LoweredTensor | null {
  return arg instanceof LoweredTensor ? arg : null;
}

/** Arguments: query, key, value, dropout_p, is_causal, attn_mask, scale. */
const flashForward: LoweringOf<'aten::_scaled_dot_product_flash_attention_for_cpu'> = (
  l,
  [query, key, v, , isCausal, mask, scale],
  call,
) => {
  const attention = new Attention(l, query, key, v, optionalTensor(mask), isCausal === true, scale);
  const kernels = l.capabilities.attention;
  const kernel = (takes: boolean | undefined): LoweredTensor[] | null =>
    takes === true ? kernels!.forward(attention, [call.dtype, call.results[1]!.dtype]) : null;
  const ofRows = kernels?.takesRows(attention);
  const made = kernel(ofRows);
  if (made !== null) return made;
  attention.readyQuery();
  const tiled = kernel(ofRows === true || kernels?.takesTiles(attention, false));
  if (tiled !== null) return tiled;
  const m = new ExprMath(l.ir);
  const scores = attention.scores();
  const sizes = attention.scoreSizes;
  const [peak] = reduce(l, 'max', scores, [3], true);
  // A row that sees nothing gives zeros.
  const lowest = m.eq(peak!.expr, -Infinity);
  const shift = l.pointwise(peak!.shape, m.where(lowest, 0, peak!.expr));
  const raised = l.pointwise(sizes, m.exp(m.sub(scores.expr, alongDim(l, shift, sizes, 3))));
  const [total] = reduce(l, 'sum', raised, [3], true);
  const divisor = l.pointwise(total!.shape, m.where(m.eq(total!.expr, 0), 1, total!.expr));
  const weights = l.pointwise(
    sizes,
    m.cast(m.div(raised.expr, alongDim(l, divisor, sizes, 3)), call.dtype),
  );
  readyOperand(l, weights);
  const out = product(
    l,
    {
      sizes: call.shape,
      inner: [attention.keys],
      a: (b, h, i, k) => weights.load([b, h, i, ...k]),
      b: (b, h, k, n) => v.load([b, attention.shared(h), ...k, n]),
    },
    call.dtype,
  );
  const rows = sizes.slice(0, 3);
  const atRow = [...l.vars(rows), l.ir.int(0)];
  const logSumExp = m.add(peak!.load(atRow), m.log(total!.load(atRow)));
  return [out, l.pointwise(rows, m.cast(logSumExp, call.results[1]!.dtype))];
};

/** Arguments: grad_out, query, key, value, out, logsumexp, dropout_p, is_causal, attn_mask, scale. */
const flashBackward: LoweringOf<'aten::_scaled_dot_product_flash_attention_for_cpu_backward'> = (
  l,
  [gradOut, q, k, v, out, logSumExp, , isCausal, mask, scale],
  call,
) => {
  const grad = readyOperand(l, gradOut);
  const attention = new Attention(l, q, k, v, optionalTensor(mask), isCausal === true, scale);
  attention.readyQuery();
  const m = new ExprMath(l.ir);
  const acc = accumulateDtype(q.dtype);
  const sizes = attention.scoreSizes;
  const rowOf = (x: LoweredTensor): LoweredTensor =>
    x.view([...x.shape, 1], l.vars([...x.shape, 1]).slice(0, 3));
  const lse = rowOf(castTensor(l, logSumExp, acc));
  const sum = alongDim(l, lse, sizes, 3);
  const weightOf = (score: Expr): Expr =>
    m.where(m.eq(sum, -Infinity), 0, m.exp(m.sub(score, sum)));
  const outAcc = castTensor(l, out, acc);
  const products = l.pointwise(grad.shape, m.mul(l.ir.cast(grad.expr, acc), outAcc.expr));
  const [delta] = reduce(l, 'sum', products, [3], true);
  const centre = alongDim(l, delta!, sizes, 3);
  const stepOf = (weight: Expr, slope: Expr): Expr =>
    m.mul(m.mul(weight, m.sub(slope, centre)), attention.scale);
  const kernels = l.capabilities.attention;
  if (kernels?.takesTiles(attention, true) === true) {
    const step = (score: Expr, slope: Expr): Expr => stepOf(weightOf(score), slope);
    const [dQuery, dKey, dValue] = call.results.map((result) => result!.layout);
    const layouts = [dQuery!, dKey!, dValue!] as const;
    const made = kernels.backward(attention, grad, { weight: weightOf, step }, layouts);
    if (made !== null) return made;
  }
  const weights = l.pointwise(sizes, weightOf(attention.scores().expr));
  weights.realize();
  const slopes = product(
    l,
    {
      sizes,
      inner: [v.shape[3]!],
      a: (b, h, i, e) => grad.load([b, h, i, ...e]),
      b: (b, h, e, j) => v.load([b, attention.shared(h), j, ...e]),
    },
    acc,
  );
  const steps = l.pointwise(sizes, stepOf(weights.expr, slopes.expr));
  steps.realize();
  const { group } = attention;
  const headOf = (h: IndexExpr, i: readonly IndexExpr[]): IndexExpr =>
    group === 1 ? h : l.ir.add(l.ir.scale(h, group), i[0]!);
  /** Σ over the query positions (and heads that share) of `weights[.., i, j] · rows[.., i, n]`. */
  const gathered = (left: LoweredTensor, rows: LoweredTensor, like: LoweredTensor): LoweredTensor =>
    product(
      l,
      {
        sizes: like.shape,
        inner: group === 1 ? [attention.length] : [group, attention.length],
        a: (b, h, j, i) => left.load([b, headOf(h, i), i.at(-1)!, j]),
        b: (b, h, i, n) => rows.load([b, headOf(h, i), i.at(-1)!, n]),
      },
      like.dtype,
    );
  const dQuery = product(
    l,
    {
      sizes: q.shape,
      inner: [attention.keys],
      a: (b, h, i, j) => steps.load([b, h, i, ...j]),
      b: (b, h, j, n) => k.load([b, attention.shared(h), ...j, n]),
    },
    q.dtype,
  );
  return [dQuery, gathered(steps, q, k), gathered(weights, grad, v)];
};

/** Decompositions by overload name. */
export const attentionDecompositions: LoweringTable = lowerings({
  'aten::_scaled_dot_product_flash_attention_for_cpu': flashForward,
  'aten::_scaled_dot_product_flash_attention_for_cpu_backward': flashBackward,
});
