/**
 * @file Attention and its gradients as attention kernels, which keep nothing of the size of the scores in memory.
 *
 * The gradient of the query sums over the keys, those of key and value over the queries (of all heads that share
 * them); each kernel computes the weights again from their log Σ exp. Where a device has memory for them, gradients of the
 * scores are kept for the query's instead (`keepsWeights`), which needs no scores then.
 */
import { useAttentionFusion } from '@tessera/passes';
import { type Size, sizeMul, sizeProduct } from '@tessera/shared';
import type { DType } from '@tessera/tensor';
import type { Expr } from '../../ir/expr.js';
import type { IndexExpr, SizedLoop } from '../../ir/index-expr.js';
import type { Triangle } from '../../ir/kernel.js';
import { postorder } from '../../ir/walk.js';
import { ExprMath } from '../expr-math.js';
import { type AttentionNode, type AttentionShape, attentionRoots } from '../ir-node.js';
import type { LoweredTensor } from '../lowered-tensor.js';
import type { Lowering } from '../lowering.js';
import { accumulateDtype } from '../reduce.js';
import { isEmpty, type Shape } from '../shape-math.js';
import type { Attention } from './attention.js';
import { castTensor } from './elementwise.js';

/** Fewest rows whose tiles are not mostly padding. */
const FEWEST_ROWS = 16;

/** Attention that a device has kernels for. */
export interface AttentionLimits {
  /** Widest heads. */
  readonly widest: number;
  /** So many rows of a head and keys are one kernel too, which reads a row's factors once; no fewer than 16 where absent. */
  readonly fewRows?: { readonly rows: number; readonly keys: number };
  /** Which attention has kernels of those that may; all of it where absent. */
  readonly pays?: (work: AttentionWork) => boolean;
  /** Whether all gradients are one kernel, for so many heads of key and value; none are where absent. */
  readonly sumsColumns?: (heads: Size) => boolean;
  /** Whether gradients of the scores of heads so wide, so many, stay in memory from one kernel to the next; never where absent. */
  readonly keepsWeights?: (count: number, width: number) => boolean;
}

/** The work of an attention or of its gradients. */
export interface AttentionWork {
  /** Of how many heads of all entries of the batch; rows and keys of each. */
  readonly heads: Size;
  readonly rows: Size;
  readonly keys: Size;
  readonly isCausal: boolean;
  /** What kernels would compute: the forward, or the gradients, in one kernel or in several. */
  readonly made: 'forward' | 'gradients at once' | 'gradients';
}

/** See `Capabilities.attention`. */
export class AttentionKernels {
  constructor(readonly limits: AttentionLimits) {
    useAttentionFusion();
  }

  /** Whether a kernel in tiles pays. */
  takesTiles(attention: Attention, isBackward: boolean): boolean {
    const { width, length, keys, batch, heads, isCausal, scoreSizes } = attention;
    const gradients = this.isAtOnce(attention) ? 'gradients at once' : 'gradients';
    const made = isBackward ? gradients : 'forward';
    const { widest, pays = () => true } = this.limits;
    return (
      width <= widest &&
      (typeof length !== 'number' || length >= FEWEST_ROWS) &&
      !isEmpty(scoreSizes) &&
      pays({ heads: sizeMul(batch, heads), rows: length, keys, isCausal, made })
    );
  }

  /** Whether the attention has so few rows that a kernel goes through the keys once for each of them. */
  takesRows({ width, length, keys, scoreSizes }: Attention): boolean {
    const { widest, fewRows = { rows: 0, keys: 0 } } = this.limits;
    return (
      width <= widest &&
      typeof length === 'number' &&
      length <= fewRows.rows &&
      typeof keys === 'number' &&
      keys <= fewRows.keys &&
      !isEmpty(scoreSizes)
    );
  }

  /** The result and log Σ exp of each row; null if the kernel would need too many buffers. */
  forward(attention: Attention, dtypes: readonly [DType, DType]): LoweredTensor[] | null {
    return forwardKernel(attention, dtypes);
  }

