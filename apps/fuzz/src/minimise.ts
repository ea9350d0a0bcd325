/**
 * @file Delta debugging: the smallest program that still fails.
 *
 * Tries to take away statements, bodies, calls, changes between calls, and what surrounds the function, until
 * nothing can go.
 */
import { config } from '@tessera/compile';
import { type Mismatch, checkProgram, eagerError, runEager } from './check.js';
import {
  type Arg,
  type ArgSpec,
  type CallSpec,
  type Program,
  type Stmt,
  bodiesOf,
  withBodies,
} from './program.js';
import { replaced, withoutRuns } from './shorter-list.js';
import { type TrainingMismatch, checkTraining, trainingRuns } from './training/check.js';
import { smallerTraining } from './training/code.js';

/** Shorter versions of a list of statements, big steps first. */
function* shorterBodies(body: readonly Stmt[]): Generator<readonly Stmt[]> {
  yield* withoutRuns(body);
  for (const [i, stmt] of body.entries()) {
    const put = (...stmts: readonly Stmt[]): readonly Stmt[] => replaced(body, i, stmts);
    const bodies = bodiesOf(stmt);
    for (const inner of bodies) if (inner.length > 0) yield put(...inner);
    for (const [b, inner] of bodies.entries()) {
      for (const shorter of shorterBodies(inner))
        yield put(
          withBodies(
            stmt,
            bodies.map((old, j) => (j === b ? shorter : old)),
          ),
        );
    }
    if (stmt.do === 'return' && stmt.of.length > 1) {
      for (const skip of stmt.of.keys())
        yield put({ ...stmt, of: stmt.of.filter((_, j) => j !== skip) });
    }
    // An op whose result is replaced by what it was called on.
    if (stmt.do === 'op' && stmt.on !== null && stmt.rebind !== true)
      yield renameIn(put(), stmt.out, stmt.on);
    if ('out' in stmt && stmt.do !== 'op' && 'of' in stmt && stmt.do !== 'item')
      yield renameIn(put(), stmt.out, stmt.of);
    if (stmt.do === 'op') {
      for (const [j, arg] of stmt.args.entries()) {
        if (arg !== null && typeof arg === 'object' && 'n' in arg)
          yield put({ ...stmt, args: stmt.args.map((old, k) => (k === j ? 2 : old)) });
      }
    }
  }
}

function renameArg(arg: Arg, from: string, to: string): Arg {
  if (arg === null || typeof arg !== 'object') return arg;
  if (Array.isArray(arg)) return (arg as readonly Arg[]).map((item) => renameArg(item, from, to));
  if ('t' in arg && arg.t === from) return { t: to };
  return 'size' in arg && arg.size === from ? { ...arg, size: to } : arg;
}

function renameIn(body: readonly Stmt[], from: string, to: string): Stmt[] {
  const name = (old: string): string => (old === from ? to : old);
  return body.map((stmt): Stmt => {
    const inner = withBodies(
      stmt,
      bodiesOf(stmt).map((stmts) => renameIn(stmts, from, to)),
    );
    if (inner.do === 'op')
      return {
        ...inner,
        on: inner.on === null ? null : name(inner.on),
        args: inner.args.map((arg) => renameArg(arg, from, to)),
        out: name(inner.out),
      };
    if (inner.do === 'return') return { ...inner, of: inner.of.map(name) };
    if (inner.do === 'read') return { ...inner, otherwise: name(inner.otherwise) };
    if (inner.do === 'grad' || inner.do === 'library')
      return { ...inner, of: name(inner.of), by: name(inner.by) };
    if (inner.do === 'for' && inner.while !== null)
      return { ...inner, while: { ...inner.while, of: name(inner.while.of) } };
    return 'of' in inner ? ({ ...inner, of: name(inner.of) } as Stmt) : inner;
  });
}

