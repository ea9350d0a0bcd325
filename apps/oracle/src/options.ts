/**
 * @file Command line of the oracle runner.
 */
import { ORACLE_MODES, type OracleMode } from '@tessera/testkit';
import { oneOf, readCommandLine } from './command-line.js';

/** What to run. */
export interface OracleOptions {
  /** Recorded calls; null for those that the repository carries. */
  readonly file: string | null;
  readonly mode: OracleMode;
  /** Only operators whose name contains this. */
  readonly op: string | null;
  /** Kernels that run eager calls. */
  readonly kernels: 'reference' | 'inductor';
  /** Print only the JSON line. */
  readonly json: boolean;
  /** Where to write the file packed, instead of running it. */
  readonly pack: string | null;
}

export const USAGE: string = `usage: pnpm oracle [--file F] [--mode ${ORACLE_MODES.join('|')}] [--op NAME] [--kernels reference|inductor] [--json] [--pack OUT]

Runs calls that PyTorch recorded and compares results, layouts and gradients.
  --file F     recorded calls: F.json with F.safetensors beside it, or a packed .br file
  --op NAME    only operators whose name contains NAME (aten.add, or aten.add.Tensor for one overload)
  --kernels    what runs eager calls (default: reference)
  --json       print only the last line
  --pack OUT   write the file packed (brotli) instead of running it`;

/** Reads the arguments; null asks for the usage text. @throws invalid-argument */
export function readOptions(argv: readonly string[]): OracleOptions | null {
  const program = { usage: USAGE, modes: ORACLE_MODES, own: ['op', 'kernels'] };
  const options = readCommandLine(argv, program);
  if (options === null) return null;
  const { own, ...rest } = options;
  const kernels = oneOf('kernels', own['kernels']!, ['reference', 'inductor'], USAGE);
  return { ...rest, kernels, op: own['op']! };
}
