/**
 * @file Drawing a random program from a seed.
 *
 * A candidate statement is executed at once, on tensors of the first call, and kept if it runs; so the
 * generator knows no shape rules. A program that fails in a later call is drawn again.
 */
import { config } from '@tessera/compile';
import { isTesseraError } from '@tessera/shared';
import { type Tensor, isTensor } from '@tessera/tensor';
import { readNumbers } from '@tessera/tensor/internal';
import { eagerError, runEager } from './check.js';
import { type FuzzDevice, randomMove } from './devices.js';
import { Dice } from './dice.js';
import {
  type Extras,
  NO_EXTRAS,
  drawExtras,
  extraForms,
  fits,
  wantedStatements,
  withExtras,
} from './extras.js';
import { fillForm, randomCalls, randomForm, sizedBatches } from './generate-inputs.js';
import { type Call, randomCall, randomInplace } from './generate-op.js';
import { CALLS } from './language.js';
import { LIBRARY } from './library.js';
import { Interpreter, drain } from './interpret.js';
import { withKeptArguments } from './kept-arguments.js';
import { type Arg, NETS, type Program, type Stmt } from './program.js';
import { World } from './world.js';

/** Largest result, elements. */
const MAX_NUMEL = 96;
/** Largest value: functions stay in ranges where rounding stays small. */
const MAX_VALUE = 1e4;

/** Puts the receiver's name where a size of it was asked for. */
function named(arg: Arg, receiver: string): Arg {
  if (arg === null || typeof arg !== 'object') return arg;
  if (Array.isArray(arg)) return (arg as readonly Arg[]).map((item) => named(item, receiver));
  return 'size' in arg && arg.size === '' ? { ...arg, size: receiver } : arg;
}

/**
 * Whether a statement does something with the gradients that leaves have. A function that a hook calls in the middle
 * of a backward pass would see which leaves have theirs by then, and nobody promises an order.
 */
function readsGradients(stmt: Stmt): boolean {
  return stmt.do === 'step' || stmt.do === 'clearGrad';
}

class Generator {
  private readonly interpreter: Interpreter;
  private names = 0;
  /** Whether an `await` may stand here: not in the callback of a grad mode. */
  private waits: boolean;
  /** Whether a hook calls the function again. */
  private readonly reenters: boolean;

  constructor(
    private readonly dice: Dice,
    world: World,
    private readonly program: Program,
    private readonly extras: Extras,
    private readonly extraDice: Dice,
  ) {
    this.waits = program.async;
    this.reenters = dice.chance(0.2) && !extras.memory;
    this.interpreter = new Interpreter(world, world.store);
    world.args.forEach((t, i) => this.interpreter.scope.declare(`a${i}`, t));
  }

  private name(prefix: string): string {
    return `${prefix}${this.names++}`;
  }

  private tensor(): readonly [string, Tensor] {
    const all = this.interpreter.tensors();
    // Recent results are used more often, so that chains grow.
    return this.dice.chance(0.5)
      ? all[Math.max(0, all.length - 1 - this.dice.below(4))]!
      : this.dice.pick(all);
  }

  private op(call: Call, receiver: string, out: string, rebind: boolean): Stmt {
    return {
      do: 'op',
      out,
      on: call.free === true ? null : receiver,
      name: call.name,
      args: call.args.map((arg) => named(arg, receiver)),
      ...(call.pick === undefined ? {} : { pick: call.pick }),
      ...(rebind ? { rebind } : {}),
    };
  }

  private randomOp(): Stmt {
    const { dice, interpreter } = this;
    const [name, t] = this.tensor();
    const pool = { dice, tensors: interpreter.tensors(), numbers: interpreter.numbers() };
    const call = dice.chance(0.25) ? randomInplace(pool, t) : randomCall(pool, name, t);
    const locals = interpreter
      .tensors()
      .filter(([n, u]) => n.startsWith('t') && u.shape.join() === t.shape.join());
    if (dice.chance(0.1) && locals.length > 0)
      return this.op(call, name, dice.pick(locals)[0], true);
    return this.op(call, name, this.name('t'), false);
  }

