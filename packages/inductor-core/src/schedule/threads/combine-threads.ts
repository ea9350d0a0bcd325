/**
 * @file Parts of several threads become one that all of them have.
 *
 * With exchanges where neighbouring threads share an outer point and the machine has them, then one part of each
 * subgroup through shared memory; else by halving in shared memory. All accumulators of a stage go together, so a stage
 * costs the same few barriers however many it has.
 */
import type { IndexExpr } from '../../ir/index-expr.js';
import { minus, modulo, over, plus, times, variable, whole } from '../kernel/places.js';
import type {
  Accumulator,
  ScheduledBody,
  ScheduledStmt,
  SharedArray,
  ShareStmt,
} from '../kernel/scheduled-kernel.js';
import type { ReductionThreads } from './reduction-threads.js';
import { carrierOf, type ThreadTarget } from './thread-target.js';

const BARRIER: ScheduledStmt = { kind: 'barrier' };
const LANE = variable('lane');
const PART = variable('part');
const SUBGROUP = variable('subgroup_size');

type Pass = Omit<ShareStmt, 'kind'> & { readonly kind: 'share' | 'fetch' | 'merge' };

/** See the file header. Arrays serve stage after stage. */
export class ThreadCombiner {
  readonly shared: SharedArray[] = [];
  private readonly byUse = new Map<string, string>();
  private isInUse = false;

  constructor(
    private readonly threads: ReductionThreads,
    private readonly target: ThreadTarget,
    private readonly fresh: (prefix: string) => string,
  ) {}

  /** Statements after which each thread of an outer point has the whole. */
  combine(accumulators: readonly Accumulator[]): ScheduledBody {
    if (this.threads.innerThreads === 1 || accumulators.length === 0) return [];
    return this.canExchange ? this.exchange(accumulators) : this.halve(accumulators);
  }

  private get count(): number {
    return this.threads.innerThreads * this.threads.outerThreads;
  }

  /** Subgroups never hold a part of one outer point and of another, whatever their size. */
  private get canExchange(): boolean {
    const { subgroups } = this.target;
    const { innerThreads, fast } = this.threads;
    if (subgroups === null || fast !== 'inner' || this.count % subgroups.max !== 0) return false;
    return innerThreads <= subgroups.min || innerThreads >= subgroups.max;
  }

  /** Shared arrays for all parts, and the barrier that they need where they were used before. */
  private arrays(
    accumulators: readonly Accumulator[],
    length: number,
  ): { readonly before: ScheduledBody; readonly of: ReadonlyMap<Accumulator, string[]> } {
    const before = this.isInUse ? [BARRIER] : [];
    this.isInUse = true;
    const counts = new Map<string, number>();
    const arrayFor = (dtype: SharedArray['dtype']): string => {
      const count = counts.get(dtype) ?? 0;
      counts.set(dtype, count + 1);
      const use = `${dtype}:${count}`;
      let name = this.byUse.get(use);
      if (name === undefined) {
        this.byUse.set(use, (name = this.fresh('shared_')));
        this.shared.push({ name, dtype, length });
      }
      return name;
    };
    const of = new Map(
      accumulators.map((each) => [
        each,
        each.reduction.part.map(({ dtype }) => arrayFor(carrierOf(dtype))),
      ]),
    );
    return { before, of };
  }

  /** Halves the number of parts in shared memory until one is left. */
  private halve(accumulators: readonly Accumulator[]): ScheduledBody {
    const { fast, outerThreads, innerThreads } = this.threads;
    const stride = fast === 'inner' ? 1 : outerThreads;
    const { before, of } = this.arrays(accumulators, this.count);
    const half = this.fresh('half');
    const pass = (kind: Pass['kind'], each: Accumulator, at: IndexExpr): ScheduledStmt => ({
      kind,
      of: each.name,
      arrays: of.get(each)!,
      at,
    });
    const other = plus(LANE, times(variable(half), stride));
    return [
      ...before,
      ...accumulators.map((each) => pass('share', each, LANE)),
      BARRIER,
      {
        kind: 'loop',
        name: half,
        begin: whole(innerThreads / 2),
        ends: [whole(1)],
        pace: 'halve',
        body: [
          {
            kind: 'when',
            all: [{ kind: 'below', index: PART, limit: variable(half) }],
            body: accumulators.flatMap((each) => [
              pass('merge', each, other),
              pass('share', each, LANE),
            ]),
          },
          BARRIER,
        ],
      },
      ...accumulators.map((each) => pass('fetch', each, minus(LANE, PART, stride))),
    ];
  }

  /** Exchanges within each subgroup, then one part of each through shared memory. */
  private exchange(accumulators: readonly Accumulator[]): ScheduledBody {
    const { innerThreads } = this.threads;
    const { min, max } = this.target.subgroups!;
    const exchange = (among: IndexExpr): ScheduledStmt => ({
      kind: 'exchange',
      of: accumulators.map(({ name }) => name),
      among,
    });
    if (innerThreads <= min) return [exchange(whole(innerThreads))];
    const isKnown = min === max;
    const size = isKnown ? whole(min) : SUBGROUP;
    const parts = isKnown ? whole(innerThreads / min) : over(whole(innerThreads), size);
    const { before, of } = this.arrays(accumulators, this.count / min);
    const first = this.fresh('first');
    const pass = (kind: Pass['kind'], at: IndexExpr): ScheduledStmt[] =>
      accumulators.map((each) => ({ kind, of: each.name, arrays: of.get(each)!, at }));
    const shared: ScheduledBody = [
      exchange(size),
      ...before,
      {
        kind: 'when',
        all: [{ kind: 'first', index: modulo(LANE, size) }],
        body: pass('share', over(LANE, size)),
      },
      BARRIER,
      { kind: 'let', name: first, index: over(minus(LANE, PART), size) },
    ];
    // A subgroup that has a thread for each part exchanges them again.
    if (innerThreads <= min * min)
      return [
        ...shared,
        ...pass('fetch', plus(variable(first), modulo(LANE, parts))),
        exchange(parts),
      ];
    const i = this.fresh('i');
    return [
      ...shared,
      ...pass('fetch', variable(first)),
      {
        kind: 'loop',
        name: i,
        begin: whole(1),
        ends: [parts],
        pace: 1,
        body: pass('merge', plus(variable(first), variable(i))),
      },
    ];
  }
}
