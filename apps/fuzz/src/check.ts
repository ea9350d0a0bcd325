/**
 * @file Running a program eagerly and compiled, and what differs.
 */
import { compile, compiledFunctionOf, config } from '@tessera/compile';
import { type Tensor, grad, noGrad } from '@tessera/tensor';
import { compareSeen } from './compare.js';
import type { TensorModule } from '@tessera/nn';
import type { Dice } from './dice.js';
import { MOST_TOLD, OUT_OF_RANGE, isTold, nameOf } from './error-names.js';
import { type Found, firstMismatch, inWords } from './first-mismatch.js';
import { growth, hasHistory } from './flat-memory.js';
import { INDICES } from './indices.js';
import { meanwhile } from './meanwhile.js';
import { withNoise } from './noise.js';
import { type Seen, observe } from './observe.js';
import type { BackwardKind, CallSpec, Program } from './program.js';
import { type ProgramFunction, packArguments, programFunction } from './program-function.js';
import { Tolerance } from './spread.js';
import { World } from './world.js';
import { leafOf } from './leaf-of.js';

/** A program whose compiled run differs from the eager one. */
export interface Mismatch extends Found {
  readonly program: Program;
}

/** How many errors of kernels one call may leave for the reads after it. */
const MOST_FOUND = 8;

/** What came of a call. */
interface Made {
  readonly outputs: Tensor[];
  readonly gradients: readonly (Tensor | null)[];
  readonly thrown: string | null;
}

/** One call with the arguments of a world, and the backward pass behind it. */
async function makeCall(
  program: Program,
  world: World,
  fn: ProgramFunction,
  call: CallSpec,
  noise: Dice | null,
): Promise<Made> {
  let outputs: Tensor[] = [];
  let gradients: (Tensor | null)[] = [];
  let thrown: string | null = null;
  const run = (): Tensor[] | Promise<Tensor[]> => fn(...packArguments(program, world));
  const again = callAgain(run, world);
  world.again = again.call;
  const play = async (): Promise<void> => {
    const runAll = (): Tensor[] | Promise<Tensor[]> => {
      const started = run();
      return started instanceof Promise ? meanwhile(call, world, started, run) : started;
    };
    // Grad mode is of the program, not of a call: one that goes on when another's scope has ended records gradients or not
    // by chance, in eager code too. So calls that wait at the same time are in one scope.
    outputs = await (call.noGrad ? noGrad(runAll) : runAll());
    world.outputs = outputs;
    if (call.backward !== null) gradients = differentiate(world, outputs, call.backward);
  };
  try {
    await (noise === null ? play() : withNoise(noise, play));
  } catch (error) {
    thrown = nameOf(error);
  }
  await again.ended();
  return { outputs, gradients, thrown };
}

/** One call in a world, and what is seen then. */
async function runCall(
  program: Program,
  world: World,
  fn: ProgramFunction,
  call: CallSpec,
  noise: Dice | null = null,
): Promise<Seen[]> {
  const look = ({ outputs, gradients, thrown }: Made): Promise<Seen[]> =>
    observe(world, outputs, gradients, { thrown, unseen: call.unseen });
  world.prepare(call);
  const nothing: Made = { outputs: [], gradients: [], thrown: OUT_OF_RANGE };
  const before = INDICES in world.captured.tensors ? await look(nothing) : null;
  let made = await makeCall(program, world, fn, call, noise);
  let seen: Seen[] | null = null;
  for (let left = MOST_FOUND; seen === null; left--) {
    try {
      seen = await look(made);
    } catch (error) {
      if (left === 0) throw error;
      // What a kernel found comes with the next read, and comes once, also where the call threw something else.
      made = { ...made, thrown: made.thrown ?? nameOf(error) };
    }
  }
  if (before === null || made.thrown !== OUT_OF_RANGE) return seen;
  const changed = compareSeen(0, seen, before, null);
  return [seen[0]!, { path: 'changed', kind: 'value', value: changed }, ...seen.slice(1)];
}

