/**
 * @file Command line of the fuzzer.
 */
import { parseArgs } from 'node:util';
import { listBackends } from '@tessera/compile';
import { TesseraError } from '@tessera/shared';
import { DEVICES, type FuzzDevice } from './devices.js';
import { type Extras, NO_EXTRAS } from './extras.js';

/** What to run. */
export interface FuzzOptions {
  /** How many programs. */
  readonly n: number;
  /** Seed of the first program; the others follow. */
  readonly seed: number;
  readonly backends: readonly string[];
  /** What programs have beside their statements; drawn for each if null. */
  readonly extras: Partial<Extras> | null;
  /** Whether each program is a training loop; drawn for each if null. */
  readonly training: boolean | null;
  /** Whether each program runs at many sizes, by code for all of them and by code for each. */
  readonly dynamic: boolean;
  /** Where tensors are. */
  readonly devices: readonly FuzzDevice[];
  /** Processes at a time. */
  readonly workers: number;
  /** Print only the JSON line. */
  readonly json: boolean;
}

/** What `--with` calls training loops. */
const TRAINING = 'training';

/** Backends that run without other options. */
export const DEFAULT_BACKENDS: readonly string[] = ['eager', 'aot_eager', 'inductor'];

export const USAGE: string = `usage: pnpm fuzz [--n N] [--seed S] [--backends ${DEFAULT_BACKENDS.join(',')}] [--devices cpu,wgpu] [--with L] [--dynamic] [--workers W] [--json]

Runs random programs eagerly and compiled, three calls each, and compares all that can be seen.
  --n N         how many programs (default 200)
  --seed S      seed of the first program (default: a fresh one, printed)
  --backends L  backends, separated by commas
  --devices L   where tensors are: cpu (default), or cpu,wgpu
  --with L      what each program has beside its statements, instead of drawing it: any of
                ${Object.keys(NO_EXTRAS).join(', ')}, or none;
                training: each is a training loop, without these
  --dynamic     eight sizes in each program, 0 and 1 among them, with sizes as symbols and without
  --workers W   processes at a time, over ranges of seeds (default 1)
  --json        print only the last line`;

function refuse(message: string): never {
  throw new TesseraError('invalid-argument', message, { hints: [USAGE.split('\n')[0]!] });
}

function wholeNumber(option: string, text: string): number {
  const value = Number(text);
  if (!Number.isSafeInteger(value) || value < 0)
    refuse(`--${option} must be a whole number, not '${text}'.`);
  return value;
}

/** Reads the arguments; null asks for the usage text. @throws invalid-argument */
export function readOptions(argv: readonly string[]): FuzzOptions | null {
  let values;
  try {
    ({ values } = parseArgs({
      args: [...argv],
      options: {
        n: { type: 'string', default: '200' },
        seed: { type: 'string' },
        backends: { type: 'string', default: DEFAULT_BACKENDS.join() },
        with: { type: 'string' },
        devices: { type: 'string', default: 'cpu' },
        dynamic: { type: 'boolean', default: false },
        workers: { type: 'string', default: '1' },
        json: { type: 'boolean', default: false },
        help: { type: 'boolean', short: 'h', default: false },
      },
    }));
  } catch (error) {
    refuse((error as Error).message);
  }
  if (values.help) return null;
  const backends = values.backends.split(',');
  const known = listBackends();
  const unknown = backends.find((name) => !known.includes(name));
  if (unknown !== undefined)
    refuse(`--backends: there is no backend '${unknown}'; there are ${known.join(', ')}.`);
  return {
    n: wholeNumber('n', values.n),
    seed:
      values.seed === undefined
        ? Math.floor(Math.random() * 2 ** 31)
        : wholeNumber('seed', values.seed),
    backends,
    ...readWith(values.with),
    dynamic: values.dynamic,
    devices: readDevices(values.devices),
    workers: Math.max(1, wholeNumber('workers', values.workers)),
    json: values.json,
  };
}

function readDevices(text: string): FuzzDevice[] {
  return text.split(',').map((name) => {
    const known = DEVICES.find((device) => device === name);
    return known ?? refuse(`--devices: there is no '${name}'; there are ${DEVICES.join(', ')}.`);
  });
}

function readWith(text: string | undefined): Pick<FuzzOptions, 'extras' | 'training'> {
  if (text === undefined) return { extras: null, training: null };
  if (text === TRAINING) return { extras: {}, training: true };
  const names = text === 'none' ? [] : text.split(',');
  const known = Object.keys(NO_EXTRAS);
  const unknown = names.find((name) => !known.includes(name));
  if (unknown !== undefined)
    refuse(
      `--with: there is no '${unknown}'; there are ${known.join(', ')}, and ${TRAINING} or none alone.`,
    );
  return { extras: Object.fromEntries(names.map((name) => [name, true])), training: false };
}

/** The arguments of a process that runs a part of the seeds. */
export function workerArguments({
  backends,
  extras,
  training,
  dynamic,
  devices,
  json,
}: FuzzOptions): string[] {
  const names = training === true ? TRAINING : Object.keys(extras ?? {}).join() || 'none';
  return [
    ...['--backends', backends.join(), '--devices', devices.join()],
    ...(extras === null ? [] : ['--with', names]),
    ...(dynamic ? ['--dynamic'] : []),
    ...(json ? ['--json'] : []),
  ];
}
