/**
 * @file 16-bit floats take two bytes on a WebGPU device that has them, bfloat16 too, whose bits WGSL has no type for: every
 * pattern of bits survives, writes touch no neighbour, and programs compute what they compute on the CPU. SwiftShader
 * has none: there they take four.
 */
import { compile, initWebGpu, registerKernelBackend } from '@tessera/compile';
import { Embedding, Linear, functional as F, optim } from '@tessera/nn';
import {
  type DeviceType,
  type Tensor,
  arange,
  cat,
  download,
  fromTypedArray,
  manualSeed,
  noGrad,
  rand,
  randn,
  tensor,
  where,
} from '@tessera/tensor';
import { beforeAll, describe, expect, it } from 'vitest';
import { wantsGpu } from '../../../tooling/wants-gpu.js';

const gpu = wantsGpu ? await initWebGpu() : null;

beforeAll(() => {
  if (gpu !== null) registerKernelBackend(gpu.backend);
});

const DTYPES = ['bfloat16', 'float16'] as const;
type Half = (typeof DTYPES)[number];

/** The float32 values of all 65,536 patterns of bits of a bfloat16. */
const PATTERNS = new Float32Array(Uint32Array.from({ length: 65_536 }, (_, i) => i << 16).buffer);

const values = async (x: Tensor): Promise<readonly number[]> =>
  (await download(x.to('float32').flatten())).toArray() as number[];

const places = (x: Tensor, at: readonly number[]): Tensor =>
  tensor(at, { dtype: 'int64' }).to(x.device);

/** Programs of a tensor of 7 rows of 9 halves: odd sizes, odd places, all kinds of reads and writes. */
const PROGRAMS: Readonly<Record<string, (x: Tensor) => Tensor>> = {
  pointwise: (x) => x.mul(2).add(1).relu(),
  'odd places': (x) => x.flatten().slice(0, 1, 62).mul(3),
  transposed: (x) => x.t().add(x.slice(0, 0, 1).t()),
  'every second': (x) => x.slice(1, 1, 9, 2).neg(),
  broadcast: (x) => x.add(x.select(0, 3)),
  join: (x) => cat([x.slice(1, 0, 3), x.slice(1, 2, 9), x.slice(1, 5, 6)], 1),
  chosen: (x) => where(x.gt(0), x, x.abs().sqrt()),
  sums: (x) => x.sum(1).add(x.sum(0).slice(0, 0, 7)),
  extremes: (x) => x.amax(1).sub(x.amin(1)),
  products: (x) => x.sign().matmul(x.sign().t()),
  gathered: (x) => x.index(places(x, [5, 0, 6, 6])),
  scattered: (x) => x.indexAdd(0, places(x, [1, 1, 4]), x.sign().slice(0, 0, 3)),
  softmax: (x) => x.softmax(1),
  normalized: (x) => F.layerNorm(x, [9]),
  filled: (x) => {
    const y = x.clone();
    y.slice(1, 1, 4).fill_(7);
    y.slice(0, 1, 7, 2).slice(1, 3, 8, 3).mul_(2);
    y.select(1, 8).copy_(y.select(1, 0));
    return y;
  },
  'written at places': (x) =>
    x.clone().indexPut_([places(x, [0, 3, 6]), places(x, [1, 4, 8])], x.diag().slice(0, 0, 3)),
};

describe.skipIf(gpu === null)('halves on wgpu', () => {
  it.each(DTYPES)('take no more bytes than the device needs: %s', (dtype) => {
    const { pool } = gpu!.runtime;
    const bytes = gpu!.device.features.has('shader-f16') ? 2 : 4;
    const wide = rand([1 << 20], { device: 'wgpu' });
    const before = pool.statistics.inUse;
    const x = wide.to(dtype);
    const taken = pool.statistics.inUse - before;
    expect(taken).toBeGreaterThanOrEqual(bytes << 20);
    expect(taken).toBeLessThan((bytes + 1) << 20);
    expect(gpu!.runtime.itemSize(dtype)).toBe(bytes);
    x.dispose();
  });

  it('keep every pattern of bits of a bfloat16 through copies and kernels', async () => {
    const x = fromTypedArray(PATTERNS, [65_536]).to('bfloat16');
    const there = x.to('wgpu');
    expect(await values(there)).toEqual(Array.from(PATTERNS));
    const odd = there.slice(0, 1, 65_534);
    expect(await values(odd.clone())).toEqual(Array.from(PATTERNS.subarray(1, 65_534)));
    const turned = compile((y: Tensor) => y.view([256, 256]).t().contiguous())(there);
    expect(await values(turned)).toEqual(await values(x.view([256, 256]).t().contiguous()));
  });

  for (const dtype of DTYPES)
    it.each(Object.keys(PROGRAMS))(`compute as on the CPU, ${dtype}: %s`, async (name) => {
      manualSeed(3);
      const program = PROGRAMS[name]!;
      const x = randn([7, 9]).to(dtype);
      const expected = (await values(program(x))) as number[];
      const there = x.to('wgpu');
      for (const run of [program, compile(program)]) {
        const got = await values(run(there));
        const wrong = got.filter((value, i) => !isClose(value, expected[i]!, dtype));
        expect(wrong, `${got.join(' ')}\n${expected.join(' ')}`).toEqual([]);
      }
      expect(await values(there)).toEqual(await values(x));
    });

  it.each(DTYPES)('train: %s', async (dtype) => {
    const losses = async (device: DeviceType): Promise<number[]> => {
      manualSeed(5);
      const embedding = new Embedding(11, 6);
      const linear = new Linear(6, 11);
      const parameters = [embedding, linear].flatMap((module) => [
        ...module.to(dtype).to(device).parameters(),
      ]);
      const optimizer = new optim.SGD(parameters, { lr: 0.5 });
      const ids = arange(11).to(device);
      const step = compile(() => {
        optimizer.zeroGrad();
        const loss = F.crossEntropy(linear.call(embedding.call(ids)).to('float32'), ids);
        loss.backward();
        optimizer.step();
        return loss.detach();
      });
      const found: number[] = [];
      for (let i = 0; i < 12; i++) found.push((await values(step()))[0]!);
      return found;
    };
    const [here, there] = [await losses('cpu'), await losses('wgpu')];
    expect(there.at(-1)!).toBeLessThan(here[0]! / 2);
    for (const [i, loss] of there.entries()) expect(Math.abs(loss - here[i]!)).toBeLessThan(0.05);
  });

  it('are a parameter that a plan reads and writes in place', async () => {
    const weight = noGrad(() => randn([33], { device: 'wgpu' }).to('bfloat16'));
    const before = await values(weight);
    const grow = compile((w: Tensor) => void w.slice(0, 1, 32).mul_(2));
    grow(weight);
    expect(await values(weight)).toEqual(before.map((w, i) => (i >= 1 && i < 32 ? 2 * w : w)));
  });
});

/** Within what two orders of rounding differ by. */
function isClose(a: number, b: number, dtype: Half): boolean {
  if (Number.isNaN(a) && Number.isNaN(b)) return true;
  return Math.abs(a - b) <= (dtype === 'bfloat16' ? 2 ** -7 : 2 ** -10) * Math.abs(b) + 1e-6;
}
