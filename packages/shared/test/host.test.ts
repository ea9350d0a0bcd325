/**
 * @file Built-in modules of Node and worker threads.
 */
import { afterEach, describe, expect, it, vi } from 'vitest';
import { nodeBuiltin, startWorker } from '../src/index.js';

afterEach(() => vi.unstubAllGlobals());

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

describe('startWorker', () => {
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
