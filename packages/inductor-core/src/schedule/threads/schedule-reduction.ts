/**
 * @file Kernels with inner stages on threads: reductions, alone or followed by stages that use their results (softmax,
 * layer norm), in one launch.
 *
 * All threads of an outer point have every finished result, so an inner stage after a reduction starts without further
 * communication; what it reads again comes from cache, or from registers where points are unrolled.
 */
import {
  type Size,
  isMultiple,
  sizeCeilDiv,
  sizeFloorDiv,
  sizeMod,
  sizeSub,
} from '@tessera/shared';
import type { Expr } from '../../ir/expr.js';
import type { IndexExpr, SizedLoop } from '../../ir/index-expr.js';
import type { LoopKernel, Stage } from '../../ir/kernel.js';
import { extent, fastest, moves } from '../../ir/loop-vars.js';
import { operands, postorder, stmtRoots } from '../../ir/walk.js';
import {
  flatPlace,
  modulo,
  over,
  placesOf,
  plus,
  times,
  variable,
  whole,
} from '../kernel/places.js';
import type {
  Accumulator,
  Condition,
  Lanes,
  ScheduledBody,
  ScheduledKernel,
  ScheduledStmt,
} from '../kernel/scheduled-kernel.js';
import { mustSettle } from '../reduction.js';
import { reductionOf } from '../reductions.js';
import { inTwoPasses } from '../two-passes.js';
import { ThreadCombiner } from './combine-threads.js';
import { chooseReductionThreads, type ReductionThreads } from './reduction-threads.js';
import { type LoopHead, settledLoops, stepsOf } from './settled-loops.js';
import { foldGrid, type ThreadTarget } from './thread-target.js';

const INSIDE: Condition = { kind: 'test', name: 'inside' };

/** What rewrites know of the kernels that they made. */
export interface ReductionForm {
  /** Whether both terms of a value are added to its sum one after the other. */
  readonly termsApart?: boolean;
  /** The last outer variable, if inner stages do not depend on it: threads that share a point take its values. */
  readonly spread?: SizedLoop<number>;
}

/** Schedules a kernel that has inner stages. */
export function scheduleReduction(
  kernel: LoopKernel<Size>,
  target: ThreadTarget,
  threads: ReductionThreads = chooseReductionThreads(kernel, target),
  form: ReductionForm = {},
): ScheduledKernel {
  // Values in registers cost nothing to read again, and each exponential is computed once.
  const isUnrolled = threads.steps > 0;
  const prepared = isUnrolled ? inTwoPasses(kernel, ({ op }) => op === 'online_softmax') : kernel;
  return new ReductionScheduler(prepared, target, threads, form).schedule();
}

/** An unrolled step of the inner loops. */
interface Step {
  readonly number: number;
  /** Variables of the kernel at this step. */
  readonly lets: ScheduledBody;
  /** What must hold for the thread to have an element there. */
  readonly valid: readonly Condition[];
}

class ReductionScheduler {
  private readonly accumulators: Accumulator[] = [];
  private readonly counters = new Map<string, number>();
  private readonly combiner: ThreadCombiner;
  /** Outer variables but for the one that threads of a point take values of. */
  private readonly points: readonly SizedLoop[];
  /** Length of the inner loops and number of outer points, in units of lanes. */
  private readonly innerUnits: Size;
  private readonly outerUnits: Size;
  private readonly innerLane: string | undefined;
  private readonly outerLane: string | undefined;
  /** Whether every thread has an outer point. */
  private readonly isExact: boolean;
  /** The place of an element in the inner loops. */
  private readonly at: IndexExpr;

  constructor(
    private readonly kernel: LoopKernel<Size>,
    private readonly target: ThreadTarget,
    private readonly threads: ReductionThreads,
    private readonly form: ReductionForm,
  ) {
    const { lanes, outerThreads } = threads;
    this.points = kernel.outer.filter(({ name }) => name !== form.spread?.name);
    this.combiner = new ThreadCombiner(threads, target, (prefix) => this.fresh(prefix));
    this.innerLane = lanes === 'inner' ? fastest(kernel.inner)!.name : undefined;
    this.outerLane = lanes === 'outer' ? fastest(this.points)!.name : undefined;
    this.innerUnits = sizeFloorDiv(extent(kernel.inner), lanes === 'inner' ? 4 : 1);
    this.outerUnits = sizeFloorDiv(extent(this.points), lanes === 'outer' ? 4 : 1);
    this.isExact = isMultiple(this.outerUnits, outerThreads);
    this.at = flatPlace(kernel.inner);
  }

