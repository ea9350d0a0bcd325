/**
 * @file Recurrences whose weights are too many for the registers of a workgroup as a chain of launches: one that begins,
 * one for each step, and one for what is stored at the end.
 *
 * Every step is spread over the device: no workgroup has to read all weights, and those of several rows share what they
 * read. Between launches states, vectors and the number of the step lie in memory, `carried`. Its planes, of a value for
 * each unit of each row: the vectors of even steps, those of odd ones, the states, and the number of the next step.
 */
import { type Size, sizeMul } from '@tessera/shared';
import { IrBuilder } from '../../ir/build.js';
import type { Expr, Stmt } from '../../ir/expr.js';
import type { IndexExpr, LoopVar } from '../../ir/index-expr.js';
import type { BufferParam, LoopKernel, RecurrenceKernel, ScalarParam } from '../../ir/kernel.js';
import { extent } from '../../ir/loop-vars.js';
import { stmtRoots } from '../../ir/walk.js';
import { fitsWorkgroup } from '../../lower/fits-workgroup.js';
import type { Replacement } from './replace-kernels.js';
import { type Parameters, unusedName, usedParameters } from './used-parameters.js';

/** A recurrence, and the name of its memory between launches. */
export interface ChainPart {
  readonly recurrence: RecurrenceKernel<Size>;
  readonly carried: string;
}

/** A step of recurrences that do not wait for one another and have as many steps; its number is in memory. */
export interface ChainStep {
  readonly kind: 'step';
  readonly name: string;
  readonly params: readonly BufferParam[];
  readonly scalars: readonly ScalarParam[];
  readonly parts: readonly ChainPart[];
}

/** Kernels in the order of their launches, the step as often as there are steps, and what lies between them. */
export type RecurrenceChain = Replacement<LoopKernel<Size> | ChainStep, Size> & {
  readonly step: ChainStep;
};

/** Whether registers hold the weights. */
export function keepsWeights({ n, products }: RecurrenceKernel<Size>): boolean {
  return fitsWorkgroup(products.flat().length, extent(n));
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

/** The kernels that begin and end a chain. */
class Ends {
  private readonly e = new IrBuilder();
  private readonly vars: readonly LoopVar<Size>[];
  private readonly element: IndexExpr;
  private readonly plane: Size;

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
    const { e, kernel } = this;
    const memo = new Map<Expr, Expr>();
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
    const { e, kernel, carried } = this;
    if (kernel.lastStores.length === 0) return null;
    const { states } = planesOf(kernel);
    const memo = new Map<Expr, Expr>();
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
    const others = [{ name: carried, dtype: kernel.accDtype, access }];
    return {
      kind: 'loop',
      name: `${kernel.name}_${suffix}`,
      ...usedParameters(kernel, roots, body, others),
      outer: this.vars,
      inner: [],
      stages: [{ kind: 'outer', body }],
    };
  }
}

/** What a step of a recurrence uses, with the memory between launches. */
function stepParameters({ recurrence, carried }: ChainPart): Parameters {
  const { states, vectors, products, stores, accDtype: dtype } = recurrence;
  const roots = [
    ...states.map(({ next }) => next),
    ...vectors,
    ...products.flatMap((terms) => terms.map(({ weight }) => weight)),
  ];
  return usedParameters(recurrence, roots, stores, [{ name: carried, dtype, access: 'readwrite' }]);
}

/** Each name once. */
function distinct<T extends { readonly name: string }>(all: readonly T[]): T[] {
  return [...new Map(all.map((each) => [each.name, each])).values()];
}

/** The chain that stands for recurrences, which share the launches of its steps; null where registers hold their weights. */
export function recurrenceChain(
  recurrences: readonly RecurrenceKernel<Size>[],
): RecurrenceChain | null {
  if (recurrences.some(keepsWeights)) return null;
  const taken: { readonly name: string }[] = recurrences.flatMap(({ params }) => params);
  const parts = recurrences.map((recurrence): ChainPart => {
    const carried = unusedName(taken, 'carried');
    taken.push({ name: carried });
    return { recurrence, carried };
  });
  const ends = parts.map(({ recurrence, carried }) => new Ends(recurrence, carried));
  const used = parts.map(stepParameters);
  const step: ChainStep = {
    kind: 'step',
    name: `${recurrences.map(({ name }) => name).join('_with_')}_step`,
    params: distinct(used.flatMap(({ params }) => params)),
    scalars: distinct(used.flatMap(({ scalars }) => scalars)),
    parts,
  };
  return {
    step,
    kernels: [
      ...ends.map((each) => each.start()),
      step,
      ...ends.flatMap((each) => each.end() ?? []),
    ],
    times: [...ends.map(() => undefined), extent(recurrences[0]!.step)],
    scratch: parts.map(({ recurrence, carried }) => {
      const plane = sizeMul(extent(recurrence.batch), extent(recurrence.n));
      const numel = sizeMul(plane, planesOf(recurrence).count);
      return { name: carried, dtype: recurrence.accDtype, numel };
    }),
  };
}
