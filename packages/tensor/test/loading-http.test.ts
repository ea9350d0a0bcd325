/**
 * @file Checkpoints from addresses: parts of files, compressed answers, files that change, and giving up.
 */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import {
  type LoadProgress,
  type Tensor,
  arange,
  cpuHeap,
  loadCheckpoint,
  serializeSafetensors,
  streamSafetensors,
} from '../src/index.js';
import { type FileServer, type ServedFile, serveFiles } from './support/file-server.js';

/** Sixteen tensors of 128 KiB, told apart by their values. */
const names = Array.from({ length: 16 }, (_, i) => `layer${String(i).padStart(2, '0')}`);
const tensors: Record<string, Tensor> = Object.fromEntries(
  names.map((name, i) => [name, arange(32_768, { dtype: 'int32' }).add(i * 100_000)]),
);
const bytes = serializeSafetensors(tensors, { made: 'here' });

let server: FileServer;
let folder: string;

beforeAll(async () => {
  server = await serveFiles();
  folder = mkdtempSync(join(tmpdir(), 'loading-'));
});
afterAll(async () => {
  await server[Symbol.asyncDispose]();
  rmSync(folder, { recursive: true });
});
beforeEach(() => {
  server.files.clear();
  server.seen.length = 0;
  delete server.before;
});

/** Serves the checkpoint in a way, and returns its address. */
function serve(how: Partial<ServedFile> = {}, path = '/model.safetensors'): string {
  server.files.set(path, { bytes, ...how });
  return server.url + path;
}

function expectValues(loaded: Record<string, Tensor>, wanted: readonly string[]): void {
  expect(Object.keys(loaded).sort()).toEqual([...wanted].sort());
  const bits = (values: Tensor): Buffer =>
    Buffer.from((values.toTypedArray() as Int32Array).buffer);
  for (const name of wanted)
    expect(bits(loaded[name]!).equals(bits(tensors[name]!)), name).toBe(true);
}

const failure = (loading: Promise<unknown>): Promise<unknown> =>
  loading.then(
    () => null,
    (error: unknown) => error,
  );

describe('sources', () => {
  it('are Requests, Responses, streams and views of memory too', async () => {
    const address = serve();
    const init = { headers: { authorization: 'Bearer x' } };
    expectValues(await loadCheckpoint(new Request(address, init)), names);
    expect(server.seen.at(-1)!.headers.authorization).toBe('Bearer x');
    expectValues(await loadCheckpoint(address, { requestInit: init }), names);
    expect(server.seen.at(-1)!.headers.authorization).toBe('Bearer x');
    expectValues(await loadCheckpoint(await fetch(address)), names);
    expectValues(await loadCheckpoint((await fetch(address)).body!), names);
    expectValues(await loadCheckpoint(new DataView(bytes.slice().buffer)), names);
    expectValues(await loadCheckpoint(bytes.slice().buffer), names);
  });

  it('keep their headers for the shards beside an index', async () => {
    const index = { weight_map: Object.fromEntries(names.map((n) => [n, 'one two.safetensors'])) };
    serve({}, '/m/one%20two.safetensors');
    const json = new TextEncoder().encode(JSON.stringify(index));
    server.files.set('/m/model.safetensors.index.json', { bytes: json });
    const address = `${server.url}/m/model.safetensors.index.json`;
    const request = new Request(address, { headers: { authorization: 'Bearer x' } });
    expectValues(await loadCheckpoint(request), names);
    expect(server.seen.map(({ headers }) => headers.authorization)).toEqual([
      'Bearer x',
      'Bearer x',
    ]);
    expectValues(await loadCheckpoint(await fetch(address)), names);
  });

  it('that were read before, or are none, are refused', async () => {
    const used = await fetch(serve());
    await used.arrayBuffer();
    expect(await failure(loadCheckpoint(used))).toMatchObject({ code: 'source-unreadable' });
    const locked = new Blob([bytes as BlobPart]).stream();
    locked.getReader();
    expect(await failure(loadCheckpoint(locked))).toMatchObject({ code: 'source-unreadable' });
    expect(await failure(loadCheckpoint(3 as unknown as string))).toMatchObject({
      code: 'invalid-argument',
    });
    expect(await failure(loadCheckpoint('http://127.0.0.1:1/x'))).toMatchObject({
      code: 'source-unreadable',
    });
    expect(await failure(loadCheckpoint(folder))).toMatchObject({ code: 'source-unreadable' });
  });
});

