/**
 * @file `pnpm bench card`: workloads of a large card on WebGPU beside PyTorch's recorded figures, as JSON; the table goes to
 * stderr. Times are µs per round with many rounds in flight, as PyTorch's pipelined figures are.
 */
import { parseArgs } from 'node:util';
import { TesseraError } from '@tessera/shared';
import torch from '../../data/torch-h200.json' with { type: 'json' };
import { openGpu } from '../engines/tessera.js';
import { type Effort, type Gpu, type RoundTimes, keepBusy, timeRounds } from '../gpu/in-flight.js';
import { type Environment, describeEnvironment } from '../harness/environment.js';
import { messageOf } from '../harness/start-program.js';
import type { CardWorkload } from './card-workload.js';
import { MODEL_ROWS } from './models.js';
import { OPERATOR_ROWS } from './operators.js';

/** Name on the command line. */
export const CARD = 'card';

/** Dawn gives float16 and subgroup matrices on NVIDIA only where it is told to. */
export const CARD_FLAGS: readonly string[] = [
  'enable-dawn-features=allow_unsafe_apis,vulkan_enable_f16_on_nvidia',
];

/** All rows. */
export const CARD_ROWS: readonly CardWorkload[] = [...OPERATOR_ROWS, ...MODEL_ROWS];

/** A row: what was measured, and what PyTorch takes. */
export interface CardRow extends Partial<RoundTimes> {
  readonly name: string;
  readonly about: string;
  /** µs until the first result is there. */
  readonly firstCallMicroseconds?: number;
  /** PyTorch's figures, in flight; null where there are none. */
  readonly torchEager: number | null;
  readonly torchCompiled: number | null;
  readonly goal: number | null;
  /** Over PyTorch's best. */
  readonly ratio?: number;
  /** Why nothing was measured. */
  readonly error?: string;
}

/** See the file header. */
export interface CardReport {
  /** ISO 8601. */
  readonly date: string;
  readonly environment: Environment;
  readonly adapter: string;
  readonly torch: { readonly version: string; readonly device: string };
  readonly rows: readonly CardRow[];
}

/** Time that a row's rounds should take, in ms. */
const SAMPLE_MS = 30;

/** Work before a row, which brings the device to its working clock, in ms. */
const BUSY_MS = 700;

type Figures = Readonly<Record<string, number | null | undefined>>;

/** The smallest of PyTorch's figures whose names end as given. */
function best(figures: Figures, names: readonly string[]): number | null {
  const found = names.map((name) => figures[name]).filter((us) => typeof us === 'number');
  return found.length === 0 ? null : Math.min(...found);
}

function recorded(name: string): Pick<CardRow, 'torchEager' | 'torchCompiled'> {
  const figures = (torch.results as Readonly<Record<string, object>>)[name] as Figures | undefined;
  if (figures === undefined) return { torchEager: null, torchCompiled: null };
  const compiled = ['default', 'whole_step', 'reduce-overhead'];
  return {
    torchEager: best(figures, ['eager_pipelined_us']),
    torchCompiled: best(
      figures,
      compiled.map((mode) => `${mode}_pipelined_us`),
    ),
  };
}

/** As many rounds as take about the time of a sample. */
async function effortFor(gpu: Gpu, round: () => void, isSmall: boolean): Promise<Effort> {
  if (isSmall) return { warmUp: 2, rounds: 2, samples: 2, awaited: 2 };
  for (let i = 0; i < 5; i++) round();
  await gpu.synchronize();
  const start = performance.now();
  for (let i = 0; i < 5; i++) round();
  await gpu.synchronize();
  const rounds = Math.min(
    400,
    Math.max(5, Math.ceil((SAMPLE_MS * 5) / (performance.now() - start))),
  );
  return { warmUp: Math.max(rounds, 30), rounds, samples: 11, awaited: Math.min(rounds, 50) };
}

