/**
 * @file Checkpoints from files, addresses and streams: whole, sharded, truncated and hostile.
 */
import {
  createReadStream,
  mkdtempSync,
  readFileSync,
  readdirSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import type { ErrorCode } from '@tessera/shared';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import {
  type Tensor,
  cpuHeap,
  loadCheckpoint,
  randn,
  saveCheckpoint,
  serializeSafetensors,
  streamSafetensors,
  tensor,
} from '../src/index.js';

let folder: string;
let server: Server;
let address: string;

const tensors: Record<string, Tensor> = {
  'a.weight': randn([64, 32]),
  'a.bias': randn([64]),
  'b.weight': randn([128, 64]),
  count: tensor(3, { dtype: 'int64' }),
};

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'checkpoint-'));
  // Serves the folder in small pieces, without a length where the address asks for none.
  server = createServer((request, response) => {
    const { pathname, searchParams } = new URL(request.url!, 'http://here');
    let bytes: Buffer;
    try {
      bytes = readFileSync(join(folder, pathname));
    } catch {
      response.writeHead(404).end();
      return;
    }
    if (!searchParams.has('chunked')) response.setHeader('content-length', bytes.length);
    for (let at = 0; at < bytes.length; at += 1000) response.write(bytes.subarray(at, at + 1000));
    response.end();
  });
  await new Promise<void>((done) => void server.listen(0, '127.0.0.1', done));
  address = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
});

afterAll(() => {
  server.close();
  rmSync(folder, { recursive: true });
});

function expectSame(loaded: Record<string, Tensor>): void {
  expect(Object.keys(loaded).sort()).toEqual(Object.keys(tensors).sort());
  for (const [name, value] of Object.entries(tensors)) {
    expect(loaded[name]!.dtype).toBe(value.dtype);
    expect(loaded[name]!.toArray()).toEqual(value.toArray());
  }
}

describe('loadCheckpoint', () => {
  it('reads a path, a file URL, an address with and without a length, and a Blob', async () => {
    const path = join(folder, 'whole.safetensors');
    expect(await saveCheckpoint(path, tensors, { metadata: { format: 'pt' } })).toEqual([path]);
    expect(readdirSync(folder)).toEqual(['whole.safetensors']);
    const sources = [
      path,
      pathToFileURL(path),
      `${address}/whole.safetensors`,
      new URL(`${address}/whole.safetensors?chunked`),
      new Blob([readFileSync(path)]),
    ];
    for (const source of sources) expectSame(await loadCheckpoint(source));
  });

  it('reads streams of the web and of Node, and what else gives bytes one after the other', async () => {
    const path = join(folder, 'streamed.safetensors');
    await saveCheckpoint(path, tensors);
    const bytes = readFileSync(path);
    async function* pieces(): AsyncGenerator<Uint8Array> {
      for (let at = 0; at < bytes.length; at += 1000) {
        await Promise.resolve();
        yield bytes.subarray(at, at + 1000);
      }
    }
    for (const source of [new Blob([bytes]).stream(), createReadStream(path), pieces()])
      expectSame(await loadCheckpoint(source));
  });

  it('says what is wrong with a stream of Node', async () => {
    const absent = createReadStream(join(folder, 'absent.safetensors'));
    await expect(loadCheckpoint(absent)).rejects.toThrow(/ENOENT/);
    const text = createReadStream(join(folder, 'streamed.safetensors'), 'latin1');
    await expect(loadCheckpoint(text)).rejects.toThrow(/must be bytes, not strings/);
  });

  it('reads shards beside their index, from disk and from an address', async () => {
    const path = join(folder, 'model.safetensors');
    const written = await saveCheckpoint(path, tensors, { maxShardBytes: 10_000 });
    expect(written.map((file) => file.slice(folder.length + 1))).toEqual([
      'model.safetensors.index.json',
      'model-00001-of-00003.safetensors',
      'model-00002-of-00003.safetensors',
      'model-00003-of-00003.safetensors',
    ]);
    expectSame(await loadCheckpoint(written[0]!));
    expectSame(await loadCheckpoint(`${address}/model.safetensors.index.json?chunked`));
  });

  it('reports progress and metadata', async () => {
    const bytes = serializeSafetensors(tensors, { step: '7' });
    writeFileSync(join(folder, 'progress.safetensors'), bytes);
    const seen: number[] = [];
    let metadata = {};
    await loadCheckpoint(`${address}/progress.safetensors`, {
      onProgress: ({ file, loaded, total }) => {
        expect(file).toBe(`${address}/progress.safetensors`);
        expect(total).toBe(bytes.length);
        seen.push(loaded);
      },
      onMetadata: (value) => (metadata = value),
    });
    expect(seen.at(-1)).toBe(bytes.length);
    expect(seen).toEqual([...seen].sort((a, b) => a - b));
    expect(metadata).toEqual({ step: '7' });
  });

  it('hands out tensors one by one, and stops when nobody wants more', async () => {
    const bytes = serializeSafetensors(tensors);
    const names: string[] = [];
    for await (const { name } of streamSafetensors(bytes)) {
      names.push(name);
      if (names.length === 2) break;
    }
    expect(names).toHaveLength(2);
  });
});

