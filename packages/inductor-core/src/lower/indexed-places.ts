/**
 * @file `IndexedPlaces`: places that index tensors name, as those who write there need them.
 *
 * Every place lies inside the memory: a single index is checked in the kernel that writes, several are checked in a
 * kernel before, so that none is written if one is refused. Whoever notes what is refused and goes on asks `isInside`.
 */
import type { Size } from '@tessera/shared';
import type { Expr } from '../ir/expr.js';
import type { IndexExpr } from '../ir/index-expr.js';
import { indexOf, indexSymbols, postorder } from '../ir/walk.js';
import { checkedIndex, isWithin, position, wrapped } from './checked-value.js';
import { ExprMath } from './expr-math.js';
import type { LoweredTensor } from './lowered-tensor.js';
import type { Lowering } from './lowering.js';
import { reducePlan } from './reduce.js';
import type { Shape } from './shape-math.js';

/** How indices are taken. */
export interface IndexRules {
  readonly op: string;
  /** Negative ones count from the end. */
  readonly wraps: boolean;
  /** They are known to be in range. */
  readonly isSafe: boolean;
}

/** Places along one dimension. */
interface Places {
  readonly tensor: LoweredTensor;
  readonly size: Size;
  /** Whether the index itself lies inside; null if it does. */
  readonly isInside: LoweredTensor | null;
}

/** What several writes of a graph need, by the expression that it holds. */
const kept = new WeakMap<Lowering, Map<Expr, LoweredTensor>>();

function once(l: Lowering, key: Expr, make: () => LoweredTensor): LoweredTensor {
  let known = kept.get(l);
  if (known === undefined) kept.set(l, (known = new Map<Expr, LoweredTensor>()));
  let tensor = known.get(key);
  if (tensor === undefined) known.set(key, (tensor = make()));
  return tensor;
}

/** See the file header. All indices have one shape; those that differ along `along` may name one place. */
export class IndexedPlaces {
  private readonly places: readonly Places[];
  private readonly lastOnes: LoweredTensor | null;

  constructor(
    private readonly l: Lowering,
    private readonly shape: Shape,
    private readonly along: number,
    indices: readonly { readonly index: LoweredTensor; readonly size: Size }[],
    rules: IndexRules,
  ) {
    this.places = indices.map(({ index, size }) => this.checked(index, size, rules));
    const isDistinct =
      shape[along] === 1 ||
      (!rules.wraps && indices.some(({ index }) => this.isRising(index.expr)));
    this.lastOnes = isDistinct ? null : this.findLast();
  }

  private checked(index: LoweredTensor, size: Size, { op, wraps, isSafe }: IndexRules): Places {
    const { l } = this;
    const counted = wraps ? wrapped(l, index.expr, size) : index.expr;
    const inside = isSafe ? null : isWithin(l, counted, size);
    const place = isSafe ? counted : checkedIndex(l, op, index.expr, size, wraps);
    const tensor = l.pointwise(index.shape, place);
    const isKept = place.kind === 'check' && this.shape[this.along] !== 1;
    return {
      tensor: isKept ? once(l, place, () => (tensor.realize(), tensor)) : tensor,
      size,
      isInside:
        inside === null || (inside.kind === 'const' && inside.value === 1)
          ? null
          : l.pointwise(index.shape, inside),
    };
  }

  /** The places that the indices at `coords` name. */
  at(coords: readonly IndexExpr[]): IndexExpr[] {
    const { l } = this;
    return this.places.map(({ tensor, size }) => {
      const value = tensor.load(coords);
      return value.kind === 'check' ? l.ir.value(value) : position(l, value, size);
    });
  }

  /** Whether what the indices at `coords` name lies inside; null if it always does. */
  isInside(coords: readonly IndexExpr[]): Expr | null {
    const { ir } = this.l;
    const conditions = this.places.flatMap(({ isInside }) => isInside?.load(coords) ?? []);
    return conditions.length === 0 ? null : conditions.reduce((a, b) => ir.op('and', [a, b]));
  }

  /** Where the last indices are that name the places of those at `coords`. */
  last(coords: readonly IndexExpr[]): IndexExpr[] {
    const { l, along } = this;
    const last = this.lastOnes?.load(coords);
    if (last === undefined) return [...coords];
    return coords.map((coord, d) => (d === along ? position(l, last, this.shape[along]!) : coord));
  }

  /** For each index the last position along the dimension that has the same places. */
  private findLast(): LoweredTensor {
    const { l, shape, along } = this;
    const m = new ExprMath(l.ir);
    const vars = l.vars(shape);
    const other = l.freshVar('q', shape[along]!);
    const there = vars.map((v, d) => (d === along ? other.index : v));
    const same = this.places
      .map(({ tensor }) => m.eq(tensor.load(vars), tensor.load(there)))
      .reduce((a, b) => m.and(a, b));
    const value = m.where(same, l.ir.index('int32', other.index), l.ir.const('int32', -1));
    const order = [...l.loopVars(shape), ...other.vars];
    const plan = { op: 'max', dtype: 'int32', sizes: shape, inner: other.vars, order } as const;
    return once(l, value, () => reducePlan(l, { ...plan, value })[0]!);
  }

  /** Whether an index is its position plus something that all have in common: none is named twice then. */
  private isRising(index: Expr): boolean {
    const v = this.l.vars(this.shape)[this.along]!;
    let expr = index;
    while (expr.dtype === 'int64' || expr.dtype === 'int32') {
      if (expr.kind === 'index') return expr.index === v;
      if (expr.kind !== 'op') return false;
      const [a, b] = expr.args;
      if (expr.op === 'cast') expr = a;
      else if (expr.op === 'add' && this.isCommon(a)) expr = b;
      else if (expr.op === 'add' && this.isCommon(b)) expr = a;
      else return false;
    }
    return false;
  }

  /** Whether a value is the same for all positions along the dimension. */
  private isCommon(value: Expr): boolean {
    const v = this.l.vars(this.shape)[this.along]!;
    return (
      v.kind === 'sym' &&
      postorder([value]).every((expr) => {
        const index = indexOf(expr);
        return index === null || !indexSymbols(index).has(v.name);
      })
    );
  }
}
