/**
 * @file `pnpm bench dynamic`: what a size that was not seen before costs, on both devices, as JSON.
 *
 * Every workload runs through its sizes. The first call at a size is the new one; then calls at that size, and the
 * program run eagerly, take turns. The first five sizes are what a program learns from: ratios are medians of
 * those of the later sizes. Costs are of calls that are waited for.
 *
 * A new call comes after a pause, in which its inputs are made and the program runs eagerly, so caches are cold. At every
 * other size a call at the size before, which is known, comes in its place: it shows what the pause costs. Eager operators
 * meet new sizes too: `eagerNewMs` is their first call, which a loop whose sizes are all new (a growing cache) is made of.
 *
 * A row says what a new size may cost (`allowedMs`), one and a half times a repeated call and 5 µs for every operator that
 * was captured, and whether it costs no more (`isKept`).
 */
import { parseArgs } from 'node:util';
import { counters, isTesseraError } from '@tessera/shared';
import type { initWebGpu } from '@tessera/compile';
import { type Tensor, manualSeed, noGrad } from '@tessera/tensor';
import { openGpu } from '../engines/tessera.js';
import { median } from '../harness/statistics.js';
import {
  DYNAMIC_WORKLOADS,
  type DynamicDevice,
  type DynamicProgram,
  type DynamicWorkload,
  compiledStep,
} from './workloads.js';

/** Name on the command line. */
export const DYNAMIC = 'dynamic';

/** Sizes after which nothing should be compiled any more. */
const LEARNING = 5;

/** What a new size may cost: times a repeated call, and milliseconds per captured operator. */
const ALLOWED = { repeated: 1.5, perOperatorMs: 0.005 };

/** A workload on a device; milliseconds are medians over the sizes after the first five. */
export interface DynamicRow {
  readonly workload: string;
  readonly device: DynamicDevice;
  readonly sizes: number;
  /** Graphs that the tracer captured: one for all sizes at best. */
  readonly graphs: number;
  /** Operators that a call captures. */
  readonly operators: number;
  /** Code that backends made, during the first five sizes and after them. */
  readonly compilations: number;
  readonly lateCompilations: number;
  readonly newMs: number;
  /** What a new size may cost, and whether it costs no more. */
  readonly allowedMs: number;
  readonly isKept: boolean;
  /** A call at a known size after the pause that new ones come after. */
  readonly pausedMs: number;
  readonly repeatedMs: number;
  readonly eagerMs: number;
  /** The first eager call at a size. */
  readonly eagerNewMs: number;
  /**
   * A new size over a repeated one, and over a known one after a pause; a repeated one, and a new one, over repeated eager
   * ones, and a new one over a new eager one.
   */
  readonly newToRepeated: number;
  readonly newToPaused: number;
  readonly repeatedToEager: number;
  readonly newToEager: number;
  readonly newToEagerNew: number;
}

/** See the file header. */
export interface DynamicReport {
  /** Name of the adapter; why there is none otherwise. */
  readonly adapter: string;
  readonly rows: readonly DynamicRow[];
}

type Gpu = Awaited<ReturnType<typeof initWebGpu>>;

/** Code that backends made so far, for one size or for all. */
function compilations(): number {
  const { graphs = 0, shared = 0, templates = 0 } = counters.get('inductor');
  return graphs - shared + templates;
}

function captured(): number {
  return counters.get('frames').captured ?? 0;
}

function drop(result: Tensor | readonly Tensor[]): void {
  for (const tensor of Array.isArray(result) ? (result as Tensor[]) : [result as Tensor])
    tensor.dispose();
}