  /** Gradients of query, key and value, which lie so; null if a kernel would need too many buffers. */
  backward(
    attention: Attention,
    grad: LoweredTensor,
    weights: GradientWeights,
    layouts: GradientLayouts,
  ): LoweredTensor[] | null {
    const isAtOnce = this.isAtOnce(attention);
    const isKept = this.isKept(attention);
    return backwardKernels(attention, grad, weights, layouts, { isAtOnce, isKept });
  }

  /** Whether one kernel makes all gradients; it writes whole vectors. */
  private isAtOnce({ batch, keyHeads, width }: Attention): boolean {
    return width % 4 === 0 && this.limits.sumsColumns?.(sizeMul(batch, keyHeads)) === true;
  }

  /** Of float32 and sizes that are numbers only: memory is bounded then, and halves have faster products. */
  private isKept({ query, scoreSizes, width }: Attention): boolean {
    const count = sizeProduct(scoreSizes);
    return (
      query.dtype === 'float32' &&
      typeof count === 'number' &&
      this.limits.keepsWeights?.(count, width) === true
    );
  }
}

/** A place by role: batch and head, row, columns (the last one may be bounded by the row). */
interface Place {
  readonly b: IndexExpr;
  readonly h: IndexExpr;
  readonly m: IndexExpr;
  readonly j: readonly IndexExpr[];
}

/** Both factors of a score. */
interface Factors {
  readonly a: (at: Place, k: IndexExpr) => Expr;
  readonly b: (at: Place, k: IndexExpr) => Expr;
}

/** Factors and weights by place. */
interface Spec {
  /** Batch, heads, rows. */
  readonly rows: readonly [Size, Size, Size];
  readonly columns: Shape;
  readonly width: number;
  readonly scores: readonly Factors[];
  /** Of the scores. */
  readonly weights: (scores: readonly Expr[], at: Place) => Expr[];
  readonly values: readonly ((at: Place, n: IndexExpr) => Expr)[];
  /** Sums over the rows of a weight by its number. */
  readonly columnSums?: readonly {
    readonly weight: number;
    readonly value: (at: Place, n: IndexExpr) => Expr;
  }[];
  readonly softmax: boolean;
  readonly triangle: Triangle;
  readonly accDtype: DType;
}

interface Declared {
  readonly shape: AttentionShape;
  /** Coordinates of a row, and of a result in it. */
  readonly row: readonly IndexExpr[];
  readonly result: readonly IndexExpr[];
  readonly place: Place;
  readonly n: IndexExpr;
}

function declare(l: Lowering, spec: Spec): Declared {
  const { ir } = l;
  const { accDtype } = spec;
  const variable = (
    role: string,
    size: Size,
  ): { readonly index: IndexExpr; readonly vars: readonly SizedLoop[] } => l.freshVar(role, size);
  const [b, h, m] = spec.rows.map((size, i) => variable('bhm'[i]!, size));
  const j = spec.columns.map((size, i) => variable(`j${i}`, size));
  const [k, n] = [variable('k', spec.width), variable('n', spec.width)];
  const at: Place = { b: b.index, h: h.index, m: m.index, j: j.map(({ index }) => index) };
  const summed = (value: Expr): Expr => ir.cast(value, accDtype);
  const isTriangle = m.vars.length === 1 && j.at(-1)!.vars.length === 1;
  const shape: AttentionShape = {
    batch: [...b.vars, ...h.vars],
    m: m.vars,
    j: j.flatMap(({ vars }) => vars),
    k: k.vars,
    n: n.vars,
    scores: spec.scores.map((score) => ({
      a: summed(score.a(at, k.index)),
      b: summed(score.b(at, k.index)),
    })),
    weights: spec.weights(
      spec.scores.map((_, p) => ir.acc(accDtype, p)),
      at,
    ),
    values: spec.values.map((value) => summed(value(at, n.index))),
    columnSums: (spec.columnSums ?? []).map(({ weight, value }) => ({
      weight,
      value: summed(value(at, n.index)),
    })),
    softmax: spec.softmax,
    triangle: isTriangle ? spec.triangle : 'none',
    accDtype,
  };
  const row = [b.index, h.index, m.index];
  return { shape, row, result: [...row, n.index], place: at, n: n.index };
}