  schedule(): ScheduledKernel {
    const { kernel, threads, target, outerUnits } = this;
    const count = threads.outerThreads * threads.innerThreads;
    const groups = sizeCeilDiv(outerUnits, threads.outerThreads);
    const isEmpty = outerUnits === 0;
    const { hasSurplus } = foldGrid(groups, target.maxWorkgroupsPerDimension);
    const body = isEmpty ? [] : this.body(groups, hasSurplus);
    const grid = { name: 'group', extent: isEmpty ? 0 : groups };
    return {
      kernel,
      grid: hasSurplus ? { ...grid, surplus: true } : grid,
      threads: { name: 'lane', extent: isEmpty ? 1 : count },
      shared: this.combiner.shared,
      accumulators: this.accumulators,
      body,
    };
  }

  /** A name that nothing else has: those of schedules have a dot. */
  private fresh(prefix: string): string {
    const count = this.counters.get(prefix) ?? 0;
    this.counters.set(prefix, count + 1);
    return `${prefix}.${count}`;
  }

  private body(groups: Size, hasSurplus: boolean): ScheduledBody {
    const { kernel, threads, outerLane } = this;
    const steps = threads.steps > 0 ? this.steps() : null;
    const stages = kernel.stages.flatMap((stage) => this.stage(stage, steps));
    const within = [...this.early(), ...(steps?.lets ?? []), ...stages];
    const inGrid: Condition = { kind: 'below', index: variable('group'), limit: whole(groups) };
    return [
      ...(hasSurplus ? [{ kind: 'exit', unless: [inGrid] } as const] : []),
      ...this.placeThread(),
      ...this.outerPlaces(),
      ...(outerLane === undefined ? within : [vector(outerLane, within)]),
    ];
  }

  /** `point`, the outer point of this thread, and its place `part` among those that share it. */
  private placeThread(): ScheduledBody {
    const { outerThreads, innerThreads, fast } = this.threads;
    const [group, lane] = [variable('group'), variable('lane')];
    const [point, part] =
      innerThreads === 1
        ? [lane, null]
        : outerThreads === 1
          ? [null, lane]
          : fast === 'inner'
            ? [over(lane, innerThreads), modulo(lane, innerThreads)]
            : [modulo(lane, outerThreads), over(lane, outerThreads)];
    const first = times(group, outerThreads);
    const inside: Condition = {
      kind: 'below',
      index: variable('point'),
      limit: whole(this.outerUnits),
    };
    return [
      { kind: 'let', name: 'point', index: point === null ? first : plus(first, point) },
      ...(part === null ? [] : [{ kind: 'let', name: 'part', index: part } as const]),
      ...(this.isExact ? [] : [{ kind: 'test', name: 'inside', all: [inside] } as const]),
    ];
  }

  /** Outer variables; threads beyond the last point compute what nobody takes. */
  private outerPlaces(): ScheduledBody {
    const { points: outer, outerLane: lane } = this;
    if (this.isExact) return placesOf(outer, variable('point'), { lane });
    const atMost = sizeSub(this.outerUnits, 1);
    const index = variable('point');
    const nearest: ScheduledStmt = { kind: 'let', name: 'nearest', index, atMost };
    return [nearest, ...placesOf(outer, variable('nearest'), { lane })];
  }

  private get part(): IndexExpr {
    return this.threads.innerThreads === 1 ? whole(0) : variable('part');
  }

  private stage(stage: Stage, steps: { readonly steps: readonly Step[] } | null): ScheduledBody {
    if (stage.kind === 'outer') {
      const stores = stage.body.filter((stmt) => stmt.kind === 'store');
      // Once per outer point, or for each value of the variable: by the first of the threads that share it.
      const { spread } = this.form;
      if (this.threads.innerThreads === 1) return this.guarded(stores, []);
      const part = spread === undefined ? this.part : over(this.part, spread.size);
      return this.guarded(stores, [{ kind: 'first', index: part }]);
    }
    if (steps !== null) return this.unrolledStage(stage, steps.steps);
    return this.threads.lanes === 'strided' ? this.stridedStage(stage) : this.loopStage(stage);
  }

