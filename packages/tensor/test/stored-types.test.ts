/**
 * @file Stored element types: converted while they are read, in pieces of any length, without a second copy.
 */
import { describe, expect, it } from 'vitest';
import {
  type DType,
  type Tensor,
  cpuHeap,
  loadCheckpoint,
  parseSafetensors,
  randn,
  serializeSafetensors,
  tensor,
} from '../src/index.js';
import type { SkippedTensor } from '../src/io/stored-type.js';

/** A file with tensors of given stored types and bytes. */
function file(
  entries: Readonly<Record<string, { dtype: string; shape: number[]; bytes: number[] }>>,
) {
  const header: Record<string, unknown> = {};
  const data: number[] = [];
  for (const [name, { dtype, shape, bytes }] of Object.entries(entries)) {
    header[name] = { dtype, shape, data_offsets: [data.length, data.length + bytes.length] };
    data.push(...bytes);
  }
  const json = new TextEncoder().encode(JSON.stringify(header));
  const out = new Uint8Array(8 + json.length + data.length);
  new DataView(out.buffer).setBigUint64(0, BigInt(json.length), true);
  out.set(json, 8);
  out.set(data, 8 + json.length);
  return out;
}

/** The same bytes in pieces of these lengths, over and over. */
function inPieces(bytes: Uint8Array, lengths: readonly number[]): ReadableStream<Uint8Array> {
  let at = 0;
  let turn = 0;
  return new ReadableStream({
    pull(controller) {
      if (at >= bytes.length) return controller.close();
      const length = lengths[turn++ % lengths.length]!;
      controller.enqueue(bytes.slice(at, at + length));
      at += length;
    },
  });
}

const every = { dtype: 'F8_E4M3', shape: [256], bytes: Array.from({ length: 256 }, (_, i) => i) };

describe('stored types that no tensor has', () => {
  it('F8_E4M3 becomes float32: 448 is the largest, there are no infinities and two NaN', async () => {
    const { x } = await loadCheckpoint(file({ x: every }));
    const values = x!.toTypedArray() as Float32Array;
    expect(x!.dtype).toBe('float32');
    // 0, least subnormal, greatest subnormal, least normal, one, greatest, NaN.
    expect([0, 1, 7, 8, 0x38, 0x7e, 0x7f].map((code) => values[code])).toEqual([
      0,
      2 ** -9,
      7 * 2 ** -9,
      2 ** -6,
      1,
      448,
      NaN,
    ]);
    expect([0x80, 0x81, 0xb8, 0xfe, 0xff].map((code) => values[code])).toEqual([
      -0,
      -(2 ** -9),
      -1,
      -448,
      NaN,
    ]);
    for (let code = 1; code < 0x7f; code++) expect(values[code]).toBeGreaterThan(values[code - 1]!);
  });

  it('F8_E5M2 becomes float32, with infinities; F8_E8M0 is a power of two', async () => {
    const loaded = await loadCheckpoint(
      file({ x: { ...every, dtype: 'F8_E5M2' }, s: { ...every, dtype: 'F8_E8M0' } }),
    );
    const x = loaded.x!.toTypedArray() as Float32Array;
    expect([0, 1, 3, 4, 0x3c, 0x7b, 0x7c, 0x7d, 0xfc].map((code) => x[code])).toEqual([
      0,
      2 ** -16,
      3 * 2 ** -16,
      2 ** -14,
      1,
      57344,
      Infinity,
      NaN,
      -Infinity,
    ]);
    const s = loaded.s!.toTypedArray() as Float32Array;
    expect([0, 126, 127, 254, 255].map((code) => s[code])).toEqual([
      2 ** -127,
      0.5,
      1,
      2 ** 127,
      NaN,
    ]);
  });

  it('U16 becomes int32, U32 and U64 become int64', async () => {
    const bytes = file({
      a: { dtype: 'U16', shape: [2], bytes: [255, 255, 1, 0] },
      b: { dtype: 'U32', shape: [2], bytes: [255, 255, 255, 255, 2, 0, 0, 0] },
      c: { dtype: 'U64', shape: [1], bytes: [255, 255, 255, 255, 255, 255, 255, 127] },
    });
    const { a, b, c } = await loadCheckpoint(bytes);
    expect([a!.dtype, b!.dtype, c!.dtype]).toEqual(['int32', 'int64', 'int64']);
    expect(a!.toArray()).toEqual([65535, 1]);
    expect(b!.toArray()).toEqual([2 ** 32 - 1, 2]);
    expect(c!.toTypedArray()).toEqual(BigInt64Array.of(2n ** 63n - 1n));
    expect(() => parseSafetensors(bytes)).toThrow(/"U16".*loadCheckpoint\(bytes\) converts/s);
  });

  it('a U64 that no int64 holds is an error that says where', async () => {
    const bytes = [...Array<number>(8).fill(0), ...Array<number>(8).fill(255)];
    const before = cpuHeap().stats().liveBytes;
    await expect(
      loadCheckpoint(file({ c: { dtype: 'U64', shape: [2], bytes } })),
    ).rejects.toMatchObject({
      code: 'dtype-unsupported',
      message: expect.stringContaining(
        '\'c\' has dtype "U64" and a value of 2^63 or more at element 1',
      ),
    });
    expect(cpuHeap().stats().liveBytes).toBeLessThanOrEqual(before);
  });
});