/** Whether a device binds as many buffers as a kernel needs with `results`. */
function fits(l: Lowering, { shape }: Declared, results: number): boolean {
  const buffers = new Set<string>();
  let checks = 0;
  for (const expr of postorder(attentionRoots(shape))) {
    if (expr.kind === 'load') buffers.add(expr.buf);
    if (expr.kind === 'check') checks = 1;
  }
  return buffers.size + results + checks <= l.capabilities.maxBuffersPerKernel;
}

function forwardKernel(
  attention: Attention,
  dtypes: readonly [DType, DType],
): LoweredTensor[] | null {
  const { l, query, key, value, batch, heads, length, keys, width } = attention;
  const spec: Spec = {
    rows: [batch, heads, length],
    columns: [keys],
    width,
    scores: [
      {
        a: ({ b, h, m }, k) => query.load([b, h, m, k]),
        b: ({ b, h, j }, k) => key.load([b, attention.shared(h), ...j, k]),
      },
    ],
    weights: ([dot], { b, h, m, j }) => [
      l.at(attention.score(dot!), attention.scoreSizes, [b, h, m, ...j]),
    ],
    values: [({ b, h, j }, n) => value.load([b, attention.shared(h), ...j, n])],
    softmax: true,
    triangle: attention.isCausal ? 'lower' : 'none',
    accDtype: accumulateDtype(query.dtype),
  };
  const declared = declare(l, spec);
  if (!fits(l, declared, 2)) return null;
  const out = l.newBuffer(dtypes[0], [batch, heads, length, width], null);
  const row = l.newBuffer(dtypes[1], [batch, heads, length], null);
  l.addAttention({
    ...declared.shape,
    results: [{ out, coords: declared.result }],
    row: { out: row, coords: declared.row },
    columns: [],
    kept: [],
  });
  return [l.fromBuffer(out), l.fromBuffer(row)];
}

/** What gradients are computed from, over the sizes of the scores; `slope` is of the gradient times the value. */
export interface GradientWeights {
  readonly weight: (score: Expr) => Expr;
  readonly step: (score: Expr, slope: Expr) => Expr;
}

/** Strides of the gradients of query, key and value. */
export type GradientLayouts = readonly [query: Shape, key: Shape, value: Shape];

