/**
 * @file Files of PyTorch from strangers: claims that do not hold, pickles that want to do something, and mutations.
 */
import { readFileSync } from 'node:fs';
import { isTesseraError } from '@tessera/shared';
import { describe, expect, it } from 'vitest';
import { type Tensor, cpuHeap, itemSize, loadTorchCheckpoint } from '../src/index.js';
import { pickle, torchFile, writeZip } from './support/zip-writer.js';

const { text, int, global, tuple, call, dict, storage, tensor } = pickle;
const FLOAT = global('torch', 'FloatStorage');
const four = new Uint8Array(new Float32Array([1, 2, 3, 4]).buffer);
const memory = storage(FLOAT, '0', 4);

async function refusal(bytes: Uint8Array): Promise<string> {
  const before = cpuHeap().stats().liveBytes;
  const error = await loadTorchCheckpoint(bytes).then(
    () => null,
    (caught: Error) => caught,
  );
  expect(error).toMatchObject({ code: 'torch-checkpoint-invalid' });
  expect(cpuHeap().stats().liveBytes).toBeLessThanOrEqual(before);
  return error!.message;
}

describe('tensors that claim more than there is', () => {
  const of = (...layout: [offset: number, sizes: number[], strides: number[]]): Uint8Array =>
    torchFile(dict([text('x'), tensor(memory, ...layout)]), { 0: four });

  it('are refused, and those that fit are read', async () => {
    const { x } = await loadTorchCheckpoint(of(1, [3], [1]));
    expect(x!.toArray()).toEqual([2, 3, 4]);
    expect((await loadTorchCheckpoint(of(0, [2, 3], [2, 0]))).x!.toArray()).toEqual([
      [1, 1, 1],
      [3, 3, 3],
    ]);
    expect((await loadTorchCheckpoint(of(9, [0], [7]))).x!.shape).toEqual([0]);
    for (const bytes of [
      of(2, [3], [1]),
      of(0, [3], [2]),
      of(-1, [1], [1]),
      of(0, [2], [-1]),
      of(0, [2 ** 40], [2 ** 20]),
      of(0, [2 ** 30, 2 ** 30], [0, 0]),
      of(2 ** 52, [2 ** 52], [2 ** 52]),
      of(0, [2, 2], [1]),
    ])
      expect(await refusal(bytes)).toMatch(/a tensor (?:larger than its storage )?that cannot be/);
  });

  it('also by their storages', async () => {
    const file = (count: number, bytes: Uint8Array): Uint8Array =>
      torchFile(tensor(storage(FLOAT, '0', count), 0, [1], [1]), { 0: bytes });
    expect(await refusal(file(5, four))).toContain('has 16 bytes, not 20 as its pickle says');
    expect(await refusal(file(2 ** 50, four))).toContain('not 4503599627370496');
    expect(await refusal(torchFile(tensor(memory, 0, [1], [1])))).toContain("no storage '0'");
    expect(await refusal(torchFile(tensor(storage(FLOAT, '../x', 1), 0, [1], [1])))).toContain(
      'no storage',
    );
    const twice = dict(
      [text('a'), tensor(memory, 0, [1], [1])],
      [text('b'), tensor(storage(global('torch', 'IntStorage'), '0', 4), 0, [1], [1])],
    );
    expect(await refusal(torchFile(twice, { 0: four }))).toContain('different types');
  });
});

