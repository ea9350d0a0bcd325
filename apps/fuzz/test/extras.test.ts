/**
 * @file What programs have beside their statements: each kind is drawn and runs, and a fault of its kind is found.
 */
import { registerBackend, reset } from '@tessera/compile';
import { type Tensor, isFloatingPoint, noGrad } from '@tessera/tensor';
import { readNumbers, writeNumbers } from '@tessera/tensor/internal';
import { describe, expect, it } from 'vitest';
import { type Mismatch, checkProgram } from '../src/check.js';
import { type Extras, NO_EXTRAS, drawExtras } from '../src/extras.js';
import { Dice } from '../src/dice.js';
import { generateProgram } from '../src/generate.js';
import type { Program } from '../src/program.js';
import { runPrinted } from './run-printed.js';

type Backend = (...inputs: Tensor[]) => Tensor[];

/** Registers a backend that is right but for what `fault` makes of each graph. */
function faulty(name: string, fault: (run: Backend) => Backend): void {
  registerBackend(name, (module) => {
    const broken = fault((...inputs) => module.forward(...inputs) as Tensor[]);
    return (inputs) => broken(...(inputs as Tensor[]));
  });
}

/** The first program with an extra that `backend` gets wrong. */
async function firstMismatch(
  extra: keyof Extras,
  backend: string,
  most = 60,
): Promise<Mismatch | null> {
  for (let seed = 0; seed < most; seed++) {
    const program = await generateProgram(seed, { [extra]: true });
    const found = await checkProgram(program, [backend]);
    reset();
    if (found !== null) return found;
  }
  return null;
}

/** Programs of the first seeds, with one extra. */
function drawn(extra: keyof Extras, count = 12): Promise<Program[]> {
  return Promise.all(
    Array.from({ length: count }, (_, seed) => generateProgram(seed, { [extra]: true })),
  );
}

const CPU_EXTRAS = Object.keys(NO_EXTRAS).filter((name) => name !== 'devices');

