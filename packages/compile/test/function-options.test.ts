/**
 * @file The `options` of `compile`: each acts for its function alone, or is refused.
 */
import type { GraphModule } from '@tessera/graph';
import type { ErrorCode, TesseraError } from '@tessera/shared';
import { type Tensor, ones, tensor } from '@tessera/tensor';
import { describe, expect, it, vi } from 'vitest';
import { OPTION_SCOPES } from '../src/function-config.js';
import { type CompileOptions, compile, compiledFunctionOf, config } from '../src/index.js';

type Options = NonNullable<CompileOptions['options']>;

function refusal(options: Options): TesseraError {
  try {
    compile((x: Tensor) => x, { options });
  } catch (error) {
    return error as TesseraError;
  }
  throw new Error('Nothing was thrown.');
}

describe('options of compile', () => {
  it('have a scope each', () => {
    const options = config.describe().map(({ path }) => path);
    expect(Object.keys(OPTION_SCOPES).sort()).toEqual(options.sort());
  });

  it.each<[Options, ErrorCode, string, RegExp]>([
    [{ 'cpu.threads': 2 }, 'invalid-argument', "'cpu.threads' holds for the whole", /config\.set/],
    [{ cpu: { threads: 2 } }, 'invalid-argument', "'cpu.threads' holds for the", /config\.patch/],
    [{ 'eager.kernels': 'reference' }, 'invalid-argument', "'eager.kernels' holds", /config\.set/],
    [{ 'trace.recompileLimt': 2 }, 'unknown-config-key', 'recompileLimt', /recompileLimit'/],
    [{ trace: { verifi: 2 } }, 'unknown-config-key', 'trace.verifi', /'trace\.verify'/],
    [
      { 'trace.recompileLimit': 0 },
      'invalid-config-value',
      'expected an integer',
      /recompileLimit/,
    ],
  ])('that cannot act are refused: %o', (options, code, message, hint) => {
    const error = refusal(options);
    expect([error.code, error.message]).toEqual([code, expect.stringContaining(message)]);
    expect(error.hints.join()).toMatch(hint);
  });

  it('reach passes of the forward and, later, of the backward graph; of this function alone', () => {
    const seen: GraphModule[] = [];
    const pass = (_: unknown, module: GraphModule): void => void seen.push(module);
    const fn = (x: Tensor): Tensor => x.mul(x).sum();
    const call = compile(fn, { options: { postGradCustomPostPass: pass } });
    const x = tensor([1, 2], { requiresGrad: true });
    const y = call(x);
    const forward = seen.length;
    expect(forward).toBe(1);
    y.backward();
    expect([seen.length, x.grad!.toArray()]).toEqual([2, [2, 4]]);
    compile(fn)(ones([3]));
    expect(seen.length).toBe(2);
  });

  it('limit recompilations, in both spellings', () => {
    const warn = vi.spyOn(console, 'warn').mockImplementation(() => undefined);
    const fn = (x: Tensor, how: 'add' | 'sub' | 'mul' | 'div'): Tensor => x[how](2);
    for (const options of [{ 'trace.recompileLimit': 2 }, { trace: { recompileLimit: 2 } }]) {
      const [short, plain] = [compile(fn, { options }), compile(fn)];
      for (const how of ['add', 'sub', 'mul', 'div'] as const)
        for (const call of [short, plain])
          expect(call(ones([2]), how).toArray()).toEqual(fn(ones([2]), how).toArray());
      expect(compiledFunctionOf(short).captures.length).toBe(2);
      expect(compiledFunctionOf(plain).captures.length).toBe(4);
    }
    expect(config.get('trace.recompileLimit')).toBe(8);
    warn.mockRestore();
  });

  it('check skipped calls of one pure function', () => {
    let scale = 2;
    const fn = (x: Tensor): Tensor => x.mul(scale);
    const checked = compile(fn, { pure: true, options: { 'trace.verify': 1 } });
    const unchecked = compile(fn, { pure: true });
    for (const call of [checked, unchecked]) for (let i = 0; i < 2; i++) call(ones([2]));
    scale = 3;
    expect(() => checked(ones([2]))).toThrow(expect.objectContaining({ code: 'pure-stale' }));
    expect(unchecked(ones([2])).toArray()).toEqual([2, 2]);
  });

  it('do not hold for what runs while an async function waits', async () => {
    let go = (): void => undefined;
    const gate = new Promise<void>((resolve) => (go = resolve));
    const call = compile(
      async (x: Tensor) => {
        await gate;
        return x.mul(2);
      },
      { options: { 'trace.recompileLimit': 3 } },
    );
    const result = call(ones([2]));
    expect(config.get('trace.recompileLimit')).toBe(8);
    go();
    expect((await result).toArray()).toEqual([2, 2]);
  });
});
