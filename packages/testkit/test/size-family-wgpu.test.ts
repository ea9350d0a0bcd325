/**
 * @file One code for all sizes of a program on WebGPU: kernels that take sizes as uniforms.
 *
 * Both kinds of schedules are tried: those for GPUs, and those for adapters that are programs on the CPU.
 */
import { initWebGpu } from '@tessera/compile';
import { makeFx } from '@tessera/graph';
import { type KernelBackend, SizeFamily } from '@tessera/inductor-core';
import { counters } from '@tessera/shared';
import { type Tensor, manualSeed, matmul, randn } from '@tessera/tensor';
import { beforeAll, describe, expect, it } from 'vitest';
import { sampleName, sampled } from '../../../tooling/full-tests.js';
import { SIZED_PROGRAMS, type SizedProgram } from './sized-programs.js';

type WebGpu = Awaited<ReturnType<typeof initWebGpu>>;

const wanted = process.env['TESSERA_REQUIRE_WEBGPU'] === '1';

async function open(profile: 'gpu' | 'software'): Promise<WebGpu | null> {
  try {
    return await initWebGpu({ profile });
  } catch (error) {
    if (wanted) throw error;
    console.warn(`WebGPU tests did not run: ${(error as Error).message}`);
    return null;
  }
}

/** No template is for 1 and 0; vectors have four lanes, threads of a workgroup are up to 256. */
const SIZES = [5, 8, 2, 3, 1, 0, 16, 31];

const isNear = (a: number, b: number): boolean =>
  Object.is(a, b) || Math.abs(a - b) <= 1e-4 + 1e-4 * Math.abs(b);

/** Sizes that decide about schedules: many rows, long rows, and more workgroups than fit in a row of a grid. */
const LARGE: Readonly<Record<string, SizedProgram>> = {
  'long rows': {
    inputs: (n) => [randn([3, 40 * n + 1]), randn([3, 40 * n])],
    fn: (x, y) => [x.softmax(1), y.softmax(1), x.sum(1), y.var(1), x.argmax(1)],
    plans: 2,
  },
  'products of many tiles': {
    inputs: (n) => [randn([9 * n, 3 * n]), randn([3 * n, 5 * n])],
    fn: (x, y) => matmul(x, y).relu(),
    plans: 2,
  },
};

const tried = sampled(Object.entries({ ...SIZED_PROGRAMS, ...LARGE }), 8);

const isThere = (await open('gpu')) !== null;

describe.skipIf(!isThere).each(['gpu', 'software'] as const)(
  'code for all sizes, %s',
  (profile) => {
    let gpu: WebGpu;
    beforeAll(async () => {
      gpu = (await open(profile))!;
    });

    it.each(tried)(`of %s (${sampleName})`, async (name, program) => {
      const { inputs, fn, plans = 3 } = program;
      const { backend: base } = gpu;
      const loaded = { templates: 0, plans: 0 };
      const backend: KernelBackend = {
        name: base.name,
        device: base.device,
        capabilities: base.capabilities,
        generate: (kernel) => base.generate(kernel),
        load(plan) {
          loaded.plans++;
          return base.load(plan);
        },
        loadTemplate(template) {
          loaded.templates++;
          return base.loadTemplate(template);
        },
      };
      const family = new SizeFamily();
      for (const n of SIZES) {
        manualSeed(n);
        const args = inputs(n) as [Tensor, Tensor, Tensor, Tensor];
        const there = args.map((x) => x.to('wgpu')) as typeof args;
        const at = (...[a, b, c, d]: Tensor[]): Tensor | Tensor[] => fn(a!, b!, c!, d!, n);
        const trace = makeFx(at, { tracingMode: 'fake' });
        const results = family.compile(trace(...there), backend)(there) as Tensor[];
        for (const [i, expected] of [at(...args)].flat().entries()) {
          const result = results[i]!;
          expect(result.sizes, `${name} at ${n}`).toEqual(expected.sizes);
          const [got, values] = [await result.toArray(), await expected.toArray()].map((nested) =>
            [nested].flat(9).map(Number),
          );
          const wrong = got!.findIndex((value, k) => !isNear(value, values![k]!));
          expect(wrong, `${name} at ${n}: ${got![wrong]} for ${values![wrong]}`).toBe(-1);
        }
      }
      expect(loaded).toEqual({ templates: 1, plans });
    });

    it('compiles no shader for a new size, and takes no more memory than the largest needs', async () => {
      const family = new SizeFamily();
      const fn = (x: Tensor, w: Tensor): Tensor =>
        matmul(matmul(x, w).relu(), w.t())
          .softmax(1)
          .mul(x.sum(1, { keepdim: true }));
      const trace = makeFx(fn, { tracingMode: 'fake' });
      const { runtime, backend } = gpu;
      const run = async (n: number): Promise<void> => {
        const args = [randn([n, 12]).to('wgpu'), randn([12, 10]).to('wgpu')] as const;
        const [result] = family.compile(trace(...args), backend)([...args]) as Tensor[];
        await result!.toArray();
        for (const tensor of [...args, result!]) tensor.dispose();
      };
      for (const n of [40, 41, 600]) await run(n);
      const [pipelines, inUse] = [runtime.pipelines.size, runtime.pool.inUse];
      for (let n = 42; n < 600; n += 31) await run(n);
      expect(runtime.pipelines.size).toBe(pipelines);
      // Memory of what earlier programs left may be collected meanwhile.
      expect(runtime.pool.inUse).toBeLessThanOrEqual(inUse);
    });

    it('makes no bind group for a new size whose inputs lie in memory that others had', async () => {
      const family = new SizeFamily();
      const fn = (x: Tensor, w: Tensor): Tensor =>
        matmul(matmul(x, w).relu(), w.t()).softmax(1).mul(x.square().sum(0)).sum();
      const trace = makeFx(fn, { tracingMode: 'fake' });
      const here = [randn([600, 12]), randn([12, 10])] as const;
      const [rows, w] = here.map((tensor) => tensor.to('wgpu')) as [Tensor, Tensor];
      const run = async (n: number): Promise<void> => {
        const x = rows.slice(0, 0, n);
        const [got] = family.compile(trace(x, w), gpu.backend)([x, w]) as [Tensor];
        const wanted = fn(here[0].slice(0, 0, n), here[1]).item() as number;
        expect(((await got.item()) as number) / wanted).toBeCloseTo(1, 3);
        got.dispose();
      };
      for (const n of [40, 600]) await run(n);
      const { bind_groups_created: before } = counters.get('wgpu');
      for (let n = 42; n < 600; n += 62) await run(n);
      expect(counters.get('wgpu').bind_groups_created! - before!).toBe(0);
    });
  },
);
