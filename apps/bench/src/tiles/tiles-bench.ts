/**
 * @file `pnpm bench tiles`: products in the tiles that the generator chooses, beside those that `mode: 'max-autotune'`
 * measures to be the fastest, as JSON; a table goes to stderr.
 *
 * Times are µs of a call with many in flight; both take turns, and the ratio is the median over the turns.
 */
import { parseArgs } from 'node:util';
import { compile } from '@tessera/compile';
import { type DType, noGrad } from '@tessera/tensor';
import { TesseraError } from '@tessera/shared';
import { CARD_FLAGS } from '../card/card-bench.js';
import { normal } from '../card/card-workload.js';
import { openGpu } from '../engines/tessera.js';
import { type Effort, type Gpu, keepBusy, timeRounds } from '../gpu/in-flight.js';
import { type Environment, describeEnvironment } from '../harness/environment.js';
import { median } from '../harness/statistics.js';
import { PRODUCT_SHAPES, type ProductShape, QUICK_SHAPES } from './product-shapes.js';

/** Name on the command line. */
export const TILES = 'tiles';

/** A product: µs in the chosen tile and in the measured one, and the first over the second. */
export interface TilesRow {
  readonly name: string;
  readonly chosen: number;
  readonly tuned: number;
  readonly ratio: number;
}

/** See the file header. */
export interface TilesReport {
  /** ISO 8601. */
  readonly date: string;
  readonly environment: Environment;
  readonly adapter: string;
  readonly dtype: DType;
  readonly rows: readonly TilesRow[];
  readonly geometricMean: number;
  readonly worst: number;
}

const DTYPES: readonly DType[] = ['float32', 'float16', 'bfloat16'];

const TURNS = 5;
/** Time that a turn should take, in ms. */
const TURN_MS = 15;
const BUSY_MS = 150;

async function measure(
  gpu: Gpu,
  shape: ProductShape,
  dtype: DType,
  quick: boolean,
): Promise<TilesRow> {
  const [a, b] = [normal(shape.a, dtype), normal(shape.b, dtype)];
  const rounds = (['default', 'max-autotune'] as const).map((mode) => {
    const multiply = compile((x: typeof a, y: typeof b) => shape.multiply(x, y), { mode });
    return () => noGrad(() => multiply(a, b).dispose());
  });
  const [chosen, tuned] = rounds as [() => void, () => void];
  // What other shapes of the class were measured to like counts for neither.
  gpu.backend.tiles.clear();
  chosen();
  tuned();
  await gpu.tuned();
  // Their winners are loaded now.
  for (const round of rounds) round();
  await gpu.synchronize();
  const effort = await effortFor(gpu, chosen, quick);
  await keepBusy(gpu, quick ? 0 : BUSY_MS);
  const times: [number, number][] = [];
  for (let turn = 0; turn < (quick ? 1 : TURNS); turn++) {
    const first = await timeRounds(gpu, effort, chosen);
    const second = await timeRounds(gpu, effort, tuned);
    times.push([first.microseconds, second.microseconds]);
  }
  a.dispose();
  b.dispose();
  return {
    name: shape.name,
    chosen: median(times.map(([time]) => time)),
    tuned: median(times.map(([, time]) => time)),
    ratio: median(times.map(([first, second]) => first / second)),
  };
}

async function effortFor(gpu: Gpu, round: () => void, quick: boolean): Promise<Effort> {
  if (quick) return { warmUp: 1, rounds: 2, samples: 1, awaited: 1 };
  const start = performance.now();
  for (let i = 0; i < 5; i++) round();
  await gpu.synchronize();
  const each = (performance.now() - start) / 5;
  const rounds = Math.min(400, Math.max(5, Math.ceil(TURN_MS / each)));
  return { warmUp: rounds, rounds, samples: 3, awaited: 1 };
}

/** The rows as a table, the worst first. */
export function tilesTable({ adapter, rows, geometricMean, worst }: TilesReport): string {
  const width = Math.max(...rows.map(({ name }) => name.length));
  const lines = [...rows]
    .sort((a, b) => b.ratio - a.ratio)
    .map(
      ({ name, chosen, tuned, ratio }) =>
        `${name.padEnd(width)}  ${chosen.toFixed(1).padStart(8)}  ${tuned.toFixed(1).padStart(8)}  ${ratio.toFixed(2)}`,
    );
  const mean = `geometric mean ${geometricMean.toFixed(3)}, worst ${worst.toFixed(2)}`;
  return [`${adapter}; µs chosen, tuned, ratio`, ...lines, mean].join('\n');
}

/** Runs it. @param args what follows the name on the command line @throws invalid-argument */
export async function tilesReport(args: readonly string[]): Promise<TilesReport> {
  const { values } = parseArgs({
    args: [...args],
    options: {
      dawn: { type: 'string' },
      'dawn-flag': { type: 'string', multiple: true, default: [] },
      dtype: { type: 'string', default: 'float32' },
      quick: { type: 'boolean', default: false },
    },
  });
  const { quick } = values;
  const dtype = DTYPES.find((name) => name === values.dtype);
  if (dtype === undefined)
    throw new TesseraError('invalid-argument', `There are no products of '${values.dtype}' here.`, {
      hints: [`--dtype is ${DTYPES.join(', ')}.`],
    });
  const given = values['dawn-flag'];
  const dawnFlags = given.length > 0 ? given : CARD_FLAGS;
  const gpu = await openGpu({ dawn: values.dawn ?? null, dawnFlags });
  await keepBusy(gpu, quick ? 0 : 2000);
  const rows: TilesRow[] = [];
  for (const shape of quick ? QUICK_SHAPES : PRODUCT_SHAPES) {
    rows.push(await measure(gpu, shape, dtype, quick));
    if (!quick) process.stderr.write(`${JSON.stringify(rows.at(-1))}\n`);
  }
  const report = {
    date: new Date().toISOString(),
    environment: describeEnvironment(),
    adapter: gpu.adapterName,
    dtype,
    rows,
    geometricMean: Math.exp(
      rows.reduce((sum, { ratio }) => sum + Math.log(ratio), 0) / rows.length,
    ),
    worst: Math.max(...rows.map(({ ratio }) => ratio)),
  };
  gpu.dispose();
  return report;
}
