/**
 * @file Rows with a factor that is made of a sum over the row: what a root mean square norm gives.
 *
 * In a product with such a row, the factor moves out of the sum of products, and what it is made of is summed beside
 * them. So the norm needs no kernel: `Σₖ (s · xₖ · gₖ) · wₖₙ` is `s · Σₖ (xₖ · gₖ) · wₖₙ` with `s = rsqrt(Σₖ xₖ² / K + ε)`.
 * Every column sums the row again, which is cheap as it reads the row anyway.
 */
import type { Node } from '@tessera/graph';
import type { Size } from '@tessera/shared';
import { type DType, isFloatingPoint } from '@tessera/tensor';
import type { Expr } from '../../ir/expr.js';
import type { IndexExpr } from '../../ir/index-expr.js';
import { dependents } from '../../ir/dependents.js';
import { indexSymbols, postorder } from '../../ir/walk.js';
import type { ReductionNode } from '../ir-node.js';
import type { LoweredTensor } from '../lowered-tensor.js';
import type { Lowering } from '../lowering.js';
import { operatorOf, usersOf } from '../node-uses.js';
import { accumulateDtype, reducePlan } from '../reduce.js';
import { isSame, numelOf } from '../shape-math.js';
import { splitPoint } from '../split-reduction.js';
import { UNROLL_LIMIT, contract } from './contract.js';

/** A row as a product of what differs from element to element and what does not. */
interface FactoredRow {
  readonly elements: readonly Expr[];
  readonly factors: readonly Expr[];
  /** What the factors are made of: a sum over the row. */
  readonly sum: ReductionNode;
}

/** Most elements of a matrix; to read larger ones takes so long that another launch is nothing beside it. */
const MOST_ELEMENTS = 2 ** 25;
/** Most loads of an element: each is repeated for every column. */
const MOST_LOADS = 3;

/** A matrix that a row is multiplied with. */
export interface RowFactor {
  readonly columns: number;
  /** Elements in memory. */
  readonly stored: Size;
  at(k: IndexExpr, n: IndexExpr): Expr;
}

/** Where products take their row; the matrix follows it. */
const ROW_OF: Readonly<Record<string, number>> = {
  'aten::mm': 0,
  'aten::addmm': 1,
  'aten::_weight_int8pack_mm': 0,
  'aten::_weight_int4pack_mm': 0,
};

/** What the lowerings of a device have that repeats the sums of rows: code that other devices have no use for. */
export interface FactoredRows {
  /** Whether a value is a single row whose sums products may repeat. */
  readonly isRow: (row: LoweredTensor) => boolean;
  /** Whether a node's value is a row with a factor that only such products read, so that it needs no memory. */
  readonly stays: (l: Lowering, node: Node, row: LoweredTensor) => boolean;
  /** [1, K] @ [K, N] → [1, N] with the row's factor outside of the sums; null where the row has none. */
  readonly product: (
    l: Lowering,
    row: LoweredTensor,
    factor: RowFactor,
    dtype: DType,
  ) => LoweredTensor | null;
}

/** See `Capabilities.factoredRows`. */
export const FACTORED_ROWS: FactoredRows = {
  isRow: isSingleRow,
  stays: staysFactored,
  product: factoredProduct,
};

function isSingleRow({ shape }: LoweredTensor): boolean {
  const length = shape.at(-1);
  return (
    shape.length > 1 &&
    typeof length === 'number' &&
    length > UNROLL_LIMIT &&
    isSame(numelOf(shape), length)
  );
}

function staysFactored(l: Lowering, node: Node, row: LoweredTensor): boolean {
  if (!isSingleRow(row)) return false;
  const isProduct = ([user, value]: readonly [Node, Node]): boolean => {
    const at = ROW_OF[operatorOf(user)?.qualifiedName ?? ''];
    if (at === undefined) return false;
    const { sizes } = user.input(at + 1).meta.val as { readonly sizes: readonly Size[] };
    return user.args.every((arg, i) => (arg === value) === (i === at)) && isSmall(numelOf(sizes));
  };
  return (
    usersOf(node).every(isProduct) &&
    factored(l, row, l.freshVar('k0', row.shape.at(-1)!).index) !== null
  );
}

function isSmall(stored: Size): boolean {
  return typeof stored === 'number' && stored <= MOST_ELEMENTS;
}