describe('types that cannot be loaded', () => {
  const bytes = file({
    good: { dtype: 'F32', shape: [1], bytes: [0, 0, 128, 63] },
    odd: { dtype: 'F4', shape: [4], bytes: [1, 2] },
    last: { dtype: 'U8', shape: [2], bytes: [5, 6] },
  });

  it('are left out and reported, and the rest is loaded', async () => {
    const skipped: SkippedTensor[] = [];
    for (const source of [bytes, inPieces(bytes, [3])]) {
      const loaded = await loadCheckpoint(source, { onSkip: (found) => skipped.push(found) });
      expect(Object.keys(loaded)).toEqual(['good', 'last']);
      expect(loaded.last!.toArray()).toEqual([5, 6]);
    }
    const odd = { name: 'odd', storedType: 'F4', shape: [4] };
    expect(skipped).toEqual([odd, odd]);
  });

  it('are an error where they are asked for, and only there', async () => {
    const before = cpuHeap().stats().liveBytes;
    for (const keys of [['good', 'odd'], () => true]) {
      await expect(loadCheckpoint(bytes, { keys })).rejects.toMatchObject({
        code: 'dtype-unsupported',
        message: expect.stringContaining('Tensor \'odd\' has dtype "F4"'),
      });
    }
    expect(() => parseSafetensors(bytes)).toThrow(/dtype-unsupported/);
    expect(cpuHeap().stats().liveBytes).toBeLessThanOrEqual(before);
    expect((await loadCheckpoint(bytes, { keys: ['good'] })).good!.toArray()).toEqual([1]);
  });
});

describe('the dtype option', () => {
  const floats: DType[] = ['float32', 'float64', 'float16', 'bfloat16'];
  const special = [
    0,
    -0,
    1.5,
    -2.75,
    1e-8,
    -6e-5,
    65519,
    65520,
    1e30,
    Infinity,
    -Infinity,
    NaN,
    1 / 3,
  ];
  const source: Record<string, Tensor> = { count: tensor([1, 2], { dtype: 'int64' }) };
  for (const dtype of floats) source[dtype] = tensor(special, { dtype });
  const bytes = serializeSafetensors(source);

  it.each(floats)('makes every float %s, as to() does, whatever pieces arrive', async (dtype) => {
    for (const lengths of [[1], [7], [3, 5, 1], [1000]]) {
      const loaded = await loadCheckpoint(inPieces(bytes, lengths), { dtype });
      for (const from of floats) {
        expect(loaded[from]!.dtype).toBe(dtype);
        expect(loaded[from]!.toTypedArray(), from).toEqual(source[from]!.to(dtype).toTypedArray());
      }
      expect(loaded.count!.dtype).toBe('int64');
      expect(loaded.count!.toArray()).toEqual([1, 2]);
    }
  });

  it('applies to eight-bit floats', async () => {
    const { x } = await loadCheckpoint(file({ x: every }), { dtype: 'bfloat16' });
    expect(x!.dtype).toBe('bfloat16');
    expect((x!.toTypedArray() as Float32Array)[0x7e]).toBe(448);
  });

  it('refuses what is no float', async () => {
    for (const dtype of ['int8', 'float'] as DType[])
      await expect(loadCheckpoint(bytes, { dtype })).rejects.toMatchObject({
        code: 'invalid-argument',
      });
  });

  it('holds no second copy of the whole', async () => {
    const large = serializeSafetensors({ a: randn([1 << 19]), b: randn([1 << 19]) });
    const heap = cpuHeap();
    const before = heap.stats().liveBytes;
    heap.resetPeak();
    const loaded = await loadCheckpoint(inPieces(large, [65_521]), { dtype: 'float16' });
    expect(heap.stats().peakBytes - before).toBeLessThanOrEqual(large.length / 2 + 4096);
    for (const value of Object.values(loaded)) value.dispose();
  });
});
