/**
 * @file Files that PyTorch wrote (data/torch/write.py): what comes out, from where, and what is refused.
 */
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import {
  type LoadProgress,
  type Tensor,
  cpuHeap,
  loadCheckpoint,
  loadTorchCheckpoint,
} from '../src/index.js';
import type { SkippedTensor } from '../src/io/stored-type.js';
import { serveFiles } from './support/file-server.js';
import { onShelf, registerShelf } from './support/shelf-device.js';
import { pickle, torchFile } from './support/zip-writer.js';

interface Described {
  readonly dtype: string;
  readonly shape: number[];
  readonly stride: number[];
  readonly values: number[] | null;
}

const folder = new URL('./data/torch/', import.meta.url);
const expected = JSON.parse(readFileSync(new URL('expected.json', folder), 'utf8')) as Record<
  string,
  Record<string, Described>
>;
const path = (name: string): string => fileURLToPath(new URL(`${name}.pt`, folder));
const read = (name: string): Uint8Array => new Uint8Array(readFileSync(path(name)));

function expectFile(
  loaded: Record<string, Tensor>,
  wanted: Readonly<Record<string, Described>>,
): void {
  const loadable = Object.entries(wanted).filter(([, { values }]) => values !== null);
  expect(Object.keys(loaded).sort()).toEqual(loadable.map(([name]) => name).sort());
  for (const [name, { dtype, shape, stride, values }] of loadable) {
    const tensor = loaded[name]!;
    expect([tensor.dtype, tensor.shape, tensor.strides], name).toEqual([dtype, shape, stride]);
    expect(Array.from(tensor.toTypedArray() as ArrayLike<number>, Number), name).toEqual(values);
  }
}

async function refusal(
  loading: Promise<unknown>,
  code = 'torch-checkpoint-invalid',
): Promise<string> {
  const error = await loading.then(
    () => null,
    (caught: Error) => caught,
  );
  expect(error).toMatchObject({ code });
  return error!.message;
}

describe('loadTorchCheckpoint', () => {
  it.each(['state-dict', 'protocol-4', 'training', 'dtypes', 'views', 'parameters', 'single'])(
    'reads what PyTorch wrote: %s',
    async (name) => {
      const onSkip = (): void => {};
      expectFile(await loadTorchCheckpoint(path(name), { onSkip }), expected[name]!);
    },
  );

  it('reads files, Blobs, bytes, streams, and addresses with ranges or without', async () => {
    await using server = await serveFiles({
      '/ranges.pt': { bytes: read('views'), ranges: true },
      '/whole.pt': { bytes: read('views') },
      '/gzip.pt': { bytes: read('views'), gzip: true },
    });
    const bytes = read('views') as Uint8Array<ArrayBuffer>;
    const sources = [
      bytes,
      new Blob([bytes]),
      new Blob([bytes]).stream(),
      new Response(bytes),
      new URL('views.pt', folder),
      `${server.url}/ranges.pt`,
      `${server.url}/whole.pt`,
      `${server.url}/gzip.pt`,
    ];
    for (const source of sources) expectFile(await loadTorchCheckpoint(source), expected.views!);
  });

  it('keeps sharing: views lie on one storage, and a write shows in all of them', async () => {
    const { whole, grid, transposed } = await loadTorchCheckpoint(path('views'));
    expect(grid!.storage).toBe(whole!.storage);
    whole!.fill_(9);
    expect(transposed!.toTypedArray()).toEqual(new Float32Array(24).fill(9));
  });

  it('gives what is no tensor by the same names', async () => {
    let values: unknown;
    await loadTorchCheckpoint(path('training'), { onValues: (found) => (values = found) });
    expect(values).toMatchObject({
      epoch: 3,
      best: 0.25,
      name: 'a run',
      'flags.0': true,
      'flags.1': null,
      'size.1': 3,
      device: 'cpu',
      dtype: 'torch.float16',
      large: 2n ** 80n,
      negative: -5,
      'optimizer.param_groups.0.lr': 0.01,
    });
  });

  it('takes what lies under a prefix, and chosen keys of it', async () => {
    const model = await loadTorchCheckpoint(path('training'), { prefix: 'model' });
    expectFile(model, expected['state-dict']!);
    const options = { prefix: 'model', keys: ['fc.bias'] };
    expect(Object.keys(await loadTorchCheckpoint(path('training'), options))).toEqual(['fc.bias']);
    const missing = loadTorchCheckpoint(path('training'), { prefix: 'model', keys: ['fc.bais'] });
    expect(await refusal(missing, 'invalid-argument')).toContain("Did you mean 'fc.bias'");
  });

  it('converts while reading, views with their storage', async () => {
    const loaded = await loadTorchCheckpoint(path('views'), { dtype: 'float16' });
    expect(loaded.transposed!.dtype).toBe('float16');
    expect(loaded.transposed!.strides).toEqual([1, 6]);
    expect(loaded.transposed!.toArray()).toEqual(
      (await loadTorchCheckpoint(path('views'))).transposed!.toArray(),
    );
    expect(loaded.scalar!.dtype).toBe('int64');
  });

  it('puts tensors on another device, views too', async () => {
    registerShelf();
    const { row, transposed } = await loadTorchCheckpoint(path('views'), { device: 'shelf' });
    expect([row!.device, transposed!.device]).toEqual(['shelf', 'shelf']);
    expect(onShelf(row!)).toEqual([12, 13, 14, 15, 16, 17]);
    expect(onShelf(transposed!).slice(0, 5)).toEqual([0, 6, 12, 18, 1]);
  });

  it('leaves out and reports what no dtype holds, unless it is asked for', async () => {
    const skipped: SkippedTensor[] = [];
    await loadTorchCheckpoint(path('dtypes'), { onSkip: (found) => skipped.push(found) });
    expect(skipped).toEqual([{ name: 'complex64', storedType: 'ComplexFloat', shape: [4] }]);
    const asked = loadTorchCheckpoint(path('dtypes'), { keys: ['complex64'] });
    expect(await refusal(asked, 'dtype-unsupported')).toContain("'complex64'");
  });

  it('asks a server for the storages of chosen keys only', async () => {
    const storages: Record<string, Uint8Array> = {};
    const entries = Array.from({ length: 8 }, (_, i): [number[], number[]] => {
      storages[i] = new Uint8Array(1 << 20).fill(i);
      const memory = pickle.storage(pickle.global('torch', 'ByteStorage'), String(i), 1 << 20);
      return [pickle.text(`t${i}`), pickle.tensor(memory, 0, [1 << 20], [1])];
    });
    const parts = torchFile(pickle.dict(...entries), storages);
    await using server = await serveFiles({ '/m.pt': { bytes: parts, ranges: true, etag: '"1"' } });
    let last: LoadProgress | null = null;
    const { t5 } = await loadTorchCheckpoint(`${server.url}/m.pt`, {
      keys: ['t5'],
      onProgress: (at) => (last = { ...at }),
    });
    expect(t5!.sum().item()).toBe(5 * 2 ** 20);
    expect(last!.loaded).toBe(last!.total);
    expect(last!.total).toBeLessThan(2 ** 20 + 200);
    expect(server.seen.every(({ status }) => status === 206)).toBe(true);
  });

  it('reads untyped storages of newer versions: eight-bit floats and unsigned integers', async () => {
    const untyped = pickle.global('torch.storage', 'UntypedStorage');
    const v3 = (dtype: string, key: string, bytes: number, size: number): number[] =>
      pickle.call(
        pickle.global('torch._utils', '_rebuild_tensor_v3'),
        pickle.storage(untyped, key, bytes),
        pickle.int(0),
        pickle.tuple(pickle.int(size)),
        pickle.tuple(pickle.int(1)),
        [0x89],
        [0x4e],
        pickle.global('torch', dtype),
      );
    const value = pickle.dict(
      [pickle.text('f8'), v3('float8_e4m3fn', '0', 2, 2)],
      [pickle.text('u16'), v3('uint16', '1', 4, 2)],
    );
    const bytes = torchFile(value, {
      0: Uint8Array.of(0x38, 0x7e),
      1: Uint8Array.of(1, 0, 255, 255),
    });
    const { f8, u16 } = await loadTorchCheckpoint(bytes);
    expect([f8!.dtype, f8!.toArray(), u16!.dtype, u16!.toArray()]).toEqual([
      'float32',
      [1, 448],
      'int32',
      [1, 65535],
    ]);
  });

  it('ends with its signal, and leaves nothing', async () => {
    await using server = await serveFiles({ '/m.pt': { bytes: read('views'), stallAt: 500 } });
    const before = cpuHeap().stats().liveBytes;
    const signal = AbortSignal.timeout(50);
    const loading = loadTorchCheckpoint(`${server.url}/m.pt`, { signal });
    await expect(loading).rejects.toMatchObject({ name: 'TimeoutError' });
    const controller = new AbortController();
    const reason = new Error('enough');
    const onProgress = (): void => controller.abort(reason);
    await expect(
      loadTorchCheckpoint(path('views'), { signal: controller.signal, onProgress }),
    ).rejects.toBe(reason);
    expect(cpuHeap().stats().liveBytes).toBeLessThanOrEqual(before);
  });
});