describe('compressed answers', () => {
  it('are no damage; the header of the file tells how much there is to come', async () => {
    const seen: LoadProgress[] = [];
    const address = serve({ gzip: true });
    expectValues(
      await loadCheckpoint(address, { onProgress: (at) => seen.push({ ...at }) }),
      names,
    );
    expect(seen[0]!.total).toBeUndefined();
    expect(seen.at(-1)).toEqual({ file: address, loaded: bytes.length, total: bytes.length });
  });
});

describe('chosen keys', () => {
  const chosen = ['layer02', 'layer03', 'layer12'];
  /** Bytes asked for by range requests. */
  const asked = (): number =>
    server.seen.reduce((sum, { headers }) => {
      const [, from, to] = /^bytes=(\d+)-(\d+)$/.exec(headers.range ?? '')!;
      return sum + Number(to) + 1 - Number(from);
    }, 0);

  it('are read with range requests: the header first, neighbours together', async () => {
    const address = serve({ ranges: true, etag: '"v1"' });
    const seen: LoadProgress[] = [];
    const options = { keys: chosen, onProgress: (at: LoadProgress) => seen.push({ ...at }) };
    expectValues(await loadCheckpoint(address, options), chosen);
    expect(server.seen.map(({ status }) => status)).toEqual([206, 206, 206]);
    expect(server.seen[1]!.headers['if-range']).toBe('"v1"');
    expect(asked()).toBeLessThan(64 * 1024 + 3 * 131_072 + 1);
    const last = seen.at(-1)!;
    expect(last.loaded).toBe(last.total);
    expect(last.total).toBeLessThan(3 * 131_072 + 2000);
  });

  it('may be chosen by a predicate, and streamed', async () => {
    const address = serve({ ranges: true });
    const keys = (name: string): boolean => name.endsWith('5');
    expectValues(await loadCheckpoint(address, { keys }), ['layer05', 'layer15']);
    const found: string[] = [];
    for await (const { name } of streamSafetensors(address, { keys })) found.push(name);
    expect(found).toEqual(['layer05', 'layer15']);
  });

  it('are picked from the whole body where the server sends that', async () => {
    for (const how of [{}, { gzip: true }, { chunked: true }])
      expectValues(await loadCheckpoint(serve(how), { keys: chosen }), chosen);
    expect(server.seen).toHaveLength(3);
  });

  it('are picked from files, Blobs and bytes', async () => {
    const path = join(folder, 'model.safetensors');
    writeFileSync(path, bytes);
    for (const source of [path, new Blob([bytes as BlobPart]), bytes]) {
      let read = 0;
      const onProgress = ({ loaded }: LoadProgress): number => (read = loaded);
      expectValues(await loadCheckpoint(source, { keys: chosen, onProgress }), chosen);
      expect(read).toBeLessThan(3 * 131_072 + 2000);
    }
  });

  it('name only the shards that hold them', async () => {
    const map = Object.fromEntries(
      names.map((n, i) => [n, i < 8 ? 'a.safetensors' : 'b.safetensors']),
    );
    const json = new TextEncoder().encode(JSON.stringify({ weight_map: map }));
    server.files.set('/model.safetensors.index.json', { bytes: json });
    const half = (from: number): Uint8Array =>
      serializeSafetensors(Object.fromEntries(Object.entries(tensors).slice(from, from + 8)));
    server.files.set('/a.safetensors', { bytes: half(0), ranges: true });
    server.files.set('/b.safetensors', { bytes: half(8), ranges: true });
    const address = `${server.url}/model.safetensors.index.json`;
    expectValues(await loadCheckpoint(address, { keys: ['layer09'] }), ['layer09']);
    expect(new Set(server.seen.map(({ path }) => path))).not.toContain('/a.safetensors');
  });

  it('that are not there are an error that says what is close', async () => {
    const error = await failure(loadCheckpoint(bytes, { keys: ['layer2'] }));
    expect(error).toMatchObject({ code: 'invalid-argument' });
    expect(String(error)).toContain("Did you mean 'layer0");
  });

  it.each([
    ['its tag', { etag: '"v2"' }],
    ['its length', { bytes: bytes.subarray(0, bytes.length - 4) }],
    ['its date', { lastModified: 'Sun, 22 Nov 2026 11:00:00 GMT' }],
  ])(
    'of a file that changes in between (%s) are an error, not a mixture',
    async (_what, change) => {
      const address = serve({
        ranges: true,
        lastModified: 'Sun, 22 Nov 2026 10:00:00 GMT',
        etag: '"v1"',
      });
      server.before = () => {
        if (server.seen.length === 2)
          Object.assign(server.files.get('/model.safetensors')!, change);
      };
      const before = cpuHeap().stats().liveBytes;
      const error = await failure(loadCheckpoint(address, { keys: chosen }));
      expect(error).toMatchObject({ code: 'source-unreadable' });
      expect(String(error)).toContain('changed while it was read');
      expect(cpuHeap().stats().liveBytes).toBeLessThanOrEqual(before);
    },
  );

  it('of parts that are not what was asked for are an error', async () => {
    const address = serve({ ranges: true });
    server.before = () => {
      if (server.seen.length === 2)
        Object.assign(server.files.get('/model.safetensors')!, {
          headers: { 'content-range': 'bytes 7-8/9' },
        });
    };
    expect(await failure(loadCheckpoint(address, { keys: chosen }))).toMatchObject({
      code: 'source-unreadable',
    });
  });
});