  private candidate(depth: number): Stmt {
    const { dice, program } = this;
    const [of] = this.tensor();
    if (this.extras.devices && dice.chance(0.1)) return randomMove(dice, this.name('t'), of);
    if (this.extras.library && dice.chance(0.3)) return this.libraryCall(of);
    if (this.waits && dice.chance(0.15))
      return dice.chance(0.6)
        ? { do: 'await' }
        : { do: 'item', out: this.name('n'), of, waits: true };
    if (this.reenters && dice.chance(0.3)) {
      const differentiable = this.interpreter.tensors().filter(([, t]) => t.requiresGrad);
      if (differentiable.length > 0)
        return { do: 'hook', of: dice.pick(differentiable)[0], kind: 'again' };
    }
    const roll = dice.next();
    if (roll < 0.72) return this.randomOp();
    if (roll < 0.74)
      return { do: 'item', out: this.name('n'), of, ...(this.waits ? { waits: true } : {}) };
    if (roll < 0.755) return { do: 'call', out: this.name('t'), of, kind: dice.pick(CALLS) };
    if (roll < 0.82) {
      if (depth === 0) return this.randomOp();
      return this.nested(depth);
    }
    if (roll < 0.86)
      return dice.chance(0.6)
        ? ({ do: 'effect', kind: dice.pick(['push', 'set', 'map'] as const), of } as Stmt)
        : { do: 'effect', kind: dice.chance(0.7) ? 'count' : 'pop' };
    if (roll < 0.88)
      return {
        do: 'read',
        out: this.name('t'),
        from: dice.pick(['last', 'list', 'map'] as const),
        otherwise: of,
      };
    if (roll < 0.92) {
      if (program.net === null || this.interpreter.tensor(of).dtype !== 'float32')
        return this.randomOp();
      return { do: 'module', out: this.name('t'), of };
    }
    if (roll < 0.934) return { do: 'backward', of, retain: dice.chance(0.3) };
    if (roll < 0.948) return this.differentiation(of);
    if (roll < 0.96) return program.optimizer === null ? this.randomOp() : { do: 'step' };
    if (roll < 0.965) return { do: 'clearGrad', of };
    if (roll < 0.972) return { do: 'break' };
    if (roll < 0.975) return { do: 'toggle' };
    if (roll < 0.98)
      return {
        do: 'disabled',
        out: this.name('t'),
        of,
        kind: dice.pick(['doubled', 'doubled', 'curvature'] as const),
      };
    if (roll < 0.985) return { do: 'throw' };
    if (roll < 0.99 && depth < 2) return { do: 'return', of: [of] };
    const captured = Object.keys(program.captured);
    return captured.length === 0
      ? this.randomOp()
      : { do: 'capture', name: dice.pick(captured), of };
  }

  /** A call of the library: of two tensors of a shape, if there are. */
  private libraryCall(of: string): Stmt {
    const { dice, interpreter } = this;
    const shape = interpreter.tensor(of).shape.join();
    const like = interpreter.tensors().filter(([, t]) => t.shape.join() === shape);
    const by = dice.pick(dice.chance(0.8) ? like : interpreter.tensors())[0];
    return { do: 'library', out: this.name('t'), of, by, text: dice.pick(LIBRARY) };
  }

  /** Statements about gradients. */
  private differentiation(of: string): Stmt {
    const { dice } = this;
    switch (dice.below(4)) {
      case 0:
        return { do: 'grad', out: this.name('t'), of, by: this.tensor()[0] };
      case 1:
        return { do: 'hook', of, kind: dice.pick(['scale', 'retain'] as const) };
      default:
        return { do: 'custom', out: this.name('t'), of };
    }
  }

  private nested(depth: number): Stmt {
    const { dice } = this;
    const [of, t] = this.tensor();
    if (t.device !== 'cpu') return { do: 'break' };
    const inner = (): Stmt[] =>
      this.interpreter.inScope(() => this.body(1 + dice.below(3), depth - 1));
    return this.interpreter.inScope((): Stmt => {
      switch (dice.below(5)) {
        case 4:
          return { do: 'caught', body: [...inner(), { do: 'throw' }] };
        case 0:
        case 1: {
          const byNumber = dice.chance(0.3);
          const above = byNumber
            ? 1.5
            : readNumbers(t).reduce((a, b) => a + b, 0) - dice.pick([0.31, -0.31, 2.3]);
          return {
            do: 'if',
            of: byNumber ? dice.pick(this.interpreter.numbers()) : of,
            above: Math.round(above * 100) / 100 + 0.003,
            then: inner(),
            else: dice.chance(0.6) ? inner() : [],
          };
        }
        case 2: {
          const index = this.name('i');
          this.interpreter.scope.declare(index, 0);
          const times = dice.chance(0.4)
            ? { n: dice.pick(['captured.k', 'store.count'] as const) }
            : 1 + dice.below(3);
          return {
            do: 'for',
            index,
            times,
            while: dice.chance(0.25) ? { of, below: 3.003 } : null,
            body: inner(),
          };
        }
        default: {
          const { waits } = this;
          this.waits = false;
          const body = inner();
          this.waits = waits;
          return { do: dice.pick(['noGrad', 'noGrad', 'enableGrad'] as const), body };
        }
      }
    });
  }

