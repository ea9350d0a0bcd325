/**
 * @file Arguments of the command.
 */
import { parseArgs } from 'node:util';
import { TesseraError } from '@tessera/shared';

/** What to do. */
export interface Arguments {
  readonly folder: string;
  readonly port: number;
  readonly open: boolean;
}

/** What `--help` prints. */
export const USAGE = `usage: npx @tessera/cli explore FOLDER|TRACE [--port N] [--no-open]

Opens what a program wrote with TESSERA_DEBUG_DIR=FOLDER in the explorer: graphs, passes, kernels,
memory, guards and times of each compilation. TRACE is a file that profile(fn).toChromeTrace()
made: its timeline. Only this machine can see the page.

  --port N    where the page is served (default: a port that is free)
  --no-open   prints the address and opens no browser`;

function wrong(message: string): TesseraError {
  return new TesseraError('invalid-argument', message, { hints: [USAGE] });
}

/**
 * Reads them; null asks for the usage text.
 *
 * @throws invalid-argument
 */
export function readArguments(args: readonly string[]): Arguments | null {
  const { values, positionals } = parse(args);
  if (values.help === true || args.length === 0) return null;
  const [command, folder, ...rest] = positionals;
  if (command !== 'explore') throw wrong(`There is no command '${command ?? ''}'.`);
  if (folder === undefined || rest.length > 0)
    throw wrong('explore takes one folder, or one trace.');
  const port = Number(values.port ?? 0);
  if (!Number.isInteger(port) || port < 0 || port > 65535)
    throw wrong(`--port takes a number up to 65535, not '${values.port}'.`);
  return { folder, port, open: values['no-open'] !== true };
}

interface Parsed {
  readonly values: {
    readonly port?: string;
    readonly 'no-open'?: boolean;
    readonly help?: boolean;
  };
  readonly positionals: readonly string[];
}

function parse(args: readonly string[]): Parsed {
  try {
    return parseArgs({
      args: [...args],
      allowPositionals: true,
      options: {
        port: { type: 'string' },
        'no-open': { type: 'boolean' },
        help: { type: 'boolean', short: 'h' },
      },
    });
  } catch (error) {
    throw wrong(error instanceof Error ? error.message : String(error));
  }
}