  /** What outer stages load at places that are known: it comes while rows are read. All threads that share a point ask alike. */
  private early(): ScheduledBody {
    const { kernel, threads, form } = this;
    const { spread } = form;
    const own: ScheduledBody =
      spread === undefined
        ? []
        : [{ kind: 'let', name: spread.name, index: modulo(this.part, spread.size) }];
    if (threads.fast !== 'inner' || threads.innerThreads === 1) return own;
    const stores = kernel.stages.flatMap(({ kind, body }) => (kind === 'outer' ? body : []));
    const loads = postorder(stores.flatMap(stmtRoots)).flatMap((expr) =>
      expr.kind === 'load' && operands(expr).length === 0 ? [expr] : [],
    );
    return loads.length === 0 ? own : [...own, { kind: 'ask', of: loads }];
  }

  /** A body for threads that have an outer point, under further conditions. */
  private guarded(body: ScheduledBody, conditions: readonly Condition[]): ScheduledBody {
    const all = this.isExact ? conditions : [INSIDE, ...conditions];
    if (body.length === 0) return [];
    return all.length === 0 ? body : [{ kind: 'when', all, body }];
  }

  /** Accumulators of a stage, of which a thread makes so many steps. */
  private start(stage: Stage, steps: number): readonly Accumulator[] {
    const { arithmetic } = this.target;
    return stage.body.flatMap((stmt): Accumulator[] => {
      if (stmt.kind !== 'reduce') return [];
      const { op, ids, value, dtype } = stmt;
      const settles = mustSettle(steps);
      const reduction = reductionOf({ op, dtype: value.dtype, target: arithmetic, settles });
      // Half of a vector comes after the other, as terms do.
      const isNarrow = this.form.termsApart === true && this.innerLane !== undefined;
      const narrow = isNarrow ? ({ narrow: true } as const) : {};
      const accumulator = { name: `${op}.${ids[0]}`, reduction, ids, dtype, ...narrow };
      this.accumulators.push(accumulator);
      return [accumulator];
    });
  }

  /** The statements of an inner stage for one point, or one on each lane. */
  private statements(stage: Stage): ScheduledBody {
    const { at } = this;
    const parts = (value: Expr): readonly Expr[] =>
      this.form.termsApart === true && value.kind === 'op' && value.op === 'add'
        ? value.args
        : [value];
    const most = Math.max(...stage.body.map(({ value }) => parts(value).length));
    // First terms of all sums first: they have elements in common.
    return Array.from({ length: most }, (_, number) => number).flatMap((number) =>
      stage.body.flatMap((stmt): ScheduledStmt[] => {
        const value = parts(stmt.value)[number];
        if (value === undefined) return [];
        if (stmt.kind === 'store') return [stmt];
        return [{ kind: 'update', of: `${stmt.op}.${stmt.ids[0]}`, value, at }];
      }),
    );
  }

  private vectorised(body: ScheduledBody): ScheduledBody {
    return this.innerLane === undefined ? body : [vector(this.innerLane, body)];
  }

  private loopStage(stage: Stage): ScheduledBody {
    const { kernel, threads, innerLane, innerUnits } = this;
    const isNested = threads.innerThreads === 1 && kernel.inner.filter(moves).length > 1;
    const at = isNested ? '' : this.fresh('r');
    const loops = isNested
      ? this.nestedLoops()
      : [this.sweep(at, innerUnits, threads.innerThreads)];
    const lets = isNested ? [] : placesOf(kernel.inner, variable(at), { lane: innerLane });
    const accumulators = this.start(stage, stepsOf(loops));
    const content = [...lets, ...this.vectorised(this.statements(stage))];
    const swept = settledLoops(loops, content, accumulators, this.fresh('first'));
    return this.reduced(accumulators, isNested ? this.guarded(swept, []) : swept);
  }

  /** One loop per variable: no division where a thread walks the whole loop itself. */
  private nestedLoops(): LoopHead[] {
    return this.kernel.inner.map(({ name, size }) => {
      const pace = name === this.innerLane ? 4 : 1;
      return { name, begin: whole(0), ends: [whole(size)], pace, trips: sizeCeilDiv(size, pace) };
    });
  }

  /** A loop of this thread, from its part on, up to `size`. */
  private sweep(name: string, size: Size, pace: number): LoopHead {
    const only = this.isExact ? {} : { only: INSIDE };
    const trips = sizeCeilDiv(size, pace);
    return { name, begin: this.part, ends: [whole(size)], pace, ...only, trips };
  }