describe('a damaged checkpoint loads nothing', () => {
  const refusal = async (
    source: Parameters<typeof loadCheckpoint>[0],
    code: ErrorCode = 'safetensors-invalid',
  ): Promise<string> => {
    const before = cpuHeap().stats().liveBytes;
    const error = await loadCheckpoint(source).then(
      () => null,
      (caught: Error) => caught,
    );
    expect(error).toMatchObject({ code });
    // Less where the collector took tensors of earlier tests meanwhile.
    expect(cpuHeap().stats().liveBytes).toBeLessThanOrEqual(before);
    return error!.message;
  };

  it('cut off, wherever that is', async () => {
    const bytes = serializeSafetensors(tensors);
    for (const length of [0, 5, 8, 100, bytes.length - 5000, bytes.length - 1]) {
      await refusal(bytes.subarray(0, length));
      writeFileSync(join(folder, 'cut.safetensors'), bytes.subarray(0, length));
      await refusal(join(folder, 'cut.safetensors'));
      await refusal(`${address}/cut.safetensors?chunked`);
    }
  });

  it('going on behind its end, missing, or not found', async () => {
    const bytes = serializeSafetensors(tensors);
    writeFileSync(join(folder, 'long.safetensors'), new Uint8Array([...bytes, 1]));
    expect(await refusal(`${address}/long.safetensors?chunked`)).toContain('goes on behind');
    expect(await refusal(join(folder, 'none.safetensors'), 'source-unreadable')).toContain(
      'ENOENT',
    );
    expect(await refusal(`${address}/none.safetensors`, 'source-unreadable')).toContain('404');
  });

  it('with an index that reaches elsewhere, lies, or is no index', async () => {
    const index = join(folder, 'bad.safetensors.index.json');
    const shard = serializeSafetensors({ x: tensor([1]), y: tensor([2]) });
    writeFileSync(join(folder, 'one.safetensors'), shard);
    const write = (map: unknown): void => writeFileSync(index, JSON.stringify({ weight_map: map }));
    write({ x: '../secret.safetensors' });
    expect(await refusal(index)).toContain('../secret');
    write({ x: 'one.safetensors' });
    expect(await refusal(index)).toContain("holds 'y'");
    write({ x: 'one.safetensors', y: 'one.safetensors', z: 'one.safetensors' });
    expect(await refusal(index)).toContain("places 'z'");
    writeFileSync(index, '{"weight_map": 3}');
    expect(await refusal(index)).toContain('no weight_map');
    writeFileSync(index, 'no json');
    expect(await refusal(index)).toContain('not JSON');
  });
});

describe('saveCheckpoint', () => {
  it('leaves nothing behind when it fails', async () => {
    const before = readdirSync(folder);
    await expect(saveCheckpoint(join(folder, 'none', 'x.safetensors'), tensors)).rejects.toThrow(
      'ENOENT',
    );
    expect(readdirSync(folder)).toEqual(before);
  });
});
