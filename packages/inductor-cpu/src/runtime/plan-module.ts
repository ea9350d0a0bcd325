/**
 * @file The WebAssembly module of a plan: its kernels and the code that runs them in order.
 *
 * Exports `bind` (copies addresses and scalars into the argument blocks), `segment_0` … (runs the
 * launches between two extern calls; its argument says whether to use the pool, its result is the number,
 * counted from one, of a launch in which a check failed, or 0) and `help` (what a worker thread calls). A plan without extern calls is one segment whose function also binds, so a run
 * is one call.
 */
import { TesseraError, sizeHint } from '@tessera/shared';
import { checksOf, type Launch } from '@tessera/inductor-core';
import { call, global, i32, memory, op } from '../emit/code.js';
import type { Code, DefinedFunction, Global } from '../emit/types.js';
import { WasmFunction } from '../emit/wasm-function.js';
import { KEPT, checksOffset, scalarsOffset, type WasmKernel } from '../wasm-kernel.js';
import { helpFunction, parallelFunction, workFunction } from './parallel-code.js';
import type { PlanLayout, PlanOutline } from './plan-layout.js';

/** Address of the plan block. */
export const PLAN_BASE: Global<'i32'> = global('runtime.plan_block', i32(0));

/** Launches worth sharing take at least this long on one thread. */
const PARALLEL_NS = 4000;
/** Threads claim pieces of at least this much work. */
const CHUNK_NS = 1500;

/** Waiting this long for other threads is ordinary. */
const PATIENCE_FLOOR_NS = 10_000;

/** A run of launches without extern calls between them, or one extern call. */
export type Segment =
  | { readonly kind: 'code'; readonly launches: readonly number[] }
  | { readonly kind: 'extern'; readonly launch: number };

/** Functions of a plan, not yet assembled. */
export interface PlanFunctions {
  readonly segments: readonly Segment[];
  /** `bind`, the segments and, when anything is worth sharing, `help`. */
  readonly exports: readonly DefinedFunction[];
  /** Estimated single-thread time of the launches that are worth sharing, in nanoseconds; and how many they are. */
  readonly parallelNs: number;
  readonly parallelLaunches: number;
}

/** Name of the function of code segment `index`. */
export function segmentName(index: number): string {
  return `segment_${index}`;
}

/** Builds the functions. `codes[i]` belongs to kernel i and is null for extern kernels. */
export function planFunctions(
  plan: PlanOutline,
  codes: readonly (WasmKernel | null)[],
  layout: PlanLayout,
): PlanFunctions {
  const segments = splitSegments(plan);
  const shared = plan.launches.filter((launch) => isWorthSharing(codes[launch.kernel]));
  const parallelNs = shared.reduce((total, launch) => total + costOf(codes[launch.kernel]!), 0);
  const bind = bindFunction(plan, layout);
  const work = shared.length === 0 ? null : workFunction(dispatchFunction(codes));
  const parallel = work === null ? null : parallelFunction(work);
  const exports: DefinedFunction[] = [bind];
  segments.forEach((segment, index) => {
    if (segment.kind === 'extern') return;
    const f = new WasmFunction(segmentName(index), { parallel: 'i32' }, 'i32');
    if (segments.length === 1) f.do(call(bind));
    for (const launch of segment.launches) {
      emitLaunch(f, plan.launches[launch], launch, layout, codes, parallel);
      stopIfFailed(f, plan, launch, layout.launches[launch]);
    }
    f.return(i32(0));
    exports.push(f);
  });
  if (work !== null) exports.push(helpFunction(work));
  return { segments, exports, parallelNs, parallelLaunches: shared.length };
}

/** Items that a symbolic number of them is taken to be at least, when code is chosen. */
const MANY_ITEMS = 64;

function itemsOf({ workItems }: WasmKernel): number {
  return typeof workItems === 'number' ? workItems : Math.max(sizeHint(workItems), MANY_ITEMS);
}

function costOf(code: WasmKernel): number {
  return itemsOf(code) * code.costPerItem;
}

/** Whether launches of a kernel may be shared among threads; of a symbolic number of items, if they are enough. */
export function isWorthSharing(code: WasmKernel | null): code is WasmKernel {
  return (
    code !== null && code.needsSerial !== true && itemsOf(code) > 1 && costOf(code) >= PARALLEL_NS
  );
}

/** The fewest items of a kernel that are worth sharing. */
export function fewestShared({ costPerItem }: WasmKernel): number {
  return Math.max(2, Math.ceil(PARALLEL_NS / costPerItem));
}

function splitSegments(plan: PlanOutline): Segment[] {
  const segments: Segment[] = [];
  let open: number[] = [];
  const close = (): void => {
    if (open.length > 0) segments.push({ kind: 'code', launches: open });
    open = [];
  };
  plan.launches.forEach((launch, index) => {
    if (plan.kernels[launch.kernel].kind === 'extern') {
      close();
      segments.push({ kind: 'extern', launch: index });
    } else {
      open.push(index);
    }
  });
  close();
  return segments;
}

