/**
 * @file Runs a program that somebody typed: types are stripped, imports become look-ups among the packages that the explorer
 * has, and lines stay where they are, so that a line of a stack is a line of the editor.
 */
import * as compilePackage from '@tessera/compile';
import * as nn from '@tessera/nn';
import * as tensorPackage from '@tessera/tensor';
import { transform } from 'sucrase';
import { isProgramEntry, noSuchEntry, type ProgramEntry } from './program-packages.js';

type AnyFunction = (...args: never[]) => unknown;

/** The name that stacks have for the program. */
const PROGRAM = 'program.ts';

/** Lines that the engine puts before the body of a function made of text. */
const LINES_BEFORE = 2;

/** What a program is given besides what it imports. */
export interface ProgramHost {
  /** Called with every function that the program compiles. */
  compiled(fn: AnyFunction): void;
  log(text: string): void;
}

/** Packages that a program may import. */
function packagesFor(host: ProgramHost): Readonly<Record<ProgramEntry, object>> {
  const watched = (fn: AnyFunction, options?: compilePackage.CompileOptions): AnyFunction => {
    const made = compilePackage.compile(fn, options);
    host.compiled(made as AnyFunction);
    return made as AnyFunction;
  };
  return {
    '@tessera/compile': { ...compilePackage, compile: watched },
    '@tessera/nn': nn,
    '@tessera/nn/functional': nn.functional,
    '@tessera/nn/optim': nn.optim,
    '@tessera/tensor': tensorPackage,
  };
}

/** The line of the editor in a frame `program.ts:7:5 name`; null for frames of other files. */
export function programLine(frame: string | undefined): number | null {
  const [, line] = /program\.ts:(\d+):\d+/.exec(frame ?? '') ?? [];
  return line === undefined ? null : Number(line) - LINES_BEFORE;
}

/** Runs the program to its end. What it throws is thrown. */
export async function runProgram(source: string, host: ProgramHost): Promise<void> {
  const { code } = transform(source, {
    transforms: ['typescript', 'imports'],
    filePath: PROGRAM,
    // Fields of modules are assigned, as classes of today's TypeScript define them.
    disableESTransforms: true,
  });
  const packages = packagesFor(host);
  const find = (name: string): object => {
    if (!isProgramEntry(name)) throw new Error(noSuchEntry(name));
    return packages[name];
  };
  const log = (...values: unknown[]): void => host.log(values.map(String).join(' '));
  const AsyncFunction = (async () => {}).constructor as FunctionConstructor;
  const program = new AsyncFunction(
    'require',
    'exports',
    'console',
    `${code}\n//# sourceURL=${PROGRAM}`,
  );
  await program(find, {}, { ...console, log });
}
