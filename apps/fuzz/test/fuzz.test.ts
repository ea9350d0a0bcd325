/**
 * @file A short run of the fuzzer, and its parts: what it draws, minimises and prints.
 */
import { registerBackend } from '@tessera/compile';
import { type Tensor, isFloatingPoint } from '@tessera/tensor';
import { describe, expect, it } from 'vitest';
import { type Mismatch, checkProgram } from '../src/check.js';
import { generateProgram } from '../src/generate.js';
import { minimise } from '../src/minimise.js';
import { DEFAULT_BACKENDS, readOptions } from '../src/options.js';
import type { Program } from '../src/program.js';
import { runFuzz } from '../src/run.js';
import { runPrinted } from './run-printed.js';

describe('pnpm fuzz', () => {
  it.each([20261121, 7_000_000])(
    '30 programs from seed %i behave compiled as they do eagerly',
    { timeout: 240_000 },
    async (seed) => {
      const found: string[] = [];
      const { mismatches } = await runFuzz(
        {
          n: 30,
          seed,
          backends: DEFAULT_BACKENDS,
          extras: null,
          training: false,
          dynamic: false,
          devices: ['cpu'],
        },
        (file) => found.push(file),
      );
      expect(found.join('\n')).toBe('');
      expect(mismatches).toBe(0);
    },
  );

  it('runs programs at many sizes, by code for all and by code for each', async () => {
    const found: string[] = [];
    const options = {
      n: 6,
      seed: 77,
      extras: null,
      training: false,
      dynamic: true,
      devices: ['cpu'],
    } as const;
    await runFuzz({ ...options, backends: ['inductor'] }, (file) => found.push(file));
    expect(found.join('\n')).toBe('');
    // Both forms reach the backend: sizes are symbols in some graphs and numbers in all others.
    const graphs: string[] = [];
    registerBackend('listening', (module) => {
      graphs.push(module.print());
      return (inputs) => module.forward(...inputs) as Tensor[];
    });
    await runFuzz({ ...options, n: 3, backends: ['listening'] }, (file) => found.push(file));
    expect(found).toEqual([]);
    const symbolic = graphs.filter((text) => /\[.*\bs\d+\b.*\]/.test(text));
    expect(symbolic.length).toBeGreaterThan(0);
    expect(symbolic.length).toBeLessThan(graphs.length);
  }, 120_000);

  it('draws the same program from the same seed', async () => {
    const five = await generateProgram(5);
    expect(await generateProgram(5)).toEqual(five);
    expect((await generateProgram(6)).body).not.toEqual(five.body);
  });

  it('draws programs with everything in them', { timeout: 60_000 }, async () => {
    let text = '';
    for (let i = 0; i < 150; i++) text += JSON.stringify(await generateProgram(i));
    const statements =
      'op item await if for noGrad enableGrad backward grad hook custom module step clearGrad effect read capture break disabled throw return'.split(
        ' ',
      );
    for (const name of statements) expect(text).toContain(`"do":"${name}"`);
    for (const part of [
      'add_',
      'transpose',
      '"kind":"again"',
      'alias',
      'captured.k',
      'store.count',
      '"waits":true',
      '"meanwhile":"call"',
    ])
      expect(text).toContain(part);
    expect(text).toMatch(/"do":"hook","of":"[\w.]+","kind":"again"/);
  });

  it('asks no order of leaves: where a hook calls the function, it does nothing with their gradients', async () => {
    let hooked = 0;
    for (let i = 0; i < 150; i++) {
      const text = JSON.stringify((await generateProgram(i)).body);
      if (!text.includes('"kind":"again"')) continue;
      hooked++;
      expect(text).not.toMatch(/"do":"(step|clearGrad)"/);
    }
    expect(hooked).toBeGreaterThan(5);
  });

  it('prints functions that return nothing', { timeout: 60_000 }, async () => {
    const whole = await generateProgram(1);
    const calls = whole.calls.map((call) => ({ ...call, meanwhile: 'call' as const }));
    const program: Program = { ...whole, async: true, body: [], calls };
    expect(await runPrinted({ program, backend: 'aot_eager', text: '' })).toBe('no difference');
  });

  it('refuses bad arguments and reads good ones', () => {
    expect(() => readOptions(['--n', 'many'])).toThrow(/whole number/);
    expect(() => readOptions(['--backends', 'nowhere'])).toThrow(/no backend 'nowhere'/);
    expect(readOptions(['--n', '3', '--seed', '9', '--backends', 'eager'])).toEqual({
      n: 3,
      seed: 9,
      backends: ['eager'],
      extras: null,
      training: null,
      dynamic: false,
      devices: ['cpu'],
      workers: 1,
      json: false,
    });
    expect(readOptions(['--dynamic'])).toMatchObject({ extras: null, dynamic: true });
  });
});

describe('a backend with a bug', () => {
  // Results of one column are off by one.
  registerBackend('off_by_one', (module) => (inputs) => {
    const outputs = module.forward(...inputs) as Tensor[];
    return outputs.map((t) =>
      t.shape.at(-1) === 1 && isFloatingPoint(t.dtype) ? t.add(1).detach() : t,
    );
  });

  async function firstMismatch(): Promise<Mismatch> {
    for (let seed = 0; ; seed++) {
      const mismatch = await checkProgram(await generateProgram(seed), ['off_by_one']);
      if (mismatch !== null) return mismatch;
    }
  }

  it('is found, minimised, and printed as a file that shows it', { timeout: 120_000 }, async () => {
    const found = await firstMismatch();
    const small = await minimise(found);
    expect(small.program.body.length).toBeLessThanOrEqual(3);
    expect(small.program.calls.length).toBeLessThanOrEqual(found.program.calls.length);
    expect(await runPrinted(small)).toContain('instead of');
  });
});
