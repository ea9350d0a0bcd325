/**
 * @file Command line of the oracle runner.
 */
import { parseArgs } from 'node:util';
import { TesseraError } from '@tessera/shared';
import { ORACLE_MODES, type OracleMode } from '@tessera/testkit';

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

function refuse(message: string): never {
  throw new TesseraError('invalid-argument', message, { hints: [USAGE.split('\n')[0]!] });
}

/** Reads the arguments; null asks for the usage text. @throws invalid-argument */
export function readOptions(argv: readonly string[]): OracleOptions | null {
  let values;
  try {
    ({ values } = parseArgs({
      args: [...argv],
      options: {
        file: { type: 'string' },
        mode: { type: 'string', default: 'eager' },
        op: { type: 'string' },
        kernels: { type: 'string', default: 'reference' },
        json: { type: 'boolean', default: false },
        pack: { type: 'string' },
        help: { type: 'boolean', short: 'h', default: false },
      },
    }));
  } catch (error) {
    refuse((error as Error).message);
  }
  if (values.help) return null;
  const mode = ORACLE_MODES.find((name) => name === values.mode);
  if (mode === undefined)
    refuse(`--mode must be one of ${ORACLE_MODES.join(', ')}, not '${values.mode}'.`);
  const { kernels } = values;
  if (kernels !== 'reference' && kernels !== 'inductor')
    refuse(`--kernels must be reference or inductor, not '${kernels}'.`);
  return {
    file: values.file ?? null,
    mode,
    op: values.op ?? null,
    kernels,
    json: values.json,
    pack: values.pack ?? null,
  };
}
