/**
 * @file The persistent cache, in a folder: what is asked of the server, what is kept, and what damage does.
 */
import { existsSync, mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { env } from 'node:process';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import {
  type LoadCheckpointOptions,
  type Tensor,
  clearCheckpointCache,
  cpuHeap,
  loadCheckpoint,
  randn,
  serializeSafetensors,
  tensor,
} from '../src/index.js';
import { type FileServer, type ServedFile, serveFiles } from './support/file-server.js';

/** More than two blocks of 1 MiB. */
const bytes = serializeSafetensors({ a: randn([700_000]), b: tensor([1, 2, 3]) });

let server: FileServer;
let folder: string;

beforeAll(async () => {
  server = await serveFiles();
});
afterAll(() => server[Symbol.asyncDispose]());
beforeEach(() => {
  server.files.clear();
  server.seen.length = 0;
  delete server.before;
  folder = mkdtempSync(join(tmpdir(), 'checkpoint-cache-'));
  return () => rmSync(folder, { recursive: true, force: true });
});

function serve(how: Partial<ServedFile> = {}, path = '/model.safetensors'): string {
  server.files.set(path, { bytes, ...how });
  return server.url + path;
}

const load = (
  address: string,
  options: LoadCheckpointOptions = {},
): Promise<Record<string, Tensor>> =>
  loadCheckpoint(address, { cache: { folder: join(folder, 'kept') }, ...options });

const entries = (): string[] =>
  existsSync(join(folder, 'kept')) ? readdirSync(join(folder, 'kept')) : [];
const statuses = (): number[] => server.seen.map(({ status }) => status);

function expectModel(loaded: Record<string, Tensor>): void {
  expect(Object.keys(loaded).sort()).toEqual(['a', 'b']);
  const again = Buffer.from(serializeSafetensors(loaded));
  expect(again.equals(Buffer.from(bytes))).toBe(true);
}

describe('a download', () => {
  it('is kept, and the server only asked whether it is still the same', async () => {
    const address = serve({ etag: '"v1"' });
    expectModel(await load(address));
    expect(entries()).toHaveLength(1);
    expectModel(await load(address));
    expectModel(await load(address, { keys: () => true }));
    expect(statuses()).toEqual([200, 304, 304]);
  });

  it('is known again by date and length where there is no tag', async () => {
    const address = serve({ lastModified: 'Sun, 22 Nov 2026 10:00:00 GMT' });
    await load(address);
    server.files.get('/model.safetensors')!.stallAt = 1000;
    expectModel(await load(address));
    expect(server.seen[1]!.headers['if-modified-since']).toBe('Sun, 22 Nov 2026 10:00:00 GMT');
    // This server does not answer 304; what it begins to send is not waited for.
    await expect.poll(() => server.seen[1]!.abandoned).toBe(true);
  });

  it('is fetched again when the server has another version', async () => {
    const address = serve({ etag: '"v1"' });
    await load(address);
    server.files.set('/model.safetensors', {
      bytes: serializeSafetensors({ c: tensor([4]) }),
      etag: '"v2"',
    });
    expect((await load(address)).c!.toArray()).toEqual([4]);
    expect((await load(address)).c!.toArray()).toEqual([4]);
    expect(statuses()).toEqual([200, 200, 304]);
    expect(entries()).toHaveLength(1);
  });

  it('is used as it is without a connection', async () => {
    const other = await serveFiles({ '/m.safetensors': { bytes, etag: '"v1"' } });
    const address = `${other.url}/m.safetensors`;
    await load(address);
    await other[Symbol.asyncDispose]();
    expectModel(await load(address));
  });

  it('is kept decoded when it came compressed, and with all shards of an index', async () => {
    serve({ etag: '"v1"', gzip: true }, '/one.safetensors');
    const index = { weight_map: { a: 'one.safetensors', b: 'one.safetensors' } };
    const json = new TextEncoder().encode(JSON.stringify(index));
    server.files.set('/m.index.json', { bytes: json, etag: '"i"' });
    expectModel(await load(`${server.url}/m.index.json`));
    expectModel(await load(`${server.url}/m.index.json`));
    expect(statuses()).toEqual([200, 200, 304, 304]);
  });

  it.each([
    ['nothing tells its versions apart', { etag: undefined }, {}],
    ['some keys are chosen', { etag: '"v1"' }, { keys: ['b'] }],
    [
      'some keys are chosen and asked for as parts',
      { etag: '"v1"', ranges: true },
      { keys: ['b'] },
    ],
  ])('is not kept when %s', async (_when, how, options) => {
    const address = serve(how as Partial<ServedFile>);
    await load(address, options);
    expect(entries()).toEqual([]);
  });

  it('leaves nothing when it breaks off, is aborted, or is no checkpoint', async () => {
    const cut = serve({ etag: '"v1"', cutAt: 1_500_000 });
    await expect(load(cut)).rejects.toMatchObject({ code: 'source-unreadable' });
    const stalled = serve({ etag: '"v1"', stallAt: 1_500_000 });
    const signal = AbortSignal.timeout(100);
    await expect(load(stalled, { signal })).rejects.toMatchObject({ name: 'TimeoutError' });
    const page = serve({ etag: '"v1"', bytes: new TextEncoder().encode('<!doctype html>') });
    await expect(load(page)).rejects.toMatchObject({ code: 'safetensors-invalid' });
    expect(entries()).toEqual([]);
  });

  it('is loaded all the same where it cannot be kept', async () => {
    writeFileSync(join(folder, 'kept'), 'a file where the folder would be');
    expectModel(await load(serve({ etag: '"v1"' })));
  });
});

describe('an entry', () => {
  const path = (): string => join(folder, 'kept', entries()[0]!);

  it('that was damaged anywhere is fetched again, and nothing is left of the attempt', async () => {
    const address = serve({ etag: '"v1"' });
    await load(address);
    const good = readFileSync(path());
    const places = [0, 100, 1 << 20, bytes.length - 1, bytes.length + 5, good.length - 1];
    for (const at of places) {
      const bad = Buffer.from(good);
      bad[at]! ^= 1;
      writeFileSync(path(), bad);
      const before = cpuHeap().stats().liveBytes;
      const loaded = await load(address);
      expectModel(loaded);
      for (const value of Object.values(loaded)) value.dispose();
      expect(cpuHeap().stats().liveBytes).toBeLessThanOrEqual(before);
      expect(readFileSync(path()).equals(good), `byte ${at}`).toBe(true);
    }
  });

  it('that was cut off, or has been replaced by something else, is none', async () => {
    const address = serve({ etag: '"v1"' });
    await load(address);
    const good = readFileSync(path());
    for (const bad of [good.subarray(0, -1), good.subarray(0, 3), Buffer.alloc(100)]) {
      writeFileSync(path(), bad);
      expectModel(await load(address));
    }
    expect(server.seen.every(({ status }) => status === 200)).toBe(true);
  });

  it('is checked also where only parts of it are read', async () => {
    const address = serve({ etag: '"v1"' });
    await load(address);
    const bad = readFileSync(path());
    bad[500_000]! ^= 1;
    writeFileSync(path(), bad);
    const { b } = await load(address, { keys: ['b'] });
    expect(b!.toArray()).toEqual([1, 2, 3]);
  });
});

describe('caches', () => {
  it('lie in the user’s cache folder, by name, and can be emptied', async () => {
    const home = env.XDG_CACHE_HOME;
    env.XDG_CACHE_HOME = folder;
    try {
      const address = serve({ etag: '"v1"' });
      await loadCheckpoint(address, { cache: true });
      await loadCheckpoint(address, { cache: 'mine' });
      const kept = (name: string): string[] => readdirSync(join(folder, 'tessera', name));
      expect([kept('checkpoints').length, kept('mine').length]).toEqual([1, 1]);
      writeFileSync(join(folder, 'tessera/mine/notes.txt'), 'not of the cache');
      await clearCheckpointCache('mine');
      expect([kept('checkpoints').length, kept('mine')]).toEqual([1, ['notes.txt']]);
      await clearCheckpointCache();
      expect(kept('checkpoints')).toEqual([]);
    } finally {
      if (home === undefined) delete env.XDG_CACHE_HOME;
      else env.XDG_CACHE_HOME = home;
    }
  });

  it('have names that are no paths', async () => {
    for (const cache of ['../up', 'a/b', '..', ''])
      await expect(loadCheckpoint(bytes, { cache })).rejects.toMatchObject({
        code: 'invalid-argument',
      });
  });
});
