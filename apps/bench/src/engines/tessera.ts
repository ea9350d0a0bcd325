/**
 * @file Engines `tessera` (compiled) and `tessera-eager` (the same functions, op by op).
 */
import { createRequire } from 'node:module';
import { resolve } from 'node:path';
import { compile, config, initWebGpu } from '@tessera/compile';
import { type DeviceType, type Tensor, fromTypedArray } from '@tessera/tensor';
import type { Engine, EngineOptions, LoadedEngine, Prepared } from '../harness/engine.js';
import type { HostArray } from '../harness/host-array.js';
import { type Range, concatenated, pickRanges } from '../harness/ranges.js';
import type { Case } from '../harness/workload.js';
import { packageVersion } from './package-version.js';

/** Results up to this size are read whole, larger ones range by range. */
const READ_WHOLE = 1 << 22;

type Gpu = Awaited<ReturnType<typeof initWebGpu>>;

/** One GPU device for both engines. */
let gpu: Promise<Gpu> | null = null;
/** Dawn's instance must live as long as its device. */
const dawnInstances: GPU[] = [];

/** Opens the GPU, with Dawn from a file if one is given. */
export async function openGpu(options: Pick<EngineOptions, 'dawn' | 'dawnFlags'>): Promise<Gpu> {
  const { dawn, dawnFlags } = options;
  if (dawn === null) return initWebGpu(dawnFlags.length === 0 ? {} : { dawnFlags });
  const { create } = createRequire(import.meta.url)(resolve(dawn)) as {
    create(flags: readonly string[]): GPU;
  };
  const instance = create(dawnFlags);
  dawnInstances.push(instance);
  const adapter = await instance.requestAdapter({ powerPreference: 'high-performance' });
  return initWebGpu(adapter === null ? { dawnFlags } : { adapter });
}

function upload({ dtype, data, shape }: HostArray, device: DeviceType): Tensor {
  const host = fromTypedArray(data, shape, { dtype });
  if (device === 'cpu') return host;
  const there = host.to(device);
  host.dispose();
  return there;
}

/** Reads tensors as one flat result: whole, or the elements in some ranges of it. */
async function readResult(
  tensors: readonly Tensor[],
  ranges: readonly Range[] | null,
): Promise<Float32Array> {
  const total = tensors.reduce((sum, tensor) => sum + tensor.numel, 0);
  if (ranges === null || total <= READ_WHOLE) {
    const parts: Float32Array[] = [];
    for (const tensor of tensors) {
      parts.push((await tensor.toTypedArray()) as Float32Array);
    }
    const whole = concatenated(parts);
    return ranges === null ? whole : pickRanges(whole, ranges);
  }
  const flat = tensors[0]!.view([-1]);
  const parts: Float32Array[] = [];
  for (const { start, count } of ranges) {
    parts.push((await flat.narrow(0, start, count).toTypedArray()) as Float32Array);
  }
  return concatenated(parts);
}

/** A call of `fn` with fixed arguments; spreading them would cost as much as a small compiled call. */
function bindArguments(fn: (...args: Tensor[]) => Tensor, args: readonly Tensor[]): () => Tensor {
  const [a, b, c] = args as [Tensor, Tensor, Tensor];
  if (args.length === 1) return () => fn(a);
  if (args.length === 2) return () => fn(a, b);
  if (args.length === 3) return () => fn(a, b, c);
  return () => fn(...args);
}

function prepare(
  instance: Case,
  options: EngineOptions,
  device: Gpu | null,
  compiled: boolean,
): Prepared {
  const inputs = instance.inputs.map((input) => upload(input, options.device));
  const { fn, args, state = [] } = instance.programs.tessera(inputs);
  let call: (() => Tensor) | null = null;
  let last: Tensor | null = null;
  const start = (): (() => Tensor) => {
    const callable = compiled
      ? compile(fn, { backend: options.backend, ...instance.compileOptions })
      : fn;
    return bindArguments(callable, args);
  };
  const run = (): void => {
    last?.dispose();
    last = call!();
  };
  return {
    first() {
      call = start();
      run();
    },
    run,
    ...(device === null ? {} : { finish: () => device.synchronize() }),
    result: (ranges) => readResult([last!, ...state], ranges),
    dispose() {
      last?.dispose();
      for (const tensor of [...state, ...inputs]) tensor.dispose();
    },
  };
}

function engine(name: string, about: string, compiled: boolean): Engine {
  return {
    name,
    about,
    async load(options): Promise<LoadedEngine> {
      config.set({ 'cpu.threads': options.threads });
      const device = options.device === 'wgpu' ? await (gpu ??= openGpu(options)) : null;
      return {
        versions: { '@tessera/compile': packageVersion('@tessera/compile') },
        threads: options.device === 'cpu' ? options.threads : 1,
        ...(device === null ? {} : { hardware: device.adapterName }),
        prepare: async (_workload, instance) => prepare(instance, options, device, compiled),
        async close() {
          gpu = null;
          device?.dispose();
        },
      };
    },
  };
}

/** Compiled by `@tessera/compile`. */
export const tessera: Engine = engine('tessera', 'compiled by Tessera', true);

/** Not compiled: each op runs by itself. */
export const tesseraEager: Engine = engine('tessera-eager', 'the same functions, op by op', false);
