/**
 * @file Finds the best matmul tiles by measuring them on the device.
 *
 * Each matmul kernel of a plan is run on scratch memory with every tile that the device can run; winners go
 * to the backend's tile memory, which later loads of plans ask first. The memory is plain data, so it can
 * be kept per adapter and shape class.
 */
import {
  chooseMatmulTile,
  type ExecutionPlan,
  isReduction,
  type Launch,
  matmulClass,
  type MatmulKernel,
  matmulShape,
  type MatmulTile,
  shareOf,
  type TileMemory,
  tilesFor,
} from '@tessera/inductor-core';
import { SizeProgram } from '@tessera/shared';
import { foldedCount } from '../codegen/dispatch.js';
import { generateMatmul } from '../codegen/scheduled/matmul.js';
import { matrixCode } from '../codegen/matrices/matrix-code.js';
import type { WgslTarget } from '../codegen/target.js';
import { directVariant, type KernelVariant } from '../codegen/variant.js';
import { CheckReport } from './device/check-report.js';
import { KernelLaunch, type Residence } from './plan/launch.js';
import { ScalarBlocks } from './plan/scalar-blocks.js';
import type { WgpuRuntime } from './device/wgpu-runtime.js';

/** Measured times of one kernel. */
export interface TileTiming {
  /** Shape class under which the winner is remembered. */
  readonly shapeClass: string;
  /** The fastest, unless the one that is taken without measuring is about as fast. */
  readonly best: MatmulTile;
  /** Microseconds of one run, fastest first. */
  readonly timings: readonly { readonly tile: MatmulTile; readonly microseconds: number }[];
}

/** Dispatches of one measurement take so many ms, but are not fewer or more than this; their overhead is taken off. */
const MEASURED_MS = 1;
const REPEATS = { least: 8, most: 256 };
const ROUNDS = 3;

/** A tile that is measured faster than the one that would be taken anyway by less than this is not. */
const NOTICEABLE = 0.95;

/** Measures all tiles for the matmul kernels of a plan and remembers the winners. */
export async function tuneMatmuls(
  runtime: WgpuRuntime,
  plan: ExecutionPlan,
  memory: TileMemory,
): Promise<TileTiming[]> {
  const results: TileTiming[] = [];
  for (const [shapeClass, { launch, kernel }] of tunableProducts(plan, runtime.context.target)) {
    const elements = launch.buffers.map((index) => plan.buffers[index].numel);
    const timings = await timeTiles(runtime, kernel, elements);
    if (timings.length === 0) continue;
    const best = fastest(timings, chooseMatmulTile(matmulShape(kernel), runtime.context.target));
    memory.set(shapeClass, best);
    results.push({ shapeClass, best, timings });
  }
  return results;
}

/** Measures the products of a plan that nobody measured yet; resolves to whether other tiles are best than would be taken. */
export async function tuneUnmeasured(
  runtime: WgpuRuntime,
  plan: ExecutionPlan,
  memory: TileMemory,
  after: Promise<unknown>,
): Promise<boolean> {
  const { target } = runtime.context;
  const products = [...tunableProducts(plan, target)].filter(
    ([shapeClass]) => !memory.has(shapeClass),
  );
  if (products.length === 0) return false;
  await after;
  // Another plan may have measured some meanwhile.
  const launches = products.flatMap(([name, { launch }]) => (memory.has(name) ? [] : [launch]));
  await tuneMatmuls(runtime, { ...plan, launches }, memory);
  return products.some(([name, { kernel }]) => {
    const best = memory.get(name);
    return best !== undefined && best !== chooseMatmulTile(matmulShape(kernel), target);
  });
}

/**
 * The time of one of the `more` runs that samples `together` have beside `alone`. The least of either is taken: the
 * least difference would be that of the most disturbed sample alone.
 */
export function timeOfEach(
  alone: readonly number[],
  together: readonly number[],
  more: number,
): number {
  return Math.max(0, Math.min(...together) - Math.min(...alone)) / more;
}

/** The first of the timings, or what is `taken` anyway where that is about as fast. */
export function fastest(timings: TileTiming['timings'], taken: MatmulTile): MatmulTile {
  const known = timings.find(({ tile }) => tile === taken);
  const [first] = timings;
  return known === undefined || first.microseconds < NOTICEABLE * known.microseconds
    ? first.tile
    : taken;
}

/** A launch of each shape class of products that threads compute tile by tile. */
function tunableProducts(
  plan: ExecutionPlan,
  target: WgslTarget,
): Map<string, { readonly launch: Launch; readonly kernel: MatmulKernel }> {
  const products = new Map<string, { launch: Launch; kernel: MatmulKernel }>();
  for (const launch of plan.launches) {
    const kernel = plan.kernels[launch.kernel];
    if (kernel.kind !== 'matmul' || isReduction(kernel)) continue;
    const bySubgroups = matrixCode(target)?.tile(kernel, target) ?? null;
    if (bySubgroups !== null || shareOf(kernel) !== null) continue;
    const shapeClass = matmulClass(kernel);
    if (!products.has(shapeClass)) products.set(shapeClass, { launch, kernel });
  }
  return products;
}

async function timeTiles(
  runtime: WgpuRuntime,
  kernel: MatmulKernel,
  elements: readonly number[],
): Promise<TileTiming['timings'][number][]> {
  const { target } = runtime.context;
  const memory = kernel.params.map((param, i) =>
    runtime.allocate(elements[i] * runtime.itemSize(param.dtype)),
  );
  const residence: Residence = { memory, byte: memory.map(() => 0) };
  // Indices in scratch memory are arbitrary; nobody reads what is noted of them.
  const report = new CheckReport(runtime.context, runtime.stream);
  const zeros = kernel.scalars.map(() => 0);
  const timings: { tile: MatmulTile; microseconds: number }[] = [];
  for (const tile of tilesFor(target)) {
    const generate = (variant: KernelVariant) => generateMatmul(kernel, target, variant, { tile });
    const program = new SizeProgram([]);
    const { count, columns } = foldedCount(generate(directVariant(memory.length)).workgroups);
    const blocks = new ScalarBlocks(runtime.uniforms, runtime.stream, program);
    const launch = new KernelLaunch(
      runtime,
      kernel,
      { kernel: 0, buffers: memory.map((_, i) => i), scalars: kernel.scalars.map((_, i) => i) },
      generate,
      { count: program.slot(count), columns, times: program.slot(1) },
      blocks,
      report,
    );
    const numbers = { scalars: zeros, computed: program.run([]) };
    const run = async (count: number): Promise<number> => {
      const start = performance.now();
      blocks.begin();
      for (let i = 0; i < count; i++) launch.encode(residence, numbers);
      await runtime.synchronize();
      return performance.now() - start;
    };
    await run(1);
    const { least, most } = REPEATS;
    const each = (await run(least)) / least;
    const repeats = Math.min(most, Math.max(least, Math.ceil(MEASURED_MS / each)));
    const [alone, together]: [number[], number[]] = [[], []];
    for (let round = 0; round < ROUNDS; round++) {
      alone.push(await run(1));
      together.push(await run(1 + repeats));
    }
    timings.push({ tile, microseconds: timeOfEach(alone, together, repeats) * 1000 });
  }
  report.dispose();
  for (const part of memory) runtime.free(part);
  return timings.sort((a, b) => a.microseconds - b.microseconds);
}