async function measure(gpu: Gpu, row: CardWorkload, isSmall: boolean): Promise<CardRow> {
  const { name, about, goal } = row;
  const known = { name, about, goal, ...recorded(name) };
  try {
    const round = row.prepare(isSmall);
    await gpu.synchronize();
    const start = performance.now();
    round();
    await gpu.synchronize();
    const firstCallMicroseconds = (performance.now() - start) * 1000;
    // While the first call compiled, the device idled.
    await keepBusy(gpu, isSmall ? 0 : BUSY_MS);
    const times = await timeRounds(gpu, await effortFor(gpu, round, isSmall), round);
    const bar = Math.min(known.torchEager ?? Infinity, known.torchCompiled ?? Infinity);
    const ratio = isSmall || bar === Infinity ? {} : { ratio: times.microseconds / bar };
    return { ...known, firstCallMicroseconds, ...times, ...ratio };
  } catch (error) {
    return { ...known, error: messageOf(error) };
  }
}

const shown = (us: number | null | undefined): string =>
  us === null || us === undefined ? '–' : us.toFixed(us < 100 ? 1 : 0);

/** The rows as a table. */
export function cardTable({
  adapter,
  torch: peer,
  rows,
}: Pick<CardReport, 'adapter' | 'torch' | 'rows'>): string {
  const head = [
    'workload',
    'in flight',
    'awaited',
    'CPU',
    'eager',
    'compile',
    'ratio',
    'goal',
    'first, ms',
  ];
  const body = rows.map((row) =>
    row.error === undefined
      ? [
          row.name,
          shown(row.microseconds),
          shown(row.awaitedMicroseconds),
          shown(row.cpuMicroseconds),
          shown(row.torchEager),
          shown(row.torchCompiled),
          row.ratio?.toFixed(2) ?? '–',
          shown(row.goal),
          ((row.firstCallMicroseconds ?? 0) / 1000).toFixed(0),
        ]
      : [row.name, row.error],
  );
  const widths = head.map((title, i) =>
    Math.max(
      title.length,
      ...body.filter((cells) => cells.length > 2).map((cells) => cells[i]!.length),
    ),
  );
  const line = (cells: readonly string[]): string =>
    cells
      .map((cell, i) => (i === 0 ? cell.padEnd(widths[i]!) : cell.padStart(widths[i]!)))
      .join('  ');
  return [
    `${adapter}; PyTorch ${peer.version} on ${peer.device}; µs`,
    line(head),
    ...body.map(line),
  ].join('\n');
}

/** Runs it. @param args what follows the name on the command line @throws invalid-argument */
export async function cardReport(args: readonly string[]): Promise<CardReport> {
  const { values } = parseArgs({
    args: [...args],
    options: {
      dawn: { type: 'string' },
      'dawn-flag': { type: 'string', multiple: true, default: [] },
      row: { type: 'string', multiple: true, default: [] },
      quick: { type: 'boolean', default: false },
    },
  });
  const known = CARD_ROWS.map(({ name }) => name);
  for (const name of values.row)
    if (!known.includes(name))
      throw new TesseraError('invalid-argument', `There is no row '${name}'.`, {
        hints: [`Rows are ${known.join(', ')}.`],
      });
  const given = values['dawn-flag'];
  const dawnFlags = given.length > 0 ? given : CARD_FLAGS;
  const gpu = await openGpu({ dawn: values.dawn ?? null, dawnFlags });
  const rows: CardRow[] = [];
  for (const row of CARD_ROWS) {
    if (values.row.length > 0 && !values.row.includes(row.name)) continue;
    rows.push(await measure(gpu, row, values.quick));
    if (!values.quick) process.stderr.write(`${JSON.stringify(rows.at(-1))}\n`);
  }
  const report = {
    date: new Date().toISOString(),
    environment: describeEnvironment(),
    adapter: gpu.adapterName,
    torch: { version: torch.torch, device: torch.device },
    rows,
  };
  gpu.dispose();
  return report;
}
