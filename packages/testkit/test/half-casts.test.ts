/**
 * @file Conversions to 16-bit floats in fused code round, on both devices, though arithmetic around them does not.
 */
import { compile, initWebGpu, registerKernelBackend } from '@tessera/compile';
import {
  type DeviceType,
  type DType,
  type Tensor,
  download,
  fromTypedArray,
} from '@tessera/tensor';
import { toDevice } from '@tessera/tensor/internal';
import { beforeAll, describe, expect, it } from 'vitest';
import { wantsGpu } from '../../../tooling/wants-gpu.js';

const values = Float32Array.from(
  { length: 37 },
  (_, i) => Math.sin(i * 12.9898) * 10 ** ((i % 9) - 5),
);
const there = (dtype: DType) => (x: Tensor) => x.mul(3).to(dtype).to('float32').sub(x);

const DEVICES: readonly DeviceType[] = wantsGpu ? ['cpu', 'wgpu'] : ['cpu'];

beforeAll(async () => {
  if (wantsGpu) registerKernelBackend((await initWebGpu()).backend);
});

describe.each(['float16', 'bfloat16'] as const)('casts to %s', (dtype) => {
  const x = fromTypedArray(values, [37]);
  const expected = there(dtype)(x).toArray();

  it.each(DEVICES)('round on %s', async (device) => {
    const out = compile(there(dtype))(toDevice(x, device));
    expect((await download(out)).toArray()).toEqual(expected);
  });

  it('round numbers that change between calls', () => {
    const fn = compile((y: Tensor, s: number) => y.mul(s).to(dtype).to('float32'), {
      dynamic: true,
    });
    for (const s of [1.2345, 2.3456, 3.4567])
      expect(fn(x, s).toArray()).toEqual(x.mul(s).to(dtype).to('float32').toArray());
  });
});