function factoredProduct(
  l: Lowering,
  row: LoweredTensor,
  { columns, stored, at }: RowFactor,
  dtype: DType,
): LoweredTensor | null {
  if (!isSingleRow(row) || !isSmall(stored)) return null;
  const inner = row.shape.at(-1)!;
  const k = l.freshVar('k0', inner);
  const found = factored(l, row, k.index);
  if (found === null || splitPoint(l.capabilities, columns, k.vars) !== null) return null;
  const { ir } = l;
  const acc = accumulateDtype(dtype);
  const sizes = [1, columns];
  const multiplied = (values: readonly Expr[]): Expr =>
    values.map((value) => ir.cast(value, acc)).reduce((a, b) => ir.op('mul', [a, b]));
  const element = multiplied(found.elements);
  const products = contract(l, {
    shape: { batch: [], m: [1], n: [columns], k: [inner] },
    a: () => element,
    b: (_, [along], [n]) => at(along!, n!),
    sizes,
    dtype: acc,
    layout: null,
    coords: ({ m, n }) => [m[0]!, n[0]!],
    decode: ([m, n]) => ({ batch: [], m: [m!], n: [n!] }),
  });
  const { sum } = found;
  const [again] = reducePlan(l, {
    op: sum.op,
    dtype: sum.dtype,
    sizes,
    inner: k.vars,
    order: [...l.loopVars(sizes), ...k.vars],
    value: l.substitute(sum.value, new Map([[sum.inner[0]!.name, k.index]])),
  });
  const [factor] = ir.rewrite([multiplied(found.factors)], { load: () => again!.expr });
  const product = l.pointwise(sizes, ir.cast(ir.op('mul', [products.expr, factor!]), dtype));
  product.realize();
  return product;
}

/** The row at `k` as a product with factors; null where it has none that are made of one sum over the row. */
function factored(l: Lowering, row: LoweredTensor, k: IndexExpr): FactoredRow | null {
  // The factor goes past the rounding of elements.
  if (row.isRealized || l.emulatesPrecisionCasts) return null;
  const zeros = row.shape.slice(1).map(() => l.ir.int(0));
  const value = row.load([...zeros, k]);
  const varying = dependents([value], indexSymbols(k));
  const elements: Expr[] = [];
  const factors: Expr[] = [];
  const stack = [value];
  for (let expr = stack.pop(); expr !== undefined; expr = stack.pop()) {
    if (!varying.has(expr)) factors.push(expr);
    else if (expr.kind === 'op' && expr.op === 'mul') stack.push(...expr.args);
    else if (expr.kind === 'op' && expr.op === 'cast' && isFloatingPoint(expr.args[0]!.dtype))
      stack.push(expr.args[0]!);
    else elements.push(expr);
  }
  if (!isFloatingPoint(value.dtype) || elements.length === 0) return null;
  const sum = sumOf(l, factors, row.shape.at(-1)!);
  if (sum === null || !isCheap(l, sum.value) || !elements.every((each) => isCheap(l, each)))
    return null;
  // What is no longer there as it was when the sum was made is not in the row either.
  const present = new Set(elements.flatMap((each) => [...l.buffersOf(each)]));
  return [...l.buffersOf(sum.value)].every((name) => present.has(name))
    ? { elements, factors, sum }
    : null;
}

function isCheap(l: Lowering, value: Expr): boolean {
  const { loads, expensive } = l.costOf(value);
  return (
    loads <= MOST_LOADS && !expensive && !postorder([value]).some(({ kind }) => kind === 'check')
  );
}

/** The sum over a row of `length` that factors are made of, if they load nothing else. */
function sumOf(l: Lowering, factors: readonly Expr[], length: Size): ReductionNode | null {
  const loaded = new Set<string>();
  for (const expr of postorder(factors)) {
    if (expr.kind === 'check' || expr.kind === 'random') return null;
    if (expr.kind === 'load') loaded.add(expr.buf);
  }
  const [name] = loaded;
  const node = l.nodes.findLast(
    (each): each is ReductionNode => each.kind === 'reduction' && each.outs[0]!.name === name,
  );
  const isSum =
    loaded.size === 1 &&
    node?.op === 'sum' &&
    !node.running &&
    node.vars.length === 0 &&
    node.inner.length === 1 &&
    isSame(node.inner[0]!.size, length);
  return isSum ? node : null;
}
