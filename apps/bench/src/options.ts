/**
 * @file Command line of the benchmark.
 */
import { availableParallelism } from 'node:os';
import { parseArgs } from 'node:util';
import { TesseraError } from '@tessera/shared';
import { COMPILER_BENCHES } from './compiler/index.js';
import { COMPILE_SUBJECTS, COMPILE_TIME, type CompileSubject } from './compile-time/subjects.js';
import { CARD } from './card/card-bench.js';
import { DYNAMIC } from './dynamic/dynamic-bench.js';
import { FRAMES } from './frames/frames-bench.js';
import { GPT2_DATA_PARALLEL } from './distributed/gpt2-report.js';
import { DISTRIBUTED } from './distributed/report.js';
import { GENERATE } from './generate/generate-bench.js';
import { GPU_STEADY } from './gpu/steady.js';
import { LAYOUT } from './layout/layout-bench.js';
import { PEERS } from './engines/index.js';
import type { Device, Workload } from './harness/workload.js';
import { WORKLOADS, selectWorkloads } from './workloads/index.js';

/** What to run. */
export interface BenchOptions {
  readonly workloads: readonly Workload[];
  /** Models whose compilation is timed. */
  readonly compilations: readonly CompileSubject[];
  readonly device: Device;
  readonly threads: number;
  readonly peers: readonly string[];
  /** File for the report as JSON, `-` for stdout, or null. */
  readonly json: string | null;
  /** File for the report with plots, or null. */
  readonly html: string | null;
  /** Null for the default. */
  readonly rounds: number | null;
  readonly quick: boolean;
  readonly backend: string;
  readonly dawn: string | null;
  readonly dawnFlags: readonly string[];
}

/** What the program does with its arguments. */
export type Command = { readonly run: BenchOptions } | { readonly print: string };

const SYNOPSIS =
  'pnpm bench [workload…] [--device cpu|wgpu] [--threads N] [--peers NAME,…] [--json FILE] [--html FILE] [--rounds N] [--quick]';

/** The help text. */
export function usage(): string {
  return `usage: ${SYNOPSIS}

Times workloads compiled by Tessera, side by side with peers. Exits with 1 if any result is wrong.

  --device cpu|wgpu   where to run; also chooses sizes (default cpu)
  --threads N         threads of CPU engines (default: one per core)
  --peers NAME,…      ${PEERS.map(({ name }) => name).join(', ')}, or all
  --json FILE         writes the report as JSON; - writes it to stdout
  --html FILE         writes the report with plots, as one file for a browser
  --rounds N          samples for each engine (default 15)
  --quick             small shapes and few samples: shows whether everything works
  --backend NAME      backend of compile() (default inductor)
  --dawn PATH         Dawn's Node binding (dawn.node), where the package webgpu is not installed
  --dawn-flag FLAG    flag for Dawn, may be repeated
  --list              lists workloads and peers

${COMPILER_BENCHES.join(' ')}: the compiler's own costs and decisions, as JSON (no options)
${DISTRIBUTED}: all-reduces of 2 and 4 processes over MPI, as JSON (--quick)
${GPT2_DATA_PARALLEL}: GPT-2 124M on one card and on several, one rank each, as JSON (--ranks, --batch, --steps,
--dawn, --dawn-flag, --quick)
${CARD}: workloads of a large card on WebGPU beside PyTorch's recorded figures, as JSON (--row, --dawn, --dawn-flag, --quick)
${GPU_STEADY}: what loops on WebGPU cost and make, as JSON (--dawn, --dawn-flag, --quick)
${DYNAMIC}: programs whose sizes change from call to call, as JSON (--device, --workload, --dawn, --dawn-flag, --quick)
${GENERATE}: tokens per second of language models on the CPU, as JSON (--model, --format, --quick)
${LAYOUT}: convolution networks in eager's layout and channels last, as JSON (--device, --network, --dawn,
--dawn-flag, --quick)
${FRAMES}: how long a page stands still while a transformer compiles, as JSON (--device, --use, --rounds, --quick)`;
}

/** The listing of `--list`. */
export function listing(): string {
  const workloads = WORKLOADS.map(
    ({ name, about, devices }) => `  ${name.padEnd(16)} ${devices.join(', ').padEnd(9)} ${about}`,
  );
  const peers = PEERS.map(({ name, about }) => `  ${name.padEnd(16)} ${about}`);
  const models = COMPILE_SUBJECTS.map(({ name, about }) => `  ${name.padEnd(26)} ${about}`);
  return [
    'workloads',
    ...workloads,
    '',
    `compile times (${COMPILE_TIME}: all of them)`,
    ...models,
    '',
    'peers',
    ...peers,
  ].join('\n');
}

function invalid(message: string): TesseraError {
  return new TesseraError('invalid-argument', message, { hints: [`usage: ${SYNOPSIS}`] });
}

function positive(name: string, text: string): number {
  const value = Number(text);
  if (!Number.isInteger(value) || value < 1) {
    throw invalid(`--${name} must be a positive whole number, not '${text}'.`);
  }
  return value;
}

function peersOf(text: string | undefined): string[] {
  if (text === undefined || text === '') return [];
  const known = PEERS.map(({ name }) => name);
  if (text === 'all') return known;
  const names = [...new Set(text.split(','))];
  for (const name of names) {
    if (known.includes(name)) continue;
    throw invalid(`There is no peer '${name}'. Peers: ${known.join(', ')}.`);
  }
  return names;
}

/** Reads the arguments. @throws invalid-argument */
export function readOptions(argv: readonly string[]): Command {
  let parsed;
  try {
    parsed = parseArgs({
      args: [...argv],
      allowPositionals: true,
      options: {
        device: { type: 'string', default: 'cpu' },
        threads: { type: 'string' },
        peers: { type: 'string' },
        json: { type: 'string' },
        html: { type: 'string' },
        rounds: { type: 'string' },
        quick: { type: 'boolean', default: false },
        backend: { type: 'string', default: 'inductor' },
        dawn: { type: 'string' },
        'dawn-flag': { type: 'string', multiple: true, default: [] },
        list: { type: 'boolean', default: false },
        help: { type: 'boolean', short: 'h', default: false },
      },
    });
  } catch (error) {
    throw invalid((error as Error).message);
  }
  const { values, positionals } = parsed;
  if (values.help) return { print: usage() };
  if (values.list) return { print: listing() };
  const { device } = values;
  if (device !== 'cpu' && device !== 'wgpu') {
    throw invalid(`--device must be cpu or wgpu, not '${device}'.`);
  }
  const compilations = COMPILE_SUBJECTS.filter(
    ({ name }) => positionals.includes(name) || positionals.includes(COMPILE_TIME),
  );
  const others = positionals.filter(
    (name) => name !== COMPILE_TIME && !compilations.some((subject) => subject.name === name),
  );
  const onlyCompiles = others.length === 0 && compilations.length > 0;
  return {
    run: {
      workloads: onlyCompiles ? [] : selectWorkloads(others, device),
      compilations,
      device,
      threads:
        values.threads === undefined ? availableParallelism() : positive('threads', values.threads),
      peers: peersOf(values.peers),
      json: values.json ?? null,
      html: values.html ?? null,
      rounds: values.rounds === undefined ? null : positive('rounds', values.rounds),
      quick: values.quick,
      backend: values.backend,
      dawn: values.dawn ?? null,
      dawnFlags: values['dawn-flag'],
    },
  };
}