describe('archives', () => {
  const data = pickle.whole(tensor(memory, 0, [4], [1]));
  const records = (change: object = {}): Uint8Array =>
    writeZip([
      { name: 'a/data.pkl', bytes: data },
      { name: 'a/data/0', bytes: four, ...change },
    ]);

  it('are read with 64-bit sizes, comments, and without sums', async () => {
    for (const bytes of [
      records(),
      records({ wide: true }),
      writeZip(
        [
          { name: 'a/data.pkl', bytes: data },
          { name: 'a/data/0', bytes: four },
        ],
        { comment: 'PK\x05\x06' },
      ),
    ])
      expect((await loadTorchCheckpoint(bytes))['']!.toArray()).toEqual([1, 2, 3, 4]);
  });

  it.each<[string, Uint8Array, string]>([
    ['no end', records().subarray(0, -1), 'no zip directory'],
    ['compressed storages', records({ method: 8 }), 'compressed or encrypted'],
    ['encrypted storages', records({ flags: 9 }), 'compressed or encrypted'],
    ['sizes beyond the file', records({ claimedSize: 4096 }), 'overlaps'],
    ['sizes beyond 2^53', records({ wide: true, claimedSize: 2 ** 60 }), 'claims a place'],
    ['places beyond the file', records({ claimedPlace: 1 << 20 }), 'overlaps'],
    ['records on one place', records({ claimedPlace: 0 }), 'overlaps'],
    ['a sum that is wrong', records({ crc: 7 }), 'is damaged'],
    ['a directory that is elsewhere', writeZip([{ name: 'a/data.pkl', bytes: data }], { directoryBegin: 1 << 30 }), 'outside'],
    ['more entries than fit', writeZip([{ name: 'a/data.pkl', bytes: data }], { count: 60_000 }), 'outside'],
    ['no pickle', writeZip([{ name: 'a/data/0', bytes: four }]), 'no data.pkl'],
    ['two pickles', writeZip([{ name: 'a/data.pkl', bytes: data }, { name: 'b/data.pkl', bytes: data }]), 'no data.pkl'],
    ['two records of a name', writeZip([{ name: 'a/data.pkl', bytes: data }, { name: 'a/data.pkl', bytes: data }]), 'two records'],
    ['the other byte order', writeZip([{ name: 'a/data.pkl', bytes: data }, { name: 'a/byteorder', bytes: new TextEncoder().encode('big') }]), "byte order 'big'"],
  ])('with %s are refused', async (_what, bytes, message) => {
    expect(await refusal(bytes)).toContain(message);
  }); // prettier-ignore
});

describe('pickles', () => {
  const ones = (code: number, count: number): number[] => Array<number>(count).fill(code);

  it.each<[string, number[], string]>([
    ['a call of a program', call(global('os', 'system'), text('true')), "a 'os.system'"],
    ['a builtin', call(global('builtins', 'eval'), text('1')), "a 'builtins.eval'"],
    ['a name of JavaScript', global('torch', 'constructor'), "a 'torch.constructor'"],
    ['a name that is a path', global('torch.storage', 'UntypedStorage.x'), 'a \'torch.storage.UntypedStorage.x\''],
    ['a call of a type', call(global('torch', 'FloatStorage'), int(3)), 'a call that cannot be'],
    ['a call of text', call(text('torch._utils._rebuild_tensor_v2')), 'a call of what is no function'],
    ['a new object', [...global('torch', 'Tensor'), ...tuple(), 0x81], 'opcode 0x81'],
    ['an instance', [0x28, ...ones(0x69, 1)], 'opcode 0x69'],
    ['state for a number', [...int(1), ...int(2), 0x62], 'an object that cannot be'],
    ['a tensor of nothing', call(global('torch._utils', '_rebuild_tensor_v2')), 'a tensor that cannot be'],
    ['a parameter of a number', call(global('torch._utils', '_rebuild_parameter'), int(1)), 'a parameter that cannot be'],
    ['a storage of another kind', pickle.persistent(tuple(text('module'))), 'a storage that cannot be'],
    ['a storage alone', memory, 'a storage stands where'],
    ['an unknown protocol', [0x80, 9], 'an unknown protocol'],
    ['nothing', [], 'a value is missing'],
    ['values left over', [...int(1), ...int(2)], 'more than one value'],
    ['a text beyond the end', [0x58, 255, 255, 255, 255], 'it ends too early'],
    ['a long text beyond the end', [0x8d, ...ones(255, 8)], 'it ends too early'],
    ['a huge number', [0x8b, 0, 0, 1, 0, ...ones(1, 65536)], 'a number of 65536 bytes'],
    ['a line without end', [0x63, 0x61], 'a line does not end'],
    ['a key that is a dict', dict([dict(), int(1)]), 'neither a string nor a number'],
    ['a prototype', dict([text('__proto__'), int(1)]), "named '__proto__'"],
    ['two values of one name', dict([text('a.b'), int(1)], [text('a'), dict([text('b'), int(2)])]), "named 'a.b'"],
    ['a value inside itself', [0x5d, 0x71, 0, 0x68, 0, 0x61], 'too deeply'],
    ['containers 10,000 deep', [...ones(0x5d, 10_000), ...ones(0x61, 9999)], 'too deeply'],
    ['a thousand million laughs', laughs(30), 'again and again'],
  ])('with %s are refused', async (_what, value, message) => {
    expect(await refusal(torchFile(value, { 0: four }))).toContain(message);
  }); // prettier-ignore

  /** Each list holds the one before ten times; the last is what the pickle is. */
  function laughs(levels: number): number[] {
    const out: number[] = [0x28, 0x5d, 0x71, 0];
    for (let level = 1; level <= levels; level++) {
      out.push(0x5d, 0x71, level);
      for (let i = 0; i < 10; i++) out.push(0x68, level - 1, 0x61);
    }
    return [...out, 0x31, 0x68, levels];
  }
});

