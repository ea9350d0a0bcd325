/**
 * @file What the programs of this app share: refusals, and options that all of them take.
 */
import { parseArgs } from 'node:util';
import { TesseraError } from '@tessera/shared';

/** Options of every program that runs recordings. */
export interface RecordingOptions<M extends string> {
  readonly mode: M;
  /** Recordings; null for those that the repository carries. */
  readonly file: string | null;
  /** Print only the JSON line. */
  readonly json: boolean;
  /** Where to write the recordings packed, instead of running them. */
  readonly pack: string | null;
  /** The program's own options by name; null for those that are not given. */
  readonly own: Readonly<Record<string, string | null>>;
}

/** A program, as far as its command line goes. */
export interface Program<M extends string> {
  /** Its first line is the hint of refusals. */
  readonly usage: string;
  readonly modes: readonly M[];
  /** Names of options that only this program takes, each with a value. */
  readonly own?: readonly string[];
}

/** @throws invalid-argument always, with the first line of the usage text */
export function refuse(message: string, usage: string): never {
  throw new TesseraError('invalid-argument', message, { hints: [usage.split('\n')[0]!] });
}

/** Reads a command line; null asks for the usage text. @throws invalid-argument */
export function readCommandLine<M extends string>(
  argv: readonly string[],
  { usage, modes, own = [] }: Program<M>,
): RecordingOptions<M> | null {
  let values: Readonly<Record<string, string | boolean | undefined>>;
  try {
    ({ values } = parseArgs({
      args: [...argv],
      options: {
        mode: { type: 'string', default: 'eager' },
        file: { type: 'string' },
        json: { type: 'boolean', default: false },
        pack: { type: 'string' },
        help: { type: 'boolean', short: 'h', default: false },
        ...Object.fromEntries(own.map((name) => [name, { type: 'string' } as const])),
      },
    }));
  } catch (error) {
    refuse((error as Error).message, usage);
  }
  if (values['help'] === true) return null;
  const text = (name: string): string | null => (values[name] as string | undefined) ?? null;
  return {
    mode: oneOf('mode', text('mode'), modes, usage),
    file: text('file'),
    json: values['json'] === true,
    pack: text('pack'),
    own: Object.fromEntries(own.map((name) => [name, text(name)])),
  };
}

/** The value of an option that is one of several; the first if it is not given. @throws invalid-argument */
export function oneOf<T extends string>(
  name: string,
  given: string | null,
  choices: readonly T[],
  usage: string,
): T {
  const chosen = given === null ? choices[0] : choices.find((choice) => choice === given);
  return chosen ?? refuse(`--${name} must be one of ${choices.join(', ')}, not '${given}'.`, usage);
}