  /** Executes a candidate; whether it may stay. */
  private accept(stmt: Stmt): boolean {
    try {
      if (drain(this.interpreter.run(stmt)) !== null) return true;
    } catch {
      return false;
    }
    if (!('out' in stmt)) return true;
    const made = this.interpreter.scope.find(stmt.out);
    if (typeof made === 'number') return Math.abs(made) < 1e6;
    if (!isTensor(made)) return false;
    const t = made as Tensor;
    if (t.device !== 'cpu') return t.numel <= MAX_NUMEL;
    return t.numel <= MAX_NUMEL && readNumbers(t).every((v) => Math.abs(v) < MAX_VALUE);
  }

  /** Statements that run one after the other. */
  body(length: number, depth: number): Stmt[] {
    const kept: Stmt[] = [];
    for (let tries = 0; kept.length < length && tries < length * 6; tries++) {
      const stmt = this.candidate(depth);
      if (!fits(stmt, this.extras) || (this.reenters && readsGradients(stmt))) continue;
      if (!this.accept(stmt)) continue;
      kept.push(stmt);
      if (stmt.do === 'return') break;
    }
    return kept;
  }

  /** Statements for what was drawn for this program beside its body. */
  private wanted(): Stmt[] {
    const attempts = wantedStatements(this.extraDice, this.extras, this.interpreter.tensors(), () =>
      this.name('t'),
    );
    return attempts.flatMap((stmts) => stmts.find((stmt) => this.accept(stmt)) ?? []);
  }

  /** A function's body, which returns up to three tensors. */
  function(length: number): Stmt[] {
    const body = [...this.body(length, 2), ...this.wanted()];
    const names = this.interpreter.tensors().map(([name]) => name);
    const results = Array.from({ length: 1 + this.dice.below(3) }, () =>
      this.dice.chance(0.7)
        ? names[Math.max(0, names.length - 1 - this.dice.below(5))]!
        : this.dice.pick(names),
    );
    return [...body, { do: 'return', of: results }];
  }
}

/** Makes of a seed another for dice beside those of the program. */
const EXTRA_SEED = 0x2545f491;

function draw(seed: number, dice: Dice, extraDice: Dice, extras: Extras): Program {
  const forms = [
    ...Array.from({ length: 1 + dice.below(3) }, () => randomForm(dice)),
    ...extraForms(extraDice, extras),
  ];
  const capturedForms = Array.from({ length: dice.below(3) }, () => randomForm(dice));
  const captured = Object.fromEntries(
    capturedForms.map((form, i) => [`w${i}`, fillForm(dice, form, 4)]),
  );
  const base: Program = {
    seed,
    net: dice.chance(0.4) ? dice.pick(NETS) : null,
    optimizer: dice.chance(0.35) ? dice.pick(['sgd', 'momentum', 'adam'] as const) : null,
    form: dice.chance(0.7) ? 'positional' : dice.pick(['record', 'list'] as const),
    storeIsArgument: dice.chance(0.6),
    dynamic: dice.chance(0.8) ? null : dice.chance(0.5),
    library: extras.library,
    async: dice.chance(0.2),
    captured,
    body: [],
    calls: randomCalls(dice, forms, capturedForms, extras.sizes ? sizedBatches(extraDice) : null),
    repeats: 0,
  };
  const frame = withExtras(extraDice, base, extras);
  const world = new World(frame);
  world.prepare(frame.calls[0]!);
  const generator = new Generator(dice, world, frame, extras, extraDice);
  return { ...frame, body: generator.function(2 + dice.below(9)) };
}

/** Whether eager code runs a program; a kept argument may change its shape before it is used, and not fit any more. */
async function isRunning(program: Program): Promise<boolean> {
  try {
    return eagerError(await runEager(program)) === null;
  } catch (error) {
    if (isTesseraError(error)) return false;
    throw error;
  }
}

/** The program of a seed; one whose calls run eagerly. `only` draws nothing else beside the body. */
export function generateProgram(
  seed: number,
  only?: Partial<Extras> | null,
  devices: readonly FuzzDevice[] = ['cpu'],
): Promise<Program> {
  const dice = new Dice(seed);
  const extraDice = new Dice(seed ^ EXTRA_SEED);
  return config.patch({ 'eager.kernels': 'reference' }, async () => {
    for (;;) {
      const drawn = drawExtras(extraDice, devices);
      const extras = only == null ? drawn : { ...NO_EXTRAS, ...only };
      const program = draw(seed, dice, extraDice, extras);
      const seen = await runEager(program);
      if (eagerError(seen) === null) {
        if (!extras.kept) return program;
        const keeping = withKeptArguments(extraDice, program, seen);
        return (await isRunning(keeping)) ? keeping : program;
      }
      const [first] = program.calls;
      // What changed between the calls may be at fault.
      const steady = {
        ...program,
        calls: program.calls.map((call) => ({
          ...call,
          args: first!.args,
          replace: {},
          edits: [],
        })),
      };
      if (eagerError(await runEager(steady)) === null) return steady;
    }
  });
}