  /** Lanes that are `innerThreads` elements apart: full rounds, then one in which some are past the end. */
  private stridedStage(stage: Stage): ScheduledBody {
    const step = this.threads.innerThreads;
    const { name, size } = fastest(this.kernel.inner)!;
    const rounds = sizeSub(size, sizeMod(size, 4 * step));
    const at = this.fresh('r');
    const loop = this.sweep(at, rounds, 4 * step);
    const accumulators = this.start(stage, stepsOf([loop]));
    const body = this.statements(stage);
    const round = (place: string, valid: Lanes['valid']): ScheduledBody => [
      ...placesOf(this.kernel.inner, variable(place)),
      vector(name, body, { step, valid }),
    ];
    const swept = settledLoops([loop], round(at, 4), accumulators, this.fresh('first'));
    if (rounds === size) return this.reduced(accumulators, swept);
    const rest = this.fresh('r');
    const settles = accumulators.filter(({ reduction }) => reduction.settling !== undefined);
    const tail: ScheduledStmt[] = [
      { kind: 'let', name: rest, index: plus(whole(rounds), this.part) },
      ...round(rest, { index: variable(name), limit: size }),
    ];
    if (settles.length > 0) tail.push({ kind: 'settle', of: settles.map((each) => each.name) });
    return this.reduced(accumulators, [...swept, ...this.guarded(tail, [])]);
  }

  /** The unrolled steps, and statements that say where they are. */
  private steps(): { readonly lets: ScheduledBody; readonly steps: readonly Step[] } {
    const { kernel, threads, innerLane } = this;
    const { innerThreads } = threads;
    const units = this.innerUnits as number;
    const lets: ScheduledStmt[] = [];
    const steps = Array.from({ length: threads.steps }, (_, number): Step => {
      const at = this.fresh('r');
      const first = number * innerThreads;
      const index = first === 0 ? this.part : plus(this.part, whole(first));
      const rename = (name: string): string => `${name}@${number}`;
      lets.push(
        { kind: 'let', name: at, index },
        ...placesOf(kernel.inner, variable(at), { lane: innerLane, rename }),
      );
      const here = kernel.inner.map(({ name }): ScheduledStmt => ({
        kind: 'let',
        name,
        index: variable(rename(name)),
      }));
      const isWhole = first + innerThreads <= units;
      const within: Condition = { kind: 'below', index: variable(at), limit: whole(units) };
      return { number, lets: here, valid: isWhole ? [] : [within] };
    });
    return { lets, steps };
  }

  private unrolledStage(stage: Stage, steps: readonly Step[]): ScheduledBody {
    const accumulators = this.start(stage, steps.length);
    const statements = this.statements(stage);
    const updates = statements.filter((stmt) => stmt.kind === 'update');
    const stores = statements.filter((stmt) => stmt.kind === 'store');
    const points = steps.map(({ number, lets, valid }): ScheduledStmt => {
      const taken: ScheduledBody =
        valid.length === 0 || updates.length === 0
          ? updates
          : [{ kind: 'when', all: valid, body: updates }];
      const body = [...lets, ...this.vectorised([...taken, ...this.guarded(stores, valid)])];
      return { kind: 'point', number, body };
    });
    return this.reduced(accumulators, points);
  }

  /** A stage from the start of its accumulators to their results, around what updates them. */
  private reduced(accumulators: readonly Accumulator[], body: ScheduledBody): ScheduledBody {
    if (accumulators.length === 0) return body;
    const of = accumulators.map(({ name }) => name);
    const { lanes } = this.threads;
    const folds = lanes === 'inner' || lanes === 'strided';
    const parts = of.flatMap((name): ScheduledStmt[] => [
      { kind: 'part', of: [name] },
      ...(folds ? [{ kind: 'fold', of: [name] } as const] : []),
    ]);
    return [
      { kind: 'start', of },
      ...body,
      ...parts,
      ...this.combiner.combine(accumulators),
      { kind: 'finish', of },
    ];
  }
}

/** Four elements along a variable. */
function vector(
  lane: string,
  body: ScheduledBody,
  { step = 1, valid = 4 }: Partial<Pick<Lanes, 'step' | 'valid'>> = {},
): ScheduledStmt {
  return { kind: 'vector', lanes: { lane, across: lane, width: 4, step, groups: 1, valid }, body };
}