function emitLaunch(
  f: WasmFunction<'i32'>,
  launch: Launch,
  index: number,
  layout: PlanLayout,
  codes: readonly (WasmKernel | null)[],
  parallel: WasmFunction | null,
): void {
  const code = codes[launch.kernel];
  if (code === null || code.workItems === 0) return;
  const { workItems } = code;
  const args = (): Code<'i32'> => op('i32.add', PLAN_BASE, i32(layout.launches[index]));
  const items = (): Code<'i32'> =>
    typeof workItems === 'number'
      ? i32(workItems)
      : memory('i32.load', layout.items + 4 * index, PLAN_BASE);
  const serial = (): void => {
    f.setGlobal(KEPT, i32(0));
    f.do(call(code.func, args(), i32(0), items()));
  };
  if (parallel === null || !isWorthSharing(code)) {
    serial();
    return;
  }
  const patience = Math.min(2 ** 30, Math.max(PATIENCE_FLOOR_NS, Math.ceil(costOf(code))));
  const minChunk = Math.max(1, Math.ceil(CHUNK_NS / code.costPerItem));
  const isShared =
    typeof workItems === 'number'
      ? f.param('parallel')
      : op('i32.and', f.param('parallel'), op('i32.ge_u', items(), i32(fewestShared(code))));
  f.if(
    isShared,
    () => f.do(call(parallel, i32(launch.kernel), args(), items(), i32(minChunk), i32(patience))),
    serial,
  );
}

/** After a launch with checks: what failed is not built upon. */
function stopIfFailed(
  f: WasmFunction<'i32'>,
  plan: PlanOutline,
  index: number,
  argsOffset: number,
): void {
  const launch = plan.launches[index];
  if (checksOf(plan.kernels[launch.kernel]).list.length === 0) return;
  const report = argsOffset + checksOffset(launch.buffers.length, launch.scalars.length);
  f.if(memory('i32.load', report, PLAN_BASE), () => f.return(i32(index + 1)));
}

/** `dispatch(kernel, args, begin, end)`: calls a kernel by number, by binary search. */
function dispatchFunction(codes: readonly (WasmKernel | null)[]): WasmFunction {
  const f = new WasmFunction('dispatch', { kernel: 'i32', args: 'i32', begin: 'i32', end: 'i32' });
  const [kernel, args, begin, end] = ['kernel', 'args', 'begin', 'end'].map((name) =>
    f.param(name),
  );
  const candidates = codes.flatMap((code, index) =>
    code !== null && isWorthSharing(code) ? [{ code, index }] : [],
  );
  const choose = (from: number, to: number): void => {
    if (to - from === 1) {
      f.do(call(candidates[from].code.func, args, begin, end));
      return;
    }
    const middle = (from + to) >>> 1;
    f.if(
      op('i32.lt_u', kernel, i32(candidates[middle].index)),
      () => choose(from, middle),
      () => choose(middle, to),
    );
  };
  choose(0, candidates.length);
  return f;
}

function bindFunction(plan: PlanOutline, layout: PlanLayout): WasmFunction {
  const f = new WasmFunction('bind', {});
  const base = f.let('base', PLAN_BASE);
  const inArena: { readonly at: number; readonly offset: () => Code<'i32'> }[] = [];
  plan.launches.forEach((launch, index) => {
    const args = layout.launches[index];
    launch.buffers.forEach((buffer, position) => {
      const source = plan.buffers[buffer]?.source;
      if (source === undefined)
        throw new TesseraError(
          'plan-invalid',
          `Plan ${plan.name}: launch ${index} names buffer ${buffer}, which does not exist.`,
        );
      const at = args + 4 * position;
      if (source.kind === 'arena') inArena.push({ at, offset: () => i32(source.offset) });
      else if (source.kind === 'scratch')
        inArena.push({ at, offset: () => memory('i32.load', layout.places + 4 * buffer, base) });
      if (source.kind !== 'input' && source.kind !== 'output') return;
      const slot = (source.kind === 'input' ? layout.inputs : layout.outputs) + 4 * source.index;
      f.do(memory('i32.store', at, base, memory('i32.load', slot, base)));
    });
    launch.scalars.forEach((scalar, position) => {
      const at = args + scalarsOffset(launch.buffers.length) + 8 * position;
      f.do(memory('f64.store', at, base, memory('f64.load', layout.scalars + 8 * scalar, base)));
    });
  });
  if (inArena.length > 0) {
    const arena = f.let('arena', memory('i32.load', layout.arena, base));
    f.if(op('i32.ne', arena, memory('i32.load', layout.boundArena, base)), () => {
      f.do(memory('i32.store', layout.boundArena, base, arena));
      for (const { at, offset } of inArena)
        f.do(memory('i32.store', at, base, op('i32.add', arena, offset())));
    });
  }
  return f;
}