describe('what is refused', () => {
  it.each([
    ['old-format', 'before PyTorch 1.6', 'save its state_dict() again'],
    ['whole-module', "a 'torch.nn.modules.linear.Linear'", 'torch.save(model.state_dict(), path)'],
    ['namespace', "a 'argparse.Namespace'", 'torch.save(model.state_dict(), path)'],
    ['calls', "a 'posix.system'", 'Save tensors only'],
    ['script', "a '__torch__.torch.nn.modules.linear.Identity'", 'torch.jit.load'],
  ])('%s, by name, with what to do', async (name, what, hint) => {
    const message = await refusal(loadTorchCheckpoint(path(name)));
    expect(message).toContain(what);
    expect(message).toContain(hint);
  });

  it('safetensors here and zip files there: each says which function to use', async () => {
    const safetensors = new TextEncoder().encode('\x10\0\0\0\0\0\0\0{"a":1}');
    expect(await refusal(loadTorchCheckpoint(safetensors))).toContain('loadCheckpoint()');
    const zip = loadCheckpoint(path('single'));
    expect(await refusal(zip, 'safetensors-invalid')).toContain('loadTorchCheckpoint()');
    const old = loadCheckpoint(path('old-format'));
    expect(await refusal(old, 'safetensors-invalid')).toContain('before PyTorch 1.6');
    const page = new TextEncoder().encode('<!doctype html><html></html>');
    expect(await refusal(loadTorchCheckpoint(page))).toContain('HTML page');
    expect(await refusal(loadCheckpoint(page), 'safetensors-invalid')).toContain('HTML page');
  });

  it('an archive that is cut off anywhere', async () => {
    const bytes = read('state-dict');
    for (let length = 0; length < bytes.length; length += 97)
      await refusal(loadTorchCheckpoint(bytes.subarray(0, length)));
  });

  it('a storage that was damaged, by its sum', async () => {
    const bytes = read('single');
    const at = bytes.findIndex((_, i) => bytes[i] === 0x80 && bytes[i + 1] === 0x3f);
    bytes[at]! ^= 1;
    expect(await refusal(loadTorchCheckpoint(bytes))).toContain("'single/data/0' is damaged");
  });
});