/** A call that a hook makes. */
interface Again {
  readonly call: () => void;
  /** Waits until it has ended, whatever became of it. */
  readonly ended: () => Promise<unknown>;
}

/** What a hook does that calls the function: once, and not for what that call differentiates itself. */
function callAgain(run: () => Tensor[] | Promise<Tensor[]>, { store }: World): Again {
  let result: Tensor[] | Promise<Tensor[]> | null = null;
  const call = (): void => {
    if (result !== null) return;
    // The call may run its own hooks, which must find that it has begun.
    result = [];
    result = run();
    if (!(result instanceof Promise)) store.list.push(...result.map((t) => t.detach()));
    else result.catch(() => undefined);
  };
  return { call, ended: () => Promise.allSettled([result]) };
}

/** Differentiates what a call returned; gradients that were asked for. */
function differentiate(
  world: World,
  outputs: readonly Tensor[],
  kind: BackwardKind,
): (Tensor | null)[] {
  const losses = [...new Set(outputs)]
    .filter((t) => t.requiresGrad)
    .map((t, i) => {
      const loss = t.sum().mul(i + 1);
      return t.device === 'cpu' ? loss.to('float64') : loss;
    });
  if (losses.length === 0) return [];
  const totals = (): Tensor[] =>
    [...new Set(losses.map((loss) => loss.device))].map((device) =>
      losses.filter((loss) => loss.device === device).reduce((a, b) => a.add(b)),
    );
  if (kind === 'sum') {
    const sums = totals();
    for (const sum of sums) sum.backward(null, { retainGraph: sums.length > 1 });
  } else if (kind === 'first') losses[0]!.backward();
  else if (kind === 'grad') {
    const by = [...new Set([...world.leaves, ...Object.values(world.captured.tensors)])];
    // An argument that the function modified is a result as well: compiled, no other result depends on it.
    return grad(
      totals(),
      by.filter((t) => t.requiresGrad && leafOf(t) === true),
      { allowUnused: true },
    );
  } else for (const loss of losses) loss.backward(null, { retainGraph: kind === 'retained' });
  return [];
}

/** Eager observations of each call. */
export async function runEager(program: Program, noise: Dice | null = null): Promise<Seen[][]> {
  const world = new World(program);
  const fn = programFunction(program, world);
  const seen: Seen[][] = [];
  for (const call of program.calls) seen.push(await runCall(program, world, fn, call, noise));
  return seen;
}

/** The error of the first call that threw anything but `stop`, or null. */
export function eagerError(seen: readonly (readonly Seen[])[]): string | null {
  for (const [first, second] of seen) {
    if (second?.path === 'changed' && second.kind === 'value' && second.value !== null)
      return String(second.value);
    if (first?.kind === 'value' && ![null, 'stop', OUT_OF_RANGE].includes(first.value as string))
      return String(first.value);
  }
  return null;
}

/** The functions of a program, compiled once, in whatever world is the present one. */
class CompiledProgram {
  world: World;
  readonly fn: ProgramFunction;
  private readonly inner: World['inner'];
  private readonly block: World['block'];

  constructor(
    private readonly program: Program,
    backend: string,
  ) {
    const { dynamic } = program;
    const options = { backend, ...(dynamic === null ? {} : { dynamic }) };
    this.world = new World(program);
    this.inner = compile((t: Tensor) => t.sin().mul(this.world.captured.k), options);
    const functions = new WeakMap<World, ProgramFunction>();
    const present = (): ProgramFunction => {
      let fn = functions.get(this.world);
      if (fn === undefined) functions.set(this.world, (fn = programFunction(program, this.world)));
      return fn;
    };
    const called = program.async
      ? async (...args: unknown[]): Promise<Tensor[]> => present()(...args)
      : (...args: unknown[]): Tensor[] => present()(...args) as Tensor[];
    this.fn = compile(called, options);
    this.block = compile((module: TensorModule, t: Tensor) => module.call(t).tanh(), options);
    this.enter();
  }

  private enter(): void {
    this.world.inner = this.inner;
    this.world.block = this.block;
  }