describe('files that were tampered with', () => {
  const SEED = 20261122;
  const MUTANTS = 6000;

  /** Numbers from 0 to below `n`, the same every time (xorshift). */
  function dice(seed: number): (n: number) => number {
    let state = seed;
    return (n) => {
      state ^= state << 13;
      state ^= state >>> 17;
      state ^= state << 5;
      return (state >>> 0) % n;
    };
  }

  it(`are read within bounds or refused (seed ${SEED})`, async () => {
    const roll = dice(SEED);
    const files = ['state-dict', 'training', 'views', 'parameters', 'protocol-4', 'dtypes'].map(
      (name) => new Uint8Array(readFileSync(new URL(`./data/torch/${name}.pt`, import.meta.url))),
    );
    const odd = [0, 1, 2, 127, 128, 254, 255, 0x28, 0x2e, 0x52, 0x62, 0x68, 0x71, 0x74, 0x85, 0x30];
    const before = cpuHeap().stats().liveBytes;
    let accepted = 0;
    for (let i = 0; i < MUTANTS; i++) {
      let bytes = files[roll(files.length)]!.slice();
      for (let n = 1 + roll(3); n > 0; n--) {
        const at = roll(bytes.length);
        if (roll(8) === 0) bytes = bytes.slice(0, at + 1);
        else if (roll(4) === 0) bytes.copyWithin(at, roll(bytes.length), roll(bytes.length));
        else bytes[at] = roll(2) === 0 ? odd[roll(odd.length)]! : roll(256);
      }
      // Sums are set to 0 so that mutants reach further: the bytes of a CRC in the directory.
      for (let at = 0; at + 20 < bytes.length; at++)
        if (
          bytes[at] === 0x50 &&
          bytes[at + 1] === 0x4b &&
          bytes[at + 2] === 1 &&
          bytes[at + 3] === 2
        )
          bytes.fill(0, at + 16, at + 20);
      let loaded: Record<string, Tensor> = {};
      try {
        loaded = await loadTorchCheckpoint(bytes, { onSkip: () => {} });
        accepted++;
      } catch (error) {
        if (!isTesseraError(error, 'torch-checkpoint-invalid'))
          throw new Error(`mutant ${i} of seed ${SEED}`, { cause: error });
      }
      for (const [name, value] of Object.entries(loaded)) {
        const { sizes, strides, storageOffset, storage: on, dtype } = value;
        const last = sizes.reduce((sum, size, d) => sum + (size - 1) * strides[d]!, storageOffset);
        if (!sizes.includes(0))
          expect((last + 1) * itemSize(dtype), name).toBeLessThanOrEqual(on.nbytes);
      }
      for (const value of Object.values(loaded)) value.dispose();
    }
    expect(accepted).toBeGreaterThan(MUTANTS / 20);
    expect(accepted).toBeLessThan((MUTANTS * 9) / 10);
    expect(cpuHeap().stats().liveBytes).toBeLessThanOrEqual(before);
    expect(({} as Record<string, unknown>).epoch).toBeUndefined();
  }, 120_000);
});
