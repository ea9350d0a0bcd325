import { describe, expect, it } from 'vitest';
import {
  type Tensor,
  download,
  loadCheckpoint,
  parseSafetensors,
  saveCheckpoint,
  serializeCheckpoint,
  serializeSafetensors,
  tensor,
} from '../src/index.js';
import type { SavedOptimizer } from '../src/io/optimizer-tensors.js';
import { toDevice } from '../src/internal.js';
import { registerShelf } from './support/shelf-device.js';

/** A file with a hand-made header. */
function file(header: unknown, data: number): Uint8Array {
  const text = new TextEncoder().encode(
    typeof header === 'string' ? header : JSON.stringify(header),
  );
  const bytes = new Uint8Array(8 + text.length + data);
  new DataView(bytes.buffer).setBigUint64(0, BigInt(text.length), true);
  bytes.set(text, 8);
  return bytes;
}

const good = { a: { dtype: 'F32', shape: [2], data_offsets: [0, 8] } };

describe('safetensors', () => {
  it('writes and reads every dtype', async () => {
    const tensors = {
      f32: tensor([
        [1.5, -2],
        [3, 4],
      ]),
      f16: tensor([1.5, -2], { dtype: 'float16' }),
      bf16: tensor([1.5, -2], { dtype: 'bfloat16' }),
      i64: tensor([1n, -(2n ** 60n)]),
      flag: tensor([true, false]),
      scalar: tensor(7, { dtype: 'int32' }),
      empty: tensor([], { dtype: 'float64' }),
    };
    const bytes = serializeSafetensors(tensors, { format: 'pt' });
    const back = await loadCheckpoint(new Blob([bytes as BlobPart]));
    for (const [name, value] of Object.entries(tensors)) {
      expect(back[name]!.dtype).toBe(value.dtype);
      expect(back[name]!.shape).toEqual(value.shape);
      expect(back[name]!.toTypedArray()).toEqual(value.toTypedArray());
    }
  });

  it('reads what a view holds, not its base', () => {
    const view = tensor([
      [1, 2],
      [3, 4],
    ]).permute([1, 0]);
    expect(parseSafetensors(serializeSafetensors({ view })).view!.toArray()).toEqual([
      [1, 3],
      [2, 4],
    ]);
  });

  it('does not write what is not in host memory: it says what to await', async () => {
    registerShelf();
    const weight = toDevice(tensor([1, 2]), 'shelf');
    expect(() => serializeSafetensors({ weight })).toThrow(
      /'weight' cannot be written now.*\n→ Write: await serializeCheckpoint\(values\)/,
    );
    const bytes = await serializeCheckpoint({ weight }, { metadata: { step: '7' } });
    const here = { weight: await download(weight) };
    expect(bytes).toEqual(serializeSafetensors(here, { step: '7' }));
    expect(parseSafetensors(bytes)['weight']!.toArray()).toEqual([1, 2]);
  });

  it("writes an optimizer's state: its numbers are tensors, on whatever device it is", async () => {
    registerShelf();
    const average = tensor([1, 2]);
    const state = (exp_avg: Tensor): SavedOptimizer => ({
      state: { 0: { step: 3, exp_avg } },
      paramGroups: [{ lr: 0.1, betas: [0.9, 0.99], maximize: false, params: [0] }],
    });
    const bytes = serializeSafetensors(state(average));
    expect(await serializeCheckpoint(state(toDevice(average, 'shelf')))).toEqual(bytes);
    const back = await loadCheckpoint(bytes);
    expect(back['state.0.exp_avg']!.toArray()).toEqual([1, 2]);
    expect(back['state.0.step']!.item()).toBe(3);
    expect(back['paramGroups.0.betas.1']!.item()).toBe(0.99);
  });

  it.each([
    ['serializeSafetensors', async (values: never) => serializeSafetensors(values)],
    ['serializeCheckpoint', (values: never) => serializeCheckpoint(values)],
    ['saveCheckpoint', (values: never) => saveCheckpoint('never.safetensors', values)],
  ])('%s says what to pass in the place of what it does not write', async (name, write) => {
    const refused = (values: unknown): Promise<unknown> =>
      write(values as never).then(String, (error: unknown) => String(error));
    for (const values of [null, undefined, 3, tensor([1])])
      expect(await refused(values)).toMatch(/writes tensors by name, not .*\n→ Give the state of/);
    class Model {
      stateDict(): object {
        return {};
      }
    }
    expect(await refused(new Model())).toContain(`${name}() writes tensors by name, not Model.`);
    expect(await refused(new Model())).toMatch(/Give its state: \w+\(.*model\.stateDict\(\)\)/);
    expect(await refused({ lr: 0.1 })).toContain("and 'lr' is 0.1");
    expect(await refused({ head: { weight: tensor([1]) } })).toContain("'head.weight'");
  });

  it('reads headers of every length: one may start like a page or an archive', async () => {
    for (const length of [0x3c, 0x3c + 256, 0x5047]) {
      const bytes = file(JSON.stringify(good).padEnd(length), 8);
      expect((await loadCheckpoint(bytes)).a!.toArray()).toEqual([0, 0]);
    }
  });

  it.each([
    ['too short for a length', new Uint8Array(4), /too few/],
    [
      'an absurd header length',
      (() => {
        const b = file(good, 8);
        new DataView(b.buffer).setBigUint64(0, 2n ** 60n, true);
        return b;
      })(),
      /header claims/,
    ],
    ['a header that is cut off', file(good, 8).subarray(0, 30), /header needs/],
    ['a header that is not JSON', file('{"a":', 0), /not JSON/],
    ['a header that is a list', file([], 0), /not an object/],
    ['a dtype that is no name', file({ a: { ...good.a, dtype: 8 } }, 8), /has dtype 8/],
    ['a negative size', file({ a: { ...good.a, shape: [-2] } }, 8), /no valid shape/],
    [
      'offsets beyond the file',
      file({ a: { ...good.a, data_offsets: [0, 800] } }, 8),
      /but there are 8/,
    ],
    [
      'a size that does not fit the bytes',
      file({ a: { ...good.a, shape: [3] } }, 8),
      /needs 12 bytes/,
    ],
    ['an absurd shape', file({ a: { ...good.a, shape: [2 ** 50, 2 ** 50] } }, 8), /needs/],
    [
      'overlapping tensors',
      file({ ...good, b: { dtype: 'F32', shape: [2], data_offsets: [4, 12] } }, 12),
      /overlaps/,
    ],
    [
      'a hole',
      file({ ...good, b: { dtype: 'F32', shape: [1], data_offsets: [12, 16] } }, 16),
      /belong to no tensor/,
    ],
    ['a truncated data section', file(good, 4), /but there are 4/],
  ])('rejects %s', (_name, bytes, message) => {
    expect(() => parseSafetensors(bytes)).toThrow(message);
    expect(() => parseSafetensors(bytes)).toThrow(/safetensors-invalid/);
  });
});
