/**
 * @file The table: one block of lines for each workload, one line for each engine.
 */
import type { Outcome, WorkloadOutcome } from '../harness/outcome.js';
import type { Work } from '../harness/workload.js';
import { formatCompilations } from './compile-table.js';
import type { Report } from './report.js';

/** Marks figures from another machine. */
const RECORDED = '†';

/** A time with a unit that keeps it between 1 and 1000. */
export function formatTime(us: number): string {
  if (us < 1000) return `${digits(us)} µs`;
  if (us < 1e6) return `${digits(us / 1000)} ms`;
  return `${digits(us / 1e6)} s`;
}

/** Work in a time, as a rate; empty if the workload counts none. */
export function formatRate({ flop, bytes }: Work, us: number): string {
  if (flop !== undefined) return `${digits(flop / us / 1000)} GFLOP/s`;
  if (bytes !== undefined) return `${digits(bytes / us / 1000)} GB/s`;
  return '';
}

/** Three significant digits, or whole numbers. */
function digits(value: number): string {
  const decimals = value >= 100 ? 0 : value >= 10 ? 1 : 2;
  return value.toFixed(decimals);
}

const HEADER = ['', 'time', 'rate', '× tessera', 'first call', 'spread'];

function cells(outcome: Outcome, work: Work): string[] {
  const { engine } = outcome;
  switch (outcome.status) {
    case 'ok': {
      const { time, ratio, firstCallMs } = outcome;
      return [
        engine,
        formatTime(time.median),
        formatRate(work, time.median),
        ratio === null ? '' : digits(ratio.median),
        firstCallMs === null ? '' : formatTime(1000 * firstCallMs),
        `${(100 * time.spread).toFixed(0)} %`,
      ];
    }
    case 'recorded': {
      const { medianUs, ratio, firstCallMs } = outcome;
      return [
        `${engine} ${RECORDED}`,
        formatTime(medianUs),
        formatRate(work, medianUs),
        ratio === null ? '' : digits(ratio),
        firstCallMs === null ? '' : formatTime(1000 * firstCallMs),
        '',
      ];
    }
    default:
      return [engine];
  }
}

/** What stands in an engine's line in place of numbers. */
function remark(outcome: Outcome): string | null {
  if (outcome.status === 'ok' || outcome.status === 'recorded') return null;
  if (outcome.status === 'unsupported') return `– ${outcome.reason}`;
  return `${outcome.status.toUpperCase()}: ${outcome.reason}`;
}

/** The lines of a table whose columns are as wide as their widest cell; the first is left-aligned. */
function align(rows: readonly { cells: readonly string[]; remark: string | null }[]): string[] {
  const widths = HEADER.map((_, column) =>
    Math.max(...rows.map((row) => [...(row.cells[column] ?? '')].length)),
  );
  return rows.map((row) => {
    const padded = row.cells.map((cell, column) =>
      column === 0 ? cell.padEnd(widths[0]!) : cell.padStart(widths[column]!),
    );
    if (row.remark !== null) return `  ${padded[0]}  ${row.remark}`;
    return `  ${padded.join('   ')}`.trimEnd();
  });
}

/** Blocks of all workloads, their columns aligned with each other. */
export function formatWorkloads(workloads: readonly WorkloadOutcome[]): string {
  const rows = [{ cells: HEADER, remark: null as string | null }];
  for (const { outcomes, work } of workloads) {
    for (const outcome of outcomes) {
      rows.push({ cells: cells(outcome, work), remark: remark(outcome) });
    }
  }
  const [header, ...lines] = align(rows);
  const blocks: string[] = [header!];
  let next = 0;
  for (const { name, about, shapes, outcomes } of workloads) {
    blocks.push(`${name}  ${shapes}  ${about}`);
    blocks.push(...lines.slice(next, next + outcomes.length), '');
    next += outcomes.length;
  }
  return blocks.join('\n');
}

/** The whole report as text. */
export function formatReport(report: Report): string {
  const { environment, engines, device, threads, rounds, quick } = report;
  const lines = [
    `${environment.cpu}, ${environment.cores} cores · ${environment.platform} · Node ${environment.node}`,
    `device ${device}, ${threads} ${threads === 1 ? 'thread' : 'threads'}, ${rounds} rounds${quick ? ', quick: small shapes, not for comparison' : ''}`,
    ...engines.map(engineLine),
    '',
    ...(report.workloads.length > 0 ? [formatWorkloads(report.workloads)] : []),
    ...(report.compilations.length > 0 ? [formatCompilations(report.compilations)] : []),
  ];
  if (
    report.workloads.some(({ outcomes }) => outcomes.some(({ status }) => status === 'recorded'))
  ) {
    lines.push(`${RECORDED} recorded on another machine: see apps/bench/data/README.md`);
  }
  return lines.join('\n');
}

function engineLine({
  name,
  about,
  versions,
  threads,
  hardware,
  unavailable,
}: Report['engines'][number]): string {
  if (unavailable !== null) return `  ${name.padEnd(13)} not run: ${unavailable}`;
  const packages = Object.entries(versions).map(([key, version]) => `${key} ${version}`);
  const place = hardware ?? `${threads} ${threads === 1 ? 'thread' : 'threads'}`;
  return `  ${name.padEnd(13)} ${about} (${packages.join(', ')}; ${place})`;
}
