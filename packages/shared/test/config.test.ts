import { describe, expect, expectTypeOf, it } from 'vitest';
import { config, defineConfig, integerIn, oneOf, option } from '../src/index.js';
import { thrownBy } from './thrown-by.js';

const root = defineConfig('', {
  freezing: option(false, 'fold parameters into the compiled code'),
});
const trace = defineConfig('trace', {
  verify: option(true, 'replay a skipped call now and then'),
  recompileLimit: option(8, 'compiled versions per function', integerIn(1, 64)),
  mode: option<'replay' | 'skip'>(
    'replay',
    'how a cached function runs',
    oneOf(['replay', 'skip']),
  ),
});
const cpu = defineConfig('inductor.cpu', {
  threads: option(0, 'worker threads; 0 for all cores', integerIn(0)),
  hook: option<(() => void) | undefined>(undefined, 'called after code generation', (value) =>
    value === undefined || typeof value === 'function' ? undefined : 'expected a function',
  ),
});

describe('defineConfig', () => {
  it('returns a typed live view', () => {
    expect(trace.verify).toBe(true);
    expectTypeOf(trace.recompileLimit).toEqualTypeOf<number>();
    expectTypeOf(trace.mode).toEqualTypeOf<'replay' | 'skip'>();
    expectTypeOf(cpu.hook).toEqualTypeOf<(() => void) | undefined>();
    config.patch({ 'trace.verify': false }, () => expect(trace.verify).toBe(false));
  });

  it('adds to a section, and accepts the same option again', () => {
    const more = defineConfig('trace', {
      verify: option(true, 'replay a skipped call now and then'),
      later: option('x', 'an option defined by another file'),
    });
    expect(more).toBe(trace);
    expect(more.later).toBe('x');
  });

  it('rejects another option under the same name, and a default that its validator refuses', () => {
    expect(thrownBy(() => defineConfig('trace', { verify: option(1, 'another') })).code).toBe(
      'invalid-argument',
    );
    expect(thrownBy(() => defineConfig('bad', { n: option(0, 'help', integerIn(1)) })).code).toBe(
      'invalid-argument',
    );
  });
});

describe('config', () => {
  it('takes no options as fields, where nothing would read them', () => {
    expect(() => Object.assign(config, { freezing: true })).toThrow(TypeError);
    expect(root.freezing).toBe(false);
  });
});

describe('config.patch', () => {
  it('takes paths, nested records and root keys, and restores afterwards', () => {
    const seen = config.patch(
      { freezing: true, 'trace.recompileLimit': 2, inductor: { cpu: { threads: 3 } } },
      () => [root.freezing, trace.recompileLimit, cpu.threads],
    );
    expect(seen).toEqual([true, 2, 3]);
    expect([root.freezing, trace.recompileLimit, cpu.threads]).toEqual([false, 8, 0]);
  });

  it('restores when the function throws, and passes the error on', () => {
    const failure = new Error('inside');
    expect(() =>
      config.patch({ trace: { recompileLimit: 1 } }, () => {
        throw failure;
      }),
    ).toThrow(failure);
    expect(trace.recompileLimit).toBe(8);
  });

  it('restores an async function when its promise settles', async () => {
    const pending = config.patch({ trace: { recompileLimit: 3 } }, async () => {
      await Promise.resolve();
      return trace.recompileLimit;
    });
    expect(trace.recompileLimit).toBe(3);
    expect(await pending).toBe(3);
    expect(trace.recompileLimit).toBe(8);
    await expect(
      config.patch({ trace: { recompileLimit: 4 } }, async () => {
        await Promise.resolve();
        throw new Error('later');
      }),
    ).rejects.toThrow('later');
    expect(trace.recompileLimit).toBe(8);
  });

  it('nests, innermost first', () => {
    config.patch({ trace: { recompileLimit: 2 } }, () => {
      config.patch({ trace: { recompileLimit: 3 } }, () => expect(trace.recompileLimit).toBe(3));
      expect(trace.recompileLimit).toBe(2);
    });
    expect(trace.recompileLimit).toBe(8);
  });

  it('lasts until it is disposed, and disposing twice does nothing', () => {
    {
      using _patch = config.patch({ trace: { mode: 'skip' } });
      expect(trace.mode).toBe('skip');
    }
    expect(trace.mode).toBe('replay');
    const patch = config.patch({ 'trace.mode': 'skip' });
    patch[Symbol.dispose]();
    config.patch({ 'trace.mode': 'skip' }, () => {
      patch[Symbol.dispose]();
      expect(trace.mode).toBe('skip');
    });
  });

  it('gives the right value when patches close in another order than they opened', () => {
    const first = config.patch({ 'trace.recompileLimit': 2 });
    const second = config.patch({ 'trace.recompileLimit': 3 });
    first[Symbol.dispose]();
    expect(trace.recompileLimit).toBe(3);
    second[Symbol.dispose]();
    expect(trace.recompileLimit).toBe(8);
  });

  it('changes nothing when one of the values is not valid', () => {
    const error = thrownBy(() =>
      config.patch({ freezing: true, 'trace.recompileLimit': 0 }, () => 'ran'),
    );
    expect(error.code).toBe('invalid-config-value');
    expect(root.freezing).toBe(false);
  });
});