function backwardKernels(
  attention: Attention,
  grad: LoweredTensor,
  { weight, step }: GradientWeights,
  [queryLayout, keyLayout, valueLayout]: GradientLayouts,
  { isAtOnce, isKept }: { readonly isAtOnce: boolean; readonly isKept: boolean },
): LoweredTensor[] | null {
  const { l, query, key, value, batch, heads, keyHeads, length, keys, width, group } = attention;
  const triangle = (side: Triangle): Triangle => (attention.isCausal ? side : 'none');
  const common = { width, softmax: false, accDtype: accumulateDtype(query.dtype) };
  const shared = (h: IndexExpr): IndexExpr => attention.shared(h);
  const ofQuery: Spec = {
    ...common,
    rows: [batch, heads, length],
    columns: [keys],
    triangle: triangle('lower'),
    scores: [
      {
        a: ({ b, h, m }, k) => query.load([b, h, m, k]),
        b: ({ b, h, j }, k) => key.load([b, shared(h), ...j, k]),
      },
      {
        a: ({ b, h, m }, k) => grad.load([b, h, m, k]),
        b: ({ b, h, j }, k) => value.load([b, shared(h), ...j, k]),
      },
    ],
    weights: ([score, slope], { b, h, m, j }) => [
      l.at(step(attention.score(score!), slope!), attention.scoreSizes, [b, h, m, ...j]),
    ],
    values: [({ b, h, j }, n) => key.load([b, shared(h), ...j, n])],
  };
  /** The query's head among those that share one of key and value. */
  const head = ({ h, j }: Place): IndexExpr =>
    group === 1 ? h : l.ir.add(l.ir.scale(h, group), j[0]!);
  const factors: readonly Factors[] = [
    {
      a: ({ b, h, m }, k) => key.load([b, h, m, k]),
      b: (at, k) => query.load([at.b, head(at), at.j.at(-1)!, k]),
    },
    {
      a: ({ b, h, m }, k) => value.load([b, h, m, k]),
      b: (at, k) => grad.load([at.b, head(at), at.j.at(-1)!, k]),
    },
  ];
  const ofKeys = (wanted: readonly ('value' | 'key')[]): Spec => ({
    ...common,
    rows: [batch, keyHeads, keys],
    columns: group === 1 ? [length] : [group, length],
    triangle: triangle('upper'),
    scores: factors.slice(0, wanted.includes('key') ? 2 : 1),
    weights: ([score, slope], at) =>
      wanted.map((which) =>
        l.at(
          which === 'value'
            ? weight(attention.score(score!))
            : step(attention.score(score!), slope!),
          attention.scoreSizes,
          [at.b, head(at), at.j.at(-1)!, at.m],
        ),
      ),
    values: wanted.map(
      (which) => (at: Place, n: IndexExpr) =>
        (which === 'value' ? grad : query).load([at.b, head(at), at.j.at(-1)!, n]),
    ),
  });
  const ofAll: Spec = {
    ...ofKeys(['value', 'key']),
    columnSums: [{ weight: 1, value: ({ b, h, m }, n) => key.load([b, h, m, n]) }],
  };
  const ofQueries = { like: query, layout: queryLayout };
  const [ofValue, ofKey] = [
    { like: value, layout: valueLayout },
    { like: key, layout: keyLayout },
  ];
  const made = (
    declared: Declared,
    gradients: readonly { readonly like: LoweredTensor; readonly layout: Shape }[],
    others: Partial<Pick<AttentionNode, 'columns' | 'kept'>> = {},
  ): LoweredTensor[] => {
    const results = gradients.map(({ like, layout }) => ({
      out: l.newBuffer(like.dtype, like.shape, layout),
      coords: declared.result,
    }));
    l.addAttention({ ...declared.shape, results, row: null, columns: [], kept: [], ...others });
    return results.map(({ out }) => l.fromBuffer(out));
  };
  /** Where what belongs to a row of the query is, of a kernel whose rows are those of the key. */
  const queryRow = ({ place }: Declared): IndexExpr[] => [place.b, head(place), place.j.at(-1)!];
  const all = isAtOnce ? declare(l, ofAll) : null;
  if (all !== null && fits(l, all, 3)) {
    // It is added to in memory, row after row.
    const out = l.newBuffer(common.accDtype, query.shape, queryLayout);
    const columns = [{ out, coords: [...queryRow(all), all.n] }];
    const [dValue, dKey] = made(all, [ofValue, ofKey], { columns });
    const sums = l.fromBuffer(out);
    return [out.dtype === query.dtype ? sums : castTensor(l, sums, query.dtype), dKey!, dValue!];
  }
  const together = declare(l, ofKeys(['value', 'key']));
  if (isKept && fits(l, together, 3)) {
    const out = l.newBuffer(common.accDtype, attention.scoreSizes, null);
    const kept = [{ out, coords: [...queryRow(together), together.place.m], weight: 1 }];
    const [dValue, dKey] = made(together, [ofValue, ofKey], { kept });
    const steps = l.fromBuffer(out);
    const m = new ExprMath(l.ir);
    const read: Spec = {
      ...ofQuery,
      scores: [],
      weights: (_, { b, h, m: row, j }) => {
        const value = steps.load([b, h, row, ...j]);
        const [first, last] = [j[0]!, row].map((index) => l.ir.index('int32', index));
        return [attention.isCausal ? m.where(m.le(first!, last!), value, 0) : value];
      },
    };
    const [dQuery] = made(declare(l, read), [ofQueries]);
    return [dQuery!, dKey!, dValue!];
  }
  const kernels = [
    { declared: declare(l, ofQuery), gradients: [ofQueries] },
    ...(fits(l, together, 2)
      ? [{ declared: together, gradients: [ofValue, ofKey] }]
      : [
          { declared: declare(l, ofKeys(['value'])), gradients: [ofValue] },
          { declared: declare(l, ofKeys(['key'])), gradients: [ofKey] },
        ]),
  ];
  if (!kernels.every(({ declared, gradients }) => fits(l, declared, gradients.length))) return null;
  const [dQuery, dValue, dKey] = kernels.flatMap(({ declared, gradients }) =>
    made(declared, gradients),
  );
  return [dQuery!, dKey!, dValue!];
}
