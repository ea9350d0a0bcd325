/**
 * @file `verifyAccesses`: every load and store of a kernel is proven to lie inside its buffer, or the kernel is refused.
 *
 * The body of a `masked` expression happens only where its mask holds, so the mask counts for what is loaded there.
 * A value that is used both under a mask and without it is loaded without it. What a shared expression may assume
 * is thus a set of alternatives, each a set of conditions; the proof must hold for each alternative.
 */
import { ANY_INTEGER, type ValueRange, liesWithin, multiplyRanges } from '@tessera/shared';
import type { Expr, ReduceOp, Stmt } from '../ir/expr.js';
import type { IndexExpr } from '../ir/index-expr.js';
import type { FusedKernel, LoopKernel } from '../ir/kernel.js';
import {
  type GeneratedKernel,
  type KernelLoops,
  kernelFactors,
  kernelStmts,
  loopsByRole,
} from '../ir/kernel-parts.js';
import { printIndex } from '../ir/print.js';
import { isFloat } from '../ir/scalar-eval.js';
import { operands, postorder, stmtRoots } from '../ir/walk.js';
import { type Literal, conjuncts } from './facts.js';
import { rangeOf, unlessWrapped } from '../ir/integer-ranges.js';
import { Ranges } from './ranges.js';

type Result = Extract<Expr, { kind: 'acc' }>;

/** Alternatives of one expression beyond which only what they have in common is kept. */
const MOST_ALTERNATIVES = 8;

/** Conditions by a text that equal sets share. */
type Alternatives = Map<string, readonly Literal[]>;

class AccessVerifier {
  private readonly ranges: Ranges;
  private readonly results = new Map<number, ValueRange>();
  private readonly ids = new Map<Expr, number>();
  private readonly loops: KernelLoops;

  constructor(
    private readonly kernel: GeneratedKernel,
    private readonly numelOf: (buffer: string) => number,
    private readonly fail: (what: string) => never,
  ) {
    this.loops = loopsByRole(kernel);
    const { parallel, reduced } = this.loops;
    const sizes = new Map([...parallel, ...reduced].map((v) => [v.name, v.size]));
    this.ranges = new Ranges({
      sizeOf: (name) => sizes.get(name),
      ofResult: (expr) => this.ofResult(expr),
    });
  }

  run(): void {
    const { kernel, loops } = this;
    if (loops.parallel.some((v) => v.size === 0)) return;
    const isEmpty = loops.reduced.some((v) => v.size === 0);
    if (kernel.kind === 'loop') this.learnResults(kernel);
    const stmts: readonly Stmt[] =
      kernel.kind === 'loop'
        ? kernel.stages.flatMap(({ kind, body }) => (isEmpty && kind === 'inner' ? [] : body))
        : kernelStmts(kernel);
    const factors = isEmpty ? [] : kernelFactors(kernel);
    this.loads([...factors, ...stmts.flatMap(stmtRoots)]);
    for (const stmt of stmts)
      if (stmt.kind === 'store') this.access('store', stmt.buf, stmt.index, [[]]);
  }

  /** Bounds of the integer results of reductions, in the order in which they become known. */
  private learnResults(kernel: LoopKernel): void {
    const trips = kernel.inner.reduce((total, v) => total * v.size, 1);
    const defined = new Set<number>();
    for (const { body } of kernel.stages) {
      for (const stmt of body) {
        if (stmt.kind !== 'reduce') continue;
        const [id] = stmt.ids;
        // A scan may be computed again in a later stage; that is rare enough to know nothing of it.
        const isAgain = defined.has(id);
        for (const each of stmt.ids) defined.add(each);
        if (isFloat(stmt.dtype)) continue;
        const bounds = isAgain ? ANY_INTEGER : this.reduced(stmt.op, stmt.value, trips);
        this.results.set(id, unlessWrapped(bounds, stmt.dtype));
      }
    }
  }

