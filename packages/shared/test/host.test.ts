/**
 * @file Built-in modules of Node and worker threads.
 */
import { afterEach, describe, expect, it, vi } from 'vitest';
import {
  browserWorkerScript,
  canGenerateCode,
  environmentVariable,
  nodeBuiltin,
  startWorker,
} from '../src/index.js';

afterEach(() => {
  vi.unstubAllGlobals();
  vi.resetModules();
});

describe('nodeBuiltin', () => {
  it('finds modules of Node, and nothing that does not exist', () => {
    expect(nodeBuiltin<{ sep: string }>('node:path')!.sep).toMatch(/[/\\]/);
    expect(nodeBuiltin('node:no-such-module')).toBeNull();
  });

  it('is null where the host is not Node', () => {
    vi.stubGlobal('process', undefined);
    expect(nodeBuiltin('node:path')).toBeNull();
  });
});

describe('environmentVariable', () => {
  it('is what the environment says, and undefined where there is none', () => {
    vi.stubEnv('TESSERA_TEST_VARIABLE', 'here');
    expect(environmentVariable('TESSERA_TEST_VARIABLE')).toBe('here');
    vi.unstubAllEnvs();
    expect(environmentVariable('TESSERA_TEST_VARIABLE')).toBeUndefined();
    vi.stubGlobal('process', undefined);
    expect(environmentVariable('PATH')).toBeUndefined();
  });

  it('does not touch the environment where permission would have to be asked for', () => {
    const env = new Proxy({}, { get: () => 'value' });
    const read = vi.fn(() => env);
    vi.stubGlobal('process', Object.defineProperty({}, 'env', { get: read }));
    let state = 'prompt';
    vi.stubGlobal('Deno', { permissions: { querySync: () => ({ state }) } });
    expect(environmentVariable('TESSERA_LOGS')).toBeUndefined();
    expect(read).not.toHaveBeenCalled();
    state = 'granted';
    expect(environmentVariable('TESSERA_LOGS')).toBe('value');
  });
});

describe('canGenerateCode', () => {
  it('asks the host once', async () => {
    expect(canGenerateCode()).toBe(true);
    vi.resetModules();
    const fresh = await import('../src/index.js');
    const refuse = vi.fn(() => {
      throw new EvalError('Code generation from strings disallowed for this context');
    });
    vi.stubGlobal('Function', refuse);
    expect([fresh.canGenerateCode(), fresh.canGenerateCode()]).toEqual([false, false]);
    expect(refuse).toHaveBeenCalledTimes(1);
  });
});

describe('startWorker', () => {
  it('uses the script that a page hosts, and makes no blob then', () => {
    const started: unknown[] = [];
    vi.stubGlobal('process', undefined);
    const makeBlob = vi.spyOn(URL, 'createObjectURL');
    const revoke = vi.spyOn(URL, 'revokeObjectURL');
    vi.stubGlobal(
      'Worker',
      class {
        constructor(url: unknown) {
          started.push(url);
        }
        addEventListener(): void {}
        terminate(): void {}
      },
    );
    const trusted = { toJSON: () => '/worker.js' };
    for (const url of ['/worker.js', trusted, null])
      startWorker({ program: 'x', name: 'test', failed: () => undefined, url })!.stop();
    expect(started.slice(0, 2)).toEqual(['/worker.js', trusted]);
    expect(started[2]).toMatch(/^blob:/);
    expect(makeBlob).toHaveBeenCalledTimes(1);
    // What the page made stays the page's.
    expect(revoke.mock.calls).toEqual([[started[2]]]);
    expect(browserWorkerScript('function receive() {}')).toMatch(
      /self\.onmessage[^]*function receive/,
    );
  });

  it('posts messages, hears answers and stops', async () => {
    const program =
      'function receive({ n }) { const b = new Uint8Array(n); answer(b, [b.buffer]); }';
    const bytes = await new Promise<Uint8Array>((answered, failed) => {
      const worker = startWorker({
        program,
        name: 'test',
        failed,
        answered: (message: Uint8Array) => {
          worker.stop();
          answered(message);
        },
      })!;
      worker.post({ n: 3 });
    });
    expect(bytes).toEqual(new Uint8Array(3));
  });

  it('tells of an error that the program throws', async () => {
    const error = await new Promise<Error>((failed) => {
      const worker = startWorker({ program: 'receive = () => missing;', name: 'test', failed });
      worker!.post({});
    });
    expect(error.message).toContain('missing');
  });

  it('is null where the host has no workers', () => {
    vi.stubGlobal('process', undefined);
    vi.stubGlobal('Worker', undefined);
    const failed = (error: Error): never => {
      throw error;
    };
    expect(startWorker({ program: '', name: 'test', failed })).toBeNull();
  });
});
