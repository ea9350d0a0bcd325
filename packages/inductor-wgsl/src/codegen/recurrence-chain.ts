/**
 * @file Recurrences whose weights are too many for the registers of a workgroup as a chain of launches: one that begins,
 * one for each step, and one for what is stored at the end.
 *
 * Every step is spread over the device: no workgroup has to read all weights, and those of several rows share what they
 * read. Between launches states, vectors and the number of the step lie in memory, `carried`. Its planes, of a value for
 * each unit of each row: the vectors of even steps, those of odd ones, the states, and the number of the next step.
 */
import {
  type BufferParam,
  type Expr,
  extent,
  IrBuilder,
  type IndexExpr,
  type LoopKernel,
  type LoopVar,
  postorder,
  type RecurrenceKernel,
  type ScalarParam,
  type Stmt,
  stmtRoots,
} from '@tessera/inductor-core';
import { type Size, sizeMul } from '@tessera/shared';
import { unusedName } from './names.js';
import { keepsWeights } from './recurrence.js';

/** A step of a recurrence, whose number is in memory. */
export interface ChainStep {
  readonly kind: 'step';
  readonly name: string;
  readonly params: readonly BufferParam[];
  readonly scalars: readonly ScalarParam[];
  readonly recurrence: RecurrenceKernel<Size>;
  /** Name of the memory between launches. */
  readonly carried: string;
}

/** Kernels in the order of their launches, the step as often as there are steps, and the elements between them. */
export interface RecurrenceChain {
  readonly start: LoopKernel<Size>;
  readonly step: ChainStep;
  readonly end: LoopKernel<Size> | null;
  readonly carried: string;
  readonly numel: Size;
}

/** Places of planes; see the file header. */
export function planesOf({ vectors, states }: RecurrenceKernel<Size>): {
  readonly states: number;
  readonly number: number;
  readonly count: number;
} {
  const first = 2 * vectors.length;
  const number = first + states.length;
  return { states: first, number, count: number + 1 };
}

/** What of a kernel's parameters some expressions and stores use. */
function used(
  kernel: RecurrenceKernel<Size>,
  roots: readonly Expr[],
  stores: readonly Stmt[],
): { readonly params: BufferParam[]; readonly scalars: ScalarParam[] } {
  const names = new Set<string>(stores.flatMap((stmt) => (stmt.kind === 'store' ? stmt.buf : [])));
  for (const expr of postorder([...roots, ...stores.flatMap(stmtRoots)])) {
    if (expr.kind === 'load') names.add(expr.buf);
    else if (expr.kind === 'scalar') names.add(expr.name);
  }
  const isUsed = ({ name }: { readonly name: string }): boolean => names.has(name);
  return { params: kernel.params.filter(isUsed), scalars: kernel.scalars.filter(isUsed) };
}

/** The kernels that begin and end a chain. */
class Ends {
  private readonly e = new IrBuilder();
  private readonly vars: readonly LoopVar<Size>[];
  private readonly element: IndexExpr;
  private readonly plane: Size;
  private readonly memo = new Map<Expr, Expr>();

  constructor(
    private readonly kernel: RecurrenceKernel<Size>,
    private readonly carried: string,
  ) {
    const { e } = this;
    for (const { name, size } of kernel.step) e.sym(name, size);
    this.vars = [...kernel.batch, ...kernel.n];
    this.element = this.vars.reduce<IndexExpr>(
      (index, { name, size }) => e.add(e.scale(index, size), e.sym(name, size)),
      e.int(0),
    );
    this.plane = extent(this.vars);
  }

  start(): LoopKernel<Size> {
    const { e, kernel, memo } = this;
    const isStep = new Set(kernel.step.map(({ name }) => name));
    const symbol = (name: string): IndexExpr | undefined =>
      isStep.has(name) ? e.int(0) : undefined;
    const states = e.rewrite(
      kernel.states.map(({ initial }) => initial),
      { symbol },
      memo,
    );
    const vectors = e.rewrite(kernel.vectors, { symbol, acc: ({ id }) => states[id] }, memo);
    const planes = planesOf(kernel);
    const none = e.const(kernel.accDtype, 0);
    const body = [
      ...vectors.map((value, v) => this.store(v, value)),
      ...states.map((value, s) => this.store(planes.states + s, value)),
      this.store(planes.number, none),
    ];
    return this.loop('start', 'write', [...vectors, ...states], body);
  }

  end(): LoopKernel<Size> | null {
    const { e, kernel, carried, memo } = this;
    if (kernel.lastStores.length === 0) return null;
    const { states } = planesOf(kernel);
    memo.clear();
    const acc = ({ dtype, id }: { dtype: Expr['dtype']; id: number }): Expr =>
      e.load(dtype, carried, this.at(states + id));
    e.rewrite(kernel.lastStores.flatMap(stmtRoots), { acc }, memo);
    const body = kernel.lastStores.map((stmt): Stmt => {
      const value = memo.get(stmt.value)!;
      if (stmt.kind !== 'store') return { ...stmt, value };
      const index = e.substituteIndex(
        stmt.index,
        () => undefined,
        (inside) => memo.get(inside)!,
      );
      return { ...stmt, index, value };
    });
    return this.loop('end', 'read', [], body);
  }

  private at(plane: number): IndexExpr {
    const { e } = this;
    return e.add(this.element, e.scale(e.size(this.plane), plane));
  }

  private store(plane: number, value: Expr): Stmt {
    return { kind: 'store', buf: this.carried, index: this.at(plane), value };
  }

  private loop(
    suffix: string,
    access: BufferParam['access'],
    roots: readonly Expr[],
    body: readonly Stmt[],
  ): LoopKernel<Size> {
    const { kernel, carried } = this;
    const { params, scalars } = used(kernel, roots, body);
    return {
      kind: 'loop',
      name: `${kernel.name}_${suffix}`,
      params: [...params, { name: carried, dtype: kernel.accDtype, access }],
      scalars,
      outer: this.vars,
      inner: [],
      stages: [{ kind: 'outer', body }],
    };
  }
}

/** The chain that stands for a recurrence; null where registers hold its weights. */
export function recurrenceChain(kernel: RecurrenceKernel<Size>): RecurrenceChain | null {
  if (keepsWeights(kernel)) return null;
  const { states, vectors, products, stores } = kernel;
  const roots = [
    ...states.map(({ next }) => next),
    ...vectors,
    ...products.flatMap((terms) => terms.map(({ weight }) => weight)),
  ];
  const { params, scalars } = used(kernel, roots, stores);
  const carried = unusedName(kernel.params, 'carried');
  const ends = new Ends(kernel, carried);
  const step: ChainStep = {
    kind: 'step',
    name: `${kernel.name}_step`,
    params: [...params, { name: carried, dtype: kernel.accDtype, access: 'readwrite' }],
    scalars,
    recurrence: kernel,
    carried,
  };
  const plane = sizeMul(extent(kernel.batch), extent(kernel.n));
  const numel = sizeMul(plane, planesOf(kernel).count);
  return { start: ends.start(), step, end: ends.end(), carried, numel };
}