describe('what is drawn', () => {
  it('is each kind now and then, and both devices only where they are asked for', () => {
    const dice = new Dice(1);
    const many = Array.from({ length: 400 }, () => drawExtras(dice, ['cpu']));
    for (const name of CPU_EXTRAS)
      expect(many.filter((extras) => extras[name as keyof Extras]).length, name).toBeGreaterThan(2);
    expect(many.some(({ devices }) => devices)).toBe(false);
    const both = Array.from({ length: 20 }, () => drawExtras(dice, ['cpu', 'wgpu']));
    expect(both.some(({ devices }) => devices)).toBe(true);
  });

  it.each(CPU_EXTRAS)(
    'programs with %s behave eagerly as themselves',
    { timeout: 60_000 },
    async (name) => {
      for (let seed = 0; seed < 6; seed++) {
        const program = await generateProgram(seed, { [name]: true });
        expect(await checkProgram(program, ['eager'])).toBeNull();
      }
    },
  );

  it('has every change of a module', { timeout: 60_000 }, async () => {
    const text = JSON.stringify(await drawn('edits', 40));
    const names = 'append insert replace remove swap attribute training hook requiresGrad';
    for (const name of names.split(' ')) expect(text).toContain(`"edit":"${name}"`);
  });

  it('has indices out of range, kept arguments, and what was overwritten', async () => {
    expect(JSON.stringify(await drawn('indices'))).toMatch(/"data":\[[^\]]*(99|1000|-1|-7)/);
    const kept = JSON.stringify(await drawn('kept', 30));
    expect(kept).toContain('"kind":"kept"');
    expect(kept).toMatch(/"overwrite":\[\d/);
    expect(kept).toContain('"unseen":true');
  });

  it('selects nothing of empty batches', async () => {
    for (let seed = 0; seed < 400; seed++) {
      const program = await generateProgram(seed, { ...NO_EXTRAS, sizes: true });
      for (const { args } of program.calls)
        for (const arg of args) {
          if (arg.kind !== 'alias' || arg.views[0]?.name !== 'select') continue;
          const of = args[arg.of]!;
          if (of.kind !== 'new') continue;
          const [shape] = of.tensor.views[0]!.args as [readonly number[]];
          expect(shape.includes(0), `seed ${seed}`).toBe(false);
        }
    }
  });

  it('has divisions of whole numbers, numbers that become whole, and equal modules', async () => {
    expect(JSON.stringify(await drawn('integers'))).toMatch(/floorDivide|roundingMode/);
    expect(JSON.stringify(await drawn('blocks'))).toContain('"kind":"blocks"');
    const numbers = await drawn('numbers');
    const wholes = numbers.map(({ calls }) => calls.map(({ k }) => Number.isInteger(k)));
    expect(wholes.some((call) => call.includes(true) && call.includes(false))).toBe(true);
  });
});

describe('a fault', () => {
  const graphs = new Map<number, Backend>();
  // Runs the first graph with as many inputs instead of a later one.
  faulty('first_graph', (run) => (...inputs) => {
    const known = graphs.get(inputs.length);
    if (known === undefined) graphs.set(inputs.length, run);
    return (known ?? run)(...inputs);
  });

  it(
    'a stale network is found where modules change, and not without the change',
    { timeout: 240_000 },
    async () => {
      let shown = false;
      for (let seed = 0; seed < 60 && !shown; seed++) {
        const program = await generateProgram(seed, { edits: true });
        graphs.clear();
        const found = await checkProgram(program, ['first_graph']);
        graphs.clear();
        const calls = program.calls.map((call) => ({ ...call, edits: [] }));
        shown =
          found !== null && (await checkProgram({ ...program, calls }, ['first_graph'])) === null;
      }
      expect(shown).toBe(true);
    },
  );

  faulty(
    'clamps_indices',
    (run) =>
      (...inputs) =>
        run(...inputs.map((t) => (t.dtype === 'int64' ? t.clamp(0, 0) : t))),
  );
  it('clamped indices are found', { timeout: 120_000 }, async () => {
    const found = await firstMismatch('indices', 'clamps_indices');
    // Whichever shows first: what was written elsewhere, or the error that did not come.
    expect(found?.text).toMatch(/captured\.sink|thrown: null, not index-out-of-range/);
  });

  faulty('half_done', (run) => (...inputs) => {
    try {
      return run(...inputs);
    } catch (error) {
      noGrad(() => inputs.find((t) => isFloatingPoint(t.dtype))?.add_(1));
      throw error;
    }
  });
  it('a write in spite of an index out of range is found', { timeout: 120_000 }, async () => {
    expect((await firstMismatch('indices', 'half_done'))?.text).toContain('changed');
  });

  faulty('reuses_results', (run) => {
    let before: Tensor[] = [];
    return (...inputs) => {
      const outputs = run(...inputs);
      before.forEach((t, i) => {
        const now = outputs[i];
        if (now?.shape.join() === t.shape.join() && now.dtype === t.dtype)
          writeNumbers(t, readNumbers(now));
      });
      before = outputs;
      return outputs;
    };
  });
  it('results whose memory is used again are found', { timeout: 120_000 }, async () => {
    const found = await firstMismatch('kept', 'reuses_results', 400);
    expect(found?.text).toMatch(/a\d|store|captured/);
    expect(JSON.stringify(found?.program)).toContain('"kind":"kept"');
  });

  const leaked: Tensor[] = [];
  faulty('leaks', (run) => (...inputs) => {
    const outputs = run(...inputs);
    for (const t of outputs) leaked.push(t.detach().clone());
    return outputs;
  });
  it('memory that is never given back is found', { timeout: 120_000 }, async () => {
    expect((await firstMismatch('memory', 'leaks'))?.text).toMatch(/memory grows by \d+ bytes/);
  });

  faulty(
    'whole_off',
    (run) =>
      (...inputs) =>
        run(...inputs).map((t) => (t.dtype.startsWith('int') ? t.add(1).detach() : t)),
  );
  it('wrong quotients are found', { timeout: 120_000 }, async () => {
    expect(await firstMismatch('integers', 'whole_off')).not.toBeNull();
  });

  it.each(['numbers', 'blocks'] as const)(
    'stale %s are found',
    { timeout: 120_000 },
    async (name) => {
      graphs.clear();
      let weight: Tensor | null = null;
      faulty(
        'first_weight',
        (run) =>
          (...inputs) =>
            run(
              ...inputs.map((t) => {
                if (t.shape.join() !== '3,3' || !t.requiresGrad) return t;
                weight ??= t;
                return weight;
              }),
            ),
      );
      const found = await firstMismatch(name, name === 'numbers' ? 'first_graph' : 'first_weight');
      expect(found).not.toBeNull();
    },
  );
});

describe('a printed program', () => {
  it.each(CPU_EXTRAS)('with %s runs', { timeout: 60_000 }, async (name) => {
    const program = await generateProgram(3, { [name]: true });
    expect(await runPrinted({ program, backend: 'eager', text: '' })).toBe('no difference');
  });
});