async function measure(
  workload: DynamicWorkload,
  small: boolean,
  gpu: Gpu | null,
  repeats: number,
): Promise<DynamicRow> {
  const device = gpu === null ? 'cpu' : 'wgpu';
  manualSeed(0);
  const program = workload.make(device, small);
  const reference: DynamicProgram = workload.make(device, small);
  const { step: run, operators } = compiledStep(workload, program);
  const eager: typeof run = workload.isInference
    ? (size, inputs) => noGrad(() => reference.step(size, inputs))
    : (size, inputs) => reference.step(size, inputs);
  const timed = async (
    step: typeof run,
    size: number,
    inputs: readonly Tensor[],
  ): Promise<number> => {
    const start = performance.now();
    const result = step(size, inputs);
    await gpu?.synchronize();
    const time = performance.now() - start;
    drop(result);
    return time;
  };
  const graphsBefore = captured();
  let made = 0;
  const late: {
    fresh: number | null;
    paused: number | null;
    again: number;
    eager: number;
    eagerNew: number;
  }[] = [];
  let lateMade = 0;
  let known: { readonly size: number; readonly inputs: readonly Tensor[] } | null = null;
  for (const [i, size] of workload.sizes(small).entries()) {
    const inputs = program.inputs(size);
    // Eager operators have code of their own, which is not what is counted here.
    const eagerNew = await timed(eager, size, inputs);
    await timed(eager, size, inputs);
    const before = compilations();
    const paused =
      i % 2 === 0 || known === null ? null : await timed(run, known.size, known.inputs);
    const first = await timed(run, size, inputs);
    const fresh = paused === null ? first : null;
    const now = compilations() - before;
    made += now;
    const again: number[] = [];
    const eagerly: number[] = [];
    for (let k = 0; k < repeats; k++) {
      again.push(await timed(run, size, inputs));
      eagerly.push(await timed(eager, size, inputs));
    }
    for (const tensor of known?.inputs ?? []) tensor.dispose();
    known = { size, inputs };
    if (i < LEARNING) continue;
    lateMade += now;
    late.push({ fresh, paused, again: median(again), eager: median(eagerly), eagerNew });
  }
  const captures = captured() - graphsBefore;
  const { size, inputs } = known!;
  const operatorCount = operators(size, inputs);
  for (const tensor of inputs) tensor.dispose();
  const fresh = late.flatMap((row) => (row.fresh === null ? [] : [{ ...row, fresh: row.fresh }]));
  const newMs = median(fresh.map((row) => row.fresh));
  const repeatedMs = median(late.map(({ again }) => again));
  const allowedMs = ALLOWED.repeated * repeatedMs + ALLOWED.perOperatorMs * operatorCount;
  const pausedMs = median(late.flatMap(({ paused }) => paused ?? []));
  return {
    workload: workload.name,
    device,
    sizes: workload.sizes(small).length,
    graphs: captures,
    operators: operatorCount,
    compilations: made - lateMade,
    lateCompilations: lateMade,
    newMs,
    allowedMs,
    isKept: newMs <= allowedMs,
    pausedMs,
    repeatedMs,
    eagerMs: median(late.map(({ eager }) => eager)),
    eagerNewMs: median(late.map(({ eagerNew }) => eagerNew)),
    newToRepeated: median(fresh.map((row) => row.fresh / row.again)),
    newToPaused: newMs / pausedMs,
    repeatedToEager: median(late.map(({ again, eager }) => again / eager)),
    newToEager: median(fresh.map((row) => row.fresh / row.eager)),
    newToEagerNew: median(fresh.map((row) => row.fresh / row.eagerNew)),
  };
}

/** Runs it. @param args what follows the name on the command line */
export async function dynamicReport(args: readonly string[]): Promise<DynamicReport> {
  const { values } = parseArgs({
    args: [...args],
    options: {
      dawn: { type: 'string' },
      'dawn-flag': { type: 'string', multiple: true, default: [] },
      device: { type: 'string', multiple: true, default: ['cpu', 'wgpu'] },
      workload: { type: 'string', multiple: true, default: [] },
      quick: { type: 'boolean', default: false },
    },
  });
  const wanted = DYNAMIC_WORKLOADS.filter(
    ({ name }) => values.workload.length === 0 || values.workload.includes(name),
  );
  const repeats = values.quick ? 2 : 7;
  const rows: DynamicRow[] = [];
  const add = async (gpu: Gpu | null, small: boolean): Promise<void> => {
    for (const workload of wanted) rows.push(await measure(workload, small, gpu, repeats));
  };
  if (values.device.includes('cpu')) await add(null, values.quick);
  let adapter = 'not asked for';
  if (values.device.includes('wgpu')) {
    try {
      const gpu = await openGpu({ dawn: values.dawn ?? null, dawnFlags: values['dawn-flag'] });
      adapter = gpu.adapterName;
      await add(gpu, values.quick || /swiftshader|llvmpipe/i.test(adapter));
      gpu.dispose();
    } catch (error) {
      if (!isTesseraError(error, 'device-unavailable')) throw error;
      adapter = error.message;
    }
  }
  return { adapter, rows };
}
