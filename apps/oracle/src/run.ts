/**
 * @file Running all cases of a file in one mode, and what came of it.
 */
import { reset } from '@tessera/compile';
import { type TesseraError, isTesseraError } from '@tessera/shared';
import { findOp } from '@tessera/tensor/internal';
import {
  KNOWN_DEVIATIONS,
  type OracleCase,
  type OracleFile,
  type OracleMode,
  appliesTo,
  qualifiedName,
  runOracleCase,
} from '@tessera/testkit';

/** One case that did not pass. */
export interface Failure {
  readonly entry: OracleCase;
  /** Expected and got, a line each. */
  readonly lines: readonly string[];
}

/** An operator's cases that did not pass. */
export interface OpSummary {
  readonly op: string;
  readonly failed: number;
  readonly unsupported: number;
  readonly total: number;
  /** First line of the first failure. */
  readonly first: string;
}

/** Counts over a file; `worst` lists operators, most failures first. */
export interface OracleResult {
  readonly mode: OracleMode;
  readonly total: number;
  readonly passed: number;
  readonly failed: number;
  /** The operator does not exist, or not for the device or dtype. */
  readonly unsupported: number;
  readonly worst: readonly OpSummary[];
}

/** Operators listed in `worst`. */
const LISTED = 20;

/** Errors that say that something is not there (values on a device at that moment too), not that it is wrong. */
const UNSUPPORTED: readonly TesseraError['code'][] = [
  'kernel-missing',
  'dtype-unsupported',
  'data-async-only',
];

/** Whether an error says that something is not there. */
export function isUnsupported(error: unknown): boolean {
  return isTesseraError(error) && UNSUPPORTED.includes(error.code);
}

/** Runs the cases of operators whose name contains `filter`; tells each failure as it comes. */
export async function runFile(
  file: OracleFile,
  mode: OracleMode,
  filter: string | null,
  onFailure: (failure: Failure) => void,
): Promise<OracleResult> {
  const ops = new Map<string, { -readonly [K in keyof OpSummary]: OpSummary[K] }>();
  for (const entry of file.cases) {
    if (filter !== null && !entry.op.includes(filter)) continue;
    const op = findOp(qualifiedName(entry));
    if (!appliesTo(mode, op, entry)) continue;
    let summary = ops.get(entry.op);
    if (summary === undefined)
      ops.set(
        entry.op,
        (summary = { op: entry.op, failed: 0, unsupported: 0, total: 0, first: '' }),
      );
    summary.total++;
    const note = (lines: readonly string[]): void => {
      if (summary.first === '') summary.first = lines[0]!;
      onFailure({ entry, lines });
    };
    if (op === undefined) {
      summary.unsupported++;
      if (summary.unsupported === 1) note([`there is no operator ${entry.op}`]);
      continue;
    }
    try {
      const lines = await runOracleCase(file, op, entry, mode, KNOWN_DEVIATIONS[entry.op]);
      if (lines.length > 0) {
        summary.failed++;
        note(lines);
      }
    } catch (error) {
      if (isUnsupported(error)) summary.unsupported++;
      else summary.failed++;
      note([describe(error)]);
    }
    // Every case compiles a function of its own; none is called again.
    if (mode.startsWith('compiled')) reset();
  }
  const all = [...ops.values()];
  const sum = (count: (summary: OpSummary) => number): number =>
    all.reduce((total, summary) => total + count(summary), 0);
  const total = sum((s) => s.total);
  const failed = sum((s) => s.failed);
  const unsupported = sum((s) => s.unsupported);
  const worst = all
    .filter((s) => s.failed + s.unsupported > 0)
    .sort((a, b) => b.failed - a.failed || b.unsupported - a.unsupported)
    .slice(0, LISTED);
  return { mode, total, passed: total - failed - unsupported, failed, unsupported, worst };
}

function describe(error: unknown): string {
  if (isTesseraError(error)) return `${error.code}: ${error.message.split('\n')[0]}`;
  return error instanceof Error ? (error.stack ?? error.message) : String(error);
}