  private reduced(op: ReduceOp, value: Expr, trips: number): ValueRange {
    if (op === 'argmax' || op === 'argmin') return { lo: 0, hi: Math.max(trips - 1, 0) };
    if (op === 'any' || op === 'all') return { lo: 0, hi: 1 };
    // Without a point to reduce, the result is whatever is neutral.
    if (trips === 0 || op === 'prod') return ANY_INTEGER;
    const each = this.ranges.ofValue(value);
    return op === 'sum' ? multiplyRanges(each, { lo: 1, hi: trips }) : each;
  }

  private ofResult({ id, dtype }: Result): ValueRange {
    return this.results.get(id) ?? (isFloat(dtype) ? ANY_INTEGER : rangeOf(dtype));
  }

  private loads(roots: readonly Expr[]): void {
    const order = postorder(roots);
    const assumed = new Map<Expr, Alternatives>();
    for (const root of roots) assumed.set(root, new Map([['', []]]));
    for (let i = order.length - 1; i >= 0; i--) {
      const expr = order[i]!;
      const alternatives = assumed.get(expr)!;
      assumed.delete(expr);
      this.passOn(expr, alternatives, assumed);
      if (expr.kind === 'load') this.access('load', expr.buf, expr.index, alternatives.values());
    }
  }

  /** Hands the alternatives of an expression to its operands. */
  private passOn(expr: Expr, alternatives: Alternatives, assumed: Map<Expr, Alternatives>): void {
    for (const operand of operands(expr)) {
      const own = assumed.get(operand) ?? new Map<string, readonly Literal[]>();
      assumed.set(operand, own);
      const mask =
        expr.kind === 'masked' && operand === expr.body && operand !== expr.mask
          ? conjuncts({ condition: expr.mask, truth: true })
          : [];
      for (const literals of alternatives.values()) this.include(own, [...literals, ...mask]);
    }
  }

  private include(alternatives: Alternatives, literals: readonly Literal[]): void {
    const byKey = new Map(literals.map((literal) => [this.keyOf(literal), literal]));
    const add = (set: ReadonlyMap<string, Literal>): void => {
      alternatives.set([...set.keys()].sort().join(), [...set.values()]);
    };
    if (alternatives.has('')) return;
    if (byKey.size === 0) alternatives.clear();
    add(byKey);
    if (alternatives.size <= MOST_ALTERNATIVES) return;
    const sets = [...alternatives.values()].map(
      (set) => new Set(set.map((literal) => this.keyOf(literal))),
    );
    const shared = [...byKey].filter(([key]) => sets.every((set) => set.has(key)));
    alternatives.clear();
    add(new Map(shared));
  }

  private keyOf({ condition, truth }: Literal): string {
    let id = this.ids.get(condition);
    if (id === undefined) this.ids.set(condition, (id = this.ids.size));
    return `${truth ? '' : '!'}${id}`;
  }

  private access(
    what: 'load' | 'store',
    buffer: string,
    index: IndexExpr,
    alternatives: Iterable<readonly Literal[]>,
  ): void {
    const inside: ValueRange = { lo: 0, hi: this.numelOf(buffer) - 1 };
    const form = this.ranges.indices.ofIndex(index);
    if (liesWithin(this.ranges.ofForm(form), inside)) return;
    for (const literals of alternatives) {
      const ranges = literals.length === 0 ? this.ranges : this.ranges.assuming(literals);
      if (ranges.isImpossible && inside.hi >= 0) continue;
      const { lo, hi } = ranges.ofForm(form);
      if (liesWithin({ lo, hi }, inside)) continue;
      this.fail(
        `a ${what} at '${buffer}[${printIndex(index)}]' may reach elements ${lo} to ${hi}, and there are ${inside.hi + 1}`,
      );
    }
  }
}

/**
 * Proves every access of a kernel. `numelOf` gives the elements that a parameter has in every launch.
 *
 * @param fail refuses the kernel with the reason
 */
export function verifyAccesses(
  kernel: FusedKernel,
  numelOf: (buffer: string) => number,
  fail: (what: string) => never,
): void {
  if (kernel.kind !== 'extern') new AccessVerifier(kernel, numelOf, fail).run();
}
