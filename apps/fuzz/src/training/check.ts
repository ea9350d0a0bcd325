/**
 * @file Running a training loop eagerly and compiled, and what differs.
 */
import { compile, config } from '@tessera/compile';
import * as nn from '@tessera/nn';
import * as F from '@tessera/nn/functional';
import { isTesseraError } from '@tessera/shared';
import * as T from '@tessera/tensor';
import type { Dice } from '../dice.js';
import { MOST_TOLD, isTold, nameOf } from '../error-names.js';
import { type Found, firstMismatch, inWords } from '../first-mismatch.js';
import { Stop } from '../interpret.js';
import { withNoise } from '../noise.js';
import type { Seen } from '../observe.js';
import { type Run, Tolerance } from '../spread.js';
import { type TrainingProgram, linesOf } from './code.js';
import { type Watched, observeTraining } from './observe.js';
import { GIVEN, preludeFor } from './prelude.js';

/** A training loop whose compiled run differs from the eager one. */
export interface TrainingMismatch extends Found {
  readonly program: TrainingProgram;
}

type AnyFunction = (...args: never[]) => unknown;
type Wrap = (fn: AnyFunction | nn.Module) => AnyFunction;
type Turn = () => Promise<void>;
type Started = Promise<readonly Turn[]>;
type Body = (given: readonly unknown[], scope: Scope) => Started;

/** What the text calls. */
interface Scope {
  readonly device: string;
  readonly wrap: Wrap;
  readonly see: (name: string, value: () => unknown) => void;
  readonly later: (name: string, value: () => unknown) => void;
  readonly show: (value: unknown) => void;
}

const VALUES: Readonly<Record<(typeof GIVEN)[number], unknown>> = {
  T,
  nn,
  F,
  optim: nn.optim,
  schedules: nn.lrScheduler,
  swa: nn.optim.swaUtils,
  P: nn.parametrize,
  Stop,
};

/** The program as a function: it makes everything, and gives its turns. */
function bodyOf({ setup, calls }: TrainingProgram): Body {
  const code = [
    ...linesOf(setup),
    'return [',
    ...calls.flatMap((call) => ['async () => {', ...linesOf(call, '  '), '},']),
    '];',
  ];
  const lines = [
    `const [${GIVEN.join(', ')}] = given;`,
    'const { device, wrap, see, later, show } = scope;',
    'return (async () => {',
    ...preludeFor(code.join('\n')),
    ...code,
    '})();',
  ];
  // oxlint-disable-next-line no-new-func -- text of this folder
  return new Function('given', 'scope', lines.join('\n')) as Body;
}

/** Plays a program: what is seen after each turn, and errors as they were thrown. */
async function play(
  program: TrainingProgram,
  wrap: Wrap,
  noise: Dice | null,
): Promise<{ readonly seen: Seen[][]; readonly errors: readonly unknown[] }> {
  const watched: Watched[] = [];
  const late: Watched[] = [];
  let outputs: unknown[] = [];
  const scope: Scope = {
    device: program.device,
    wrap,
    see: (name, value) => void watched.push({ name, value }),
    later: (name, value) => void late.push({ name, value }),
    show: (value) => void outputs.push(value),
  };
  const body = bodyOf(program);
  const run = async <R>(fn: () => Promise<R>): Promise<R> =>
    noise === null ? fn() : withNoise(noise, fn);
  const turns = await body(
    GIVEN.map((name) => VALUES[name]),
    scope,
  );
  const seen: Seen[][] = [];
  const errors: unknown[] = [];
  for (const [i, turn] of turns.entries()) {
    outputs = [];
    let thrown: string | null = null;
    try {
      await run(turn);
    } catch (error) {
      thrown = nameOf(error);
      errors.push(error);
    }
    const last = i === turns.length - 1;
    seen.push(await observeTraining(last ? [...watched, ...late] : watched, outputs, thrown));
  }
  return { seen, errors };
}

const alone: Wrap = (fn) =>
  fn instanceof nn.Module ? (...args: never[]) => (fn as nn.TensorModule).call(args[0]!) : fn;

/** Whether an error is one that users may make: by a program's own `throw`, or with a code of ours. */
function isMeant(error: unknown): boolean {
  return error instanceof Stop || isTesseraError(error);
}

/** Why eager code does not run a program, but for an error in a turn now and then; null if it does. */
export async function trainingProblem(program: TrainingProgram): Promise<string | null> {
  return config.patch({ 'eager.kernels': 'reference' }, async () => {
    try {
      const { errors } = await play(program, alone, null);
      const unmeant = errors.find((error) => !isMeant(error));
      if (unmeant !== undefined) return nameOf(unmeant);
      return errors.length * 2 <= program.calls.length ? null : nameOf(errors[0]);
    } catch (error) {
      return nameOf(error);
    }
  });
}

/** Whether eager code runs a program, but for an error in a turn now and then. */
export async function trainingRuns(program: TrainingProgram): Promise<boolean> {
  return (await trainingProblem(program)) === null;
}

/** Functions that are compiled once, whichever run of the program they are of. */
class CompiledFunctions {
  private readonly compiled: AnyFunction[] = [];
  private present: (AnyFunction | nn.Module)[] = [];

  constructor(private readonly options: { readonly backend: string; readonly dynamic?: boolean }) {}

  /** Another run begins. */
  restart(): void {
    this.present = [];
  }

  readonly wrap: Wrap = (fn) => {
    const i = this.present.push(fn) - 1;
    const known = this.compiled[i];
    if (known !== undefined && !(fn instanceof nn.Module)) return known;
    const now = (): AnyFunction => this.present[i] as AnyFunction;
    const isAsync = fn.constructor.name === 'AsyncFunction';
    const made =
      fn instanceof nn.Module
        ? (compile(fn, this.options) as AnyFunction)
        : compile(
            isAsync
              ? async (...args: never[]): Promise<unknown> => now()(...args)
              : (...args: never[]): unknown => now()(...args),
            this.options,
          );
    this.compiled[i] = made;
    return made;
  };
}

async function runCompiled(
  program: TrainingProgram,
  backend: string,
  want: Run,
): Promise<string | null> {
  const { dynamic } = program;
  const functions = new CompiledFunctions({ backend, ...(dynamic === null ? {} : { dynamic }) });
  const tolerance = new Tolerance(want, async (noise) => (await play(program, alone, noise)).seen);
  for (let told = 0; ; told++) {
    let found: string | null;
    try {
      found = await firstDifference((await play(program, functions.wrap, null)).seen, tolerance);
    } catch (error) {
      found = nameOf(error);
    }
    if (found === null || told >= MOST_TOLD || !isTold(found)) return found;
    functions.restart();
  }
}

async function firstDifference(seen: Run, tolerance: Tolerance): Promise<string | null> {
  for (const [i, got] of seen.entries()) {
    const found = await tolerance.difference(i, got);
    if (found !== null) return inWords(i, found, got);
  }
  return null;
}

/** Compares a training loop's compiled runs with its eager one: the first difference, or null. */
export function checkTraining(
  program: TrainingProgram,
  backends: readonly string[],
): Promise<TrainingMismatch | null> {
  return config.patch({ 'eager.kernels': 'reference' }, async () => {
    const { seen: want } = await play(program, alone, null);
    const found = await firstMismatch(backends, (backend) => runCompiled(program, backend, want));
    return found && { program, ...found };
  });
}