/** The same call with one thing made plain. */
function* plainerCalls(call: CallSpec, first: CallSpec): Generator<CallSpec> {
  if (call !== first) {
    yield { ...call, args: first.args };
    yield { ...first, args: call.args };
    for (const [i, arg] of first.args.entries())
      yield { ...call, args: call.args.map((old, j) => (j === i ? arg : old)) };
  }
  if (Object.keys(call.replace).length > 0) yield { ...call, replace: {} };
  if (call.overwrite.length > 0) yield { ...call, overwrite: [] };
  for (const skip of call.edits.keys())
    yield { ...call, edits: call.edits.filter((_, i) => i !== skip) };
  if (call.unseen) yield { ...call, unseen: false };
  if (call.fail) yield { ...call, fail: false };
  if (call.backward !== null) yield { ...call, backward: null };
  if (call.backward !== null && call.backward !== 'sum') yield { ...call, backward: 'sum' };
  if (call.noGrad) yield { ...call, noGrad: false };
  if (call.meanwhile !== null) yield { ...call, meanwhile: null };
  if (!call.training) yield { ...call, training: true };
  if (call.frozen) yield { ...call, frozen: false };
  for (const [i, arg] of call.args.entries()) {
    const instead = (plain: ArgSpec): CallSpec => ({
      ...call,
      args: call.args.map((old, j) => (j === i ? plain : old)),
    });
    if (arg.kind === 'kept') {
      yield instead({ kind: 'new', tensor: arg.otherwise });
      if (arg.views.length > 0) yield instead({ ...arg, views: [] });
    }
    if (arg.kind !== 'new' || !arg.tensor.requiresGrad) continue;
    const put = (tensor: typeof arg.tensor): CallSpec => instead({ kind: 'new', tensor });
    yield put({ ...arg.tensor, requiresGrad: false });
    if (!arg.tensor.leaf) yield put({ ...arg.tensor, leaf: true });
  }
}

/** The same statements in a function that is not async. */
function withoutWaits(body: readonly Stmt[]): Stmt[] {
  return body.flatMap((stmt): Stmt[] => {
    if (stmt.do === 'await') return [];
    if (stmt.do === 'item') return [{ ...stmt, waits: false }];
    return [withBodies(stmt, bodiesOf(stmt).map(withoutWaits))];
  });
}

/** Programs with less in them. */
function* smaller(program: Program): Generator<Program> {
  for (const skip of program.calls.keys()) {
    if (program.calls.length > 1)
      yield { ...program, calls: program.calls.filter((_, i) => i !== skip) };
  }
  for (const body of shorterBodies(program.body)) yield { ...program, body };
  if (program.optimizer !== null) yield { ...program, optimizer: null };
  if (program.net !== null) yield { ...program, net: null };
  if (program.form !== 'positional') yield { ...program, form: 'positional' };
  if (program.dynamic !== null) yield { ...program, dynamic: null };
  if (program.repeats > 0) yield { ...program, repeats: 0 };
  if (program.async) yield { ...program, async: false, body: withoutWaits(program.body) };
  if (!program.storeIsArgument) yield { ...program, storeIsArgument: true };
  for (const name of Object.keys(program.captured)) {
    const { [name]: _, ...captured } = program.captured;
    yield { ...program, captured };
  }
  const count = program.calls[0]!.args.length;
  const used = program.calls.every((call) => call.args.at(-1)!.kind === 'new');
  if (count > 1 && used)
    yield {
      ...program,
      calls: program.calls.map((call) => ({ ...call, args: call.args.slice(0, -1) })),
    };
  for (const [i, call] of program.calls.entries()) {
    for (const plain of plainerCalls(call, program.calls[0]!))
      yield { ...program, calls: program.calls.map((old, j) => (j === i ? plain : old)) };
  }
}

/** Programs tried at most; training loops take longer. */
const MAX_TRIES = 1500;
const MAX_TRAINING_TRIES = 400;

/** The last of `mismatch` and the smaller programs that still fail, each made of the one before. */
async function smallest<M extends { readonly program: P }, P>(
  mismatch: M,
  smallerThan: (program: P) => Iterable<P>,
  stillFails: (program: P) => Promise<M | null>,
  mostTries = MAX_TRIES,
): Promise<M> {
  let best = mismatch;
  let tries = 0;
  // Behind one that failed, those before it are seldom worth another try: they have their turn at the end.
  for (let from = 0; ;) {
    let at = -1;
    let failing: M | null = null;
    for (const candidate of smallerThan(best.program)) {
      if (++at < from) continue;
      if (tries++ > mostTries) return best;
      failing = await stillFails(candidate).catch(() => null);
      if (failing !== null) break;
    }
    if (failing !== null) best = failing;
    else if (from === 0) return best;
    from = failing === null ? 0 : at;
  }
}

/** The smallest program found that still differs on the same backend. */
export function minimise(mismatch: Mismatch): Promise<Mismatch> {
  return smallest(mismatch, smaller, async (program) => {
    const ran = await config.patch({ 'eager.kernels': 'reference' }, () => runEager(program));
    return eagerError(ran) === null ? checkProgram(program, [mismatch.backend]) : null;
  });
}

/** The smallest training loop found that still differs on the same backend. */
export function minimiseTraining(mismatch: TrainingMismatch): Promise<TrainingMismatch> {
  return smallest(
    mismatch,
    smallerTraining,
    async (program) =>
      (await trainingRuns(program)) ? checkTraining(program, [mismatch.backend]) : null,
    MAX_TRAINING_TRIES,
  );
}