describe('config.set', () => {
  it('changes a value for good, but inside a patch only until the patch closes', () => {
    config.set({ 'trace.recompileLimit': 16 });
    expect(trace.recompileLimit).toBe(16);
    config.patch({ 'trace.recompileLimit': 2 }, () => {
      config.set({ 'trace.recompileLimit': 4 });
      expect(trace.recompileLimit).toBe(4);
    });
    expect(trace.recompileLimit).toBe(16);
    config.set({ trace: { recompileLimit: 8 } });
  });
});

describe('bad input', () => {
  it('an unknown key names the nearest options and lists all', () => {
    const error = thrownBy(() => config.get('trace.recompileLimt'));
    expect(error.code).toBe('unknown-config-key');
    expect(error.hints).toEqual(["Did you mean 'trace.recompileLimit'?"]);
    expect(error.message).toContain('inductor.cpu.threads');
    expect(thrownBy(() => config.patch({ threads: 2 })).hints[0]).toContain(
      "'inductor.cpu.threads'",
    );
    expect(thrownBy(() => config.set({ trace: { nope: 1 } })).code).toBe('unknown-config-key');
    expect(thrownBy(() => config.set({ trace: 1 })).code).toBe('unknown-config-key');
  });

  it('a value of the wrong type, or one the validator refuses, says what is expected', () => {
    const wrongType = thrownBy(() => config.set({ 'trace.verify': 'yes' }));
    expect(wrongType.code).toBe('invalid-config-value');
    expect(wrongType.message).toContain("does not accept 'yes': expected boolean, got string");
    expect(thrownBy(() => config.set({ 'trace.mode': 'fast' })).message).toContain(
      "expected one of 'replay', 'skip'",
    );
    expect(thrownBy(() => config.set({ 'trace.recompileLimit': 65 })).message).toContain(
      'from 1 to 64',
    );
    expect(thrownBy(() => config.set({ 'inductor.cpu.hook': 3 })).message).toContain(
      'expected a function',
    );
    config.patch({ 'inductor.cpu.hook': () => undefined }, () =>
      expect(cpu.hook).toBeTypeOf('function'),
    );
  });
});

describe('config.describe', () => {
  it('lists every option with value, default and help', () => {
    config.patch({ freezing: true }, () => {
      expect(config.describe()).toContainEqual({
        path: 'freezing',
        value: true,
        defaultValue: false,
        help: 'fold parameters into the compiled code',
      });
    });
    expect(config.describe().map(({ path }) => path)).toContain('inductor.cpu.threads');
    expect(config.get('trace.mode')).toBe('replay');
  });
});
