/**
 * @file The `mode` of `compile`: presets, and what is refused.
 */
import { type Tensor, randn } from '@tessera/tensor';
import { describe, expect, it } from 'vitest';
import { type CompileOptions, compile, config, registerBackend } from '../src/index.js';

const fn = (x: Tensor): Tensor => x.matmul(x).add(1);
const x = randn([4, 4]);

describe('compile modes', () => {
  it.each(['default', 'max-autotune'] as const)('%s gives what eager gives', (mode) => {
    const compiled = compile(fn, { mode });
    for (let i = 0; i < 2; i++) expect(compiled(x).toArray()).toEqual(fn(x).toArray());
  });

  it('sets its options while the function is compiled, and not longer', () => {
    const seen: unknown[] = [];
    registerBackend('notes-mode', (module) => {
      seen.push(config.get('maxAutotune'));
      return (inputs) => module.forward(...inputs) as Tensor[];
    });
    for (const options of [
      { mode: 'max-autotune' },
      { mode: 'default' },
      { options: { maxAutotune: true } },
      {},
    ] as const)
      compile(fn, { ...options, backend: 'notes-mode' })(x);
    expect(seen).toEqual([true, false, true, false]);
    expect(config.get('maxAutotune')).toBe(false);
  });

  it.each<[CompileOptions | { mode: string }, string, string]>([
    [{ mode: 'max-autotune', options: { maxAutotune: false } }, 'either mode or options', 'write'],
    [{ mode: 'default', options: {} }, 'either mode or options', 'options: {}'],
    [{ mode: 'reduce-overhead' }, "no mode 'reduce-overhead'", 'one launch'],
    [{ mode: 'max-autotune-no-cudagraphs' }, 'no mode', "write mode: 'max-autotune'"],
    [{ mode: 'max-autotun' }, "no mode 'max-autotun'", "Did you mean 'max-autotune'?"],
    [{ mode: 'toString' }, "no mode 'toString'", 'Leave it out.'],
  ])('refuses %j', (options, message, hint) => {
    let error: unknown;
    try {
      compile(fn, options as CompileOptions);
    } catch (caught) {
      error = caught;
    }
    expect(error).toMatchObject({
      code: 'invalid-argument',
      message: expect.stringContaining(message) as string,
      hints: [expect.stringContaining(hint)],
    });
  });
});