describe('a signal', () => {
  /** Aborts a load when `at` says so; checks what it rejects with, and that it leaves nothing. */
  async function abandoned(
    start: (signal: AbortSignal, abort: () => void) => Promise<unknown>,
  ): Promise<void> {
    const controller = new AbortController();
    const reason = new Error('no longer wanted');
    const before = cpuHeap().stats().liveBytes;
    const began = performance.now();
    const error = await failure(start(controller.signal, () => controller.abort(reason)));
    expect(error).toBe(reason);
    expect(cpuHeap().stats().liveBytes).toBeLessThanOrEqual(before);
    expect(performance.now() - began).toBeLessThan(2000);
  }

  it('that is aborted already reads nothing', async () => {
    const address = serve();
    const signal = AbortSignal.abort();
    expect(await failure(loadCheckpoint(address, { signal }))).toBe(signal.reason);
    expect(signal.reason).toMatchObject({ name: 'AbortError' });
    expect(server.seen).toHaveLength(0);
  });

  it('ends a load whose answer has not come', async () => {
    const address = serve();
    server.files.set('/model.safetensors', { bytes, stallAt: 0 });
    await abandoned((signal, abort) => {
      setTimeout(abort, 50);
      return loadCheckpoint(address, { signal });
    });
  });

  it.each([5, 1000, 200_000, 1_000_000])(
    'ends one that stalls after %d bytes, and hangs up',
    async (stallAt) => {
      const address = serve({ stallAt });
      await abandoned((signal, abort) => {
        setTimeout(abort, 100);
        return loadCheckpoint(address, { signal });
      });
      await expect.poll(() => server.seen[0]!.abandoned).toBe(true);
    },
  );

  it('ends one between range requests, from a file, and from a stream that gives nothing', async () => {
    const address = serve({ ranges: true });
    await abandoned((signal, abort) => {
      server.before = () => server.seen.length === 3 && abort();
      return loadCheckpoint(address, { signal, keys: ['layer02', 'layer12'] });
    });
    const path = join(folder, 'abandoned.safetensors');
    writeFileSync(path, bytes);
    await abandoned((signal, abort) =>
      loadCheckpoint(path, { signal, onProgress: ({ loaded }) => loaded > 1_500_000 && abort() }),
    );
    let cancelled: unknown = null;
    const silent = new ReadableStream<Uint8Array>({ cancel: (why) => void (cancelled = why ?? 0) });
    await abandoned((signal, abort) => {
      setTimeout(abort, 20);
      return loadCheckpoint(silent, { signal });
    });
    expect(cancelled).not.toBeNull();
  });

  it('may be that of requestInit, or of the Request', async () => {
    const address = serve({ stallAt: 1000 });
    await abandoned((signal, abort) => {
      setTimeout(abort, 50);
      return loadCheckpoint(address, { requestInit: { signal } });
    });
    await abandoned((signal, abort) => {
      setTimeout(abort, 50);
      const other = new AbortController().signal;
      return loadCheckpoint(new Request(address, { signal }), { signal: other });
    });
  });

  it('ends a load at the moment of its last tensor', async () => {
    await abandoned((signal, abort) =>
      loadCheckpoint(bytes, {
        signal,
        onProgress: ({ loaded, total }) => loaded === total && abort(),
      }),
    );
  });
});

describe('a connection that breaks', () => {
  it('is an error that says so, and leaves nothing', async () => {
    for (const chunked of [false, true]) {
      const address = serve({ cutAt: 300_000, chunked });
      const before = cpuHeap().stats().liveBytes;
      const error = await failure(loadCheckpoint(address));
      expect(error).toMatchObject({ code: 'source-unreadable' });
      expect(cpuHeap().stats().liveBytes).toBeLessThanOrEqual(before);
    }
  });
});