  /** Begins again with arguments and captured values as they were. */
  restart(): void {
    this.world = new World(this.program);
    this.enter();
  }
}

async function runCompiled(
  program: Program,
  backend: string,
  want: readonly Seen[][],
): Promise<string | null> {
  const compiled = new CompiledProgram(program, backend);
  const tolerance = new Tolerance(want, (noise) => runEager(program, noise));
  for (let told = 0; ; told++) {
    const found = await runCalls(program, compiled, want, tolerance);
    if (found === null) return grown(program, compiled);
    if (told >= MOST_TOLD || !isTold(found)) return found;
    compiled.restart();
  }
}

/** How many bytes the last call leaves behind when it is made again, eagerly none; null if there are none. */
async function grown(program: Program, { world, fn }: CompiledProgram): Promise<string | null> {
  const last = program.calls.at(-1);
  if (program.repeats === 0 || last === undefined) return null;
  const growthOf = (where: World, called: ProgramFunction): Promise<number | null> =>
    growth(
      where,
      async () => {
        const { outputs, thrown } = await makeCall(program, where, called, last, null);
        return thrown === null ? outputs : null;
      },
      program.repeats,
    );
  const bytes = await growthOf(world, fn);
  if (bytes === null || bytes === 0 || hasHistory(world)) return null;
  const eager = new World(program);
  for (const call of program.calls)
    await runCall(program, eager, programFunction(program, eager), call);
  if ((await growthOf(eager, programFunction(program, eager))) !== 0) return null;
  return `memory grows by ${bytes} bytes in ${program.repeats} more calls like the last`;
}

/** Operators that a generated program may call with any integers as indices. */
const FREE_INDEXING = ['gather', 'indexSelect'];

/** Whether a value that was seen begins like this. */
function says(seen: readonly Seen[], text: string): boolean {
  return seen.some((each) => each.kind === 'value' && String(each.value).startsWith(text));
}

/**
 * Whether a call may do other things than eager where eager refuses an index. Results that are of no use are not
 * computed, nor are their indices looked at (`indices.ts` draws indices that count). Kernels run in another order
 * than operators: where two refuse a value, either may be first. Where the graph breaks, the call must refuse the
 * index too, but what came before the break is done.
 */
function mayDiffer(
  program: Program,
  { fn }: CompiledProgram,
  want: readonly Seen[],
  got: readonly Seen[],
): boolean {
  if (!says(want, OUT_OF_RANGE)) return false;
  if (says(got, 'invalid-argument: ZeroDivisionError')) return true;
  const text = JSON.stringify(program.body);
  if (FREE_INDEXING.some((name) => text.includes(`"name":"${name}"`))) return true;
  return (
    says(got, OUT_OF_RANGE) &&
    compiledFunctionOf(fn).captures.some(({ segments }) => segments.length > 1)
  );
}

/** All calls in the present world: the first difference, or null. */
async function runCalls(
  program: Program,
  compiled: CompiledProgram,
  want: readonly Seen[][],
  tolerance: Tolerance,
): Promise<string | null> {
  const { world, fn } = compiled;
  for (const [i, call] of program.calls.entries()) {
    let got: Seen[];
    try {
      got = await runCall(program, world, fn, call);
    } catch (error) {
      return mayDiffer(program, compiled, want[i]!, []) ? null : `call ${i}: ${nameOf(error)}`;
    }
    const found = await tolerance.difference(i, got);
    if (found !== null) {
      if (mayDiffer(program, compiled, want[i]!, got)) return null;
      return inWords(i, found, got);
    }
  }
  return null;
}

/** Compares a program's compiled runs with its eager one: the first difference, or null. */
export function checkProgram(
  program: Program,
  backends: readonly string[],
): Promise<Mismatch | null> {
  return config.patch({ 'eager.kernels': 'reference' }, async () => {
    const want = await runEager(program);
    const found = await firstMismatch(backends, (backend) => runCompiled(program, backend, want));
    return found && { program, ...found };
  });
}
