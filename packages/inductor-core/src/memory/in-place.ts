/**
 * @file Which results of a kernel may overwrite one of its inputs.
 *
 * Allowed where every load of the input is at the index of the store, and no statement after the store
 * loads it: then each element is read only by the point that overwrites it, before it does.
 */
import type { BodyStore, GroupBody, LoopBody, MatmulBody } from '../kernels/group-body.js';
import { mayTakeTwoPasses } from '../kernels/loop-body.js';
import type { Expr } from '../ir/expr.js';
import type { IndexExpr } from '../ir/index-expr.js';
import { postorder } from '../ir/walk.js';
import type { IrBuffer } from '../lower/ir-node.js';
import { extentOf, numelOf } from '../lower/shape-math.js';

/** `output` may live in the memory of `input`. */
export interface Reuse {
  readonly input: string;
  readonly output: string;
}

interface Step {
  readonly value: Expr;
  readonly store: BodyStore | null;
  /** Last step during which the value may be computed (again), if not this one. */
  readonly until?: number;
}

/** Statements in the order in which they run at one point. */
function stepsOf(body: LoopBody | MatmulBody): Step[] {
  if (body.kind === 'matmul')
    return [
      { value: body.a, store: null },
      { value: body.b, store: null },
      ...body.stores.map((store) => ({ value: store.value, store })),
    ];
  const steps: Step[] = [];
  for (const stage of body.stages) {
    const end = steps.length + stage.reduces.length + stage.stores.length;
    const twice = stage.reduces.some(mayTakeTwoPasses);
    for (const { value } of stage.reduces) {
      steps.push({ value, store: null, ...(twice ? { until: end } : {}) });
    }
    for (const store of stage.stores) steps.push({ value: store.value, store });
  }
  return steps;
}

interface Use {
  /** The one index at which the buffer is loaded, or null if there are several. */
  index: IndexExpr | null;
  /** Last step that loads it. */
  last: number;
}

function usesOf(steps: readonly Step[]): Map<string, Use> {
  const uses = new Map<string, Use>();
  steps.forEach(({ value, until }, at) => {
    const last = until ?? at;
    for (const expr of postorder([value])) {
      if (expr.kind !== 'load') continue;
      const use = uses.get(expr.buf);
      if (use === undefined) uses.set(expr.buf, { index: expr.index, last });
      else {
        use.last = Math.max(use.last, last);
        if (use.index !== expr.index) use.index = null;
      }
    }
  });
  return uses;
}

function dense(buffer: IrBuffer): boolean {
  return extentOf(buffer.sizes, buffer.strides) === numelOf(buffer.sizes);
}

/** Pairs of a dying input and a fresh output that may share memory; each buffer at most once. */
export function reusableInputs(
  body: GroupBody,
  buffers: ReadonlyMap<string, IrBuffer>,
  dying: (name: string) => boolean,
  fresh: (name: string) => boolean,
): Reuse[] {
  // Rows of attention read each other's operands, and so do units of a recurrence.
  if (body.kind === 'attention' || body.kind === 'recurrence') return [];
  const steps = stepsOf(body);
  const uses = usesOf(steps);
  const operandLoads =
    body.kind === 'matmul' ? new Set(usesOf(steps.slice(0, 2)).keys()) : new Set<string>();
  const taken = new Set<string>();
  const result: Reuse[] = [];
  steps.forEach(({ store }, at) => {
    if (store === null || !fresh(store.buffer.name) || taken.has(store.buffer.name)) return;
    for (const [name, use] of uses) {
      if (
        taken.has(name) ||
        use.index !== store.index ||
        use.last > at ||
        operandLoads.has(name) ||
        !dying(name)
      )
        continue;
      const input = buffers.get(name)!;
      const same =
        input.dtype === store.buffer.dtype &&
        numelOf(input.sizes) === numelOf(store.buffer.sizes) &&
        dense(input) &&
        dense(store.buffer);
      if (!same) continue;
      taken.add(name);
      taken.add(store.buffer.name);
      result.push({ input: name, output: store.buffer.name });
      return;
    }
  });
  return result;
}
