/**
 * @file `pnpm bench layout`: networks of convolutions in eager's layout and channels last, on both devices, as JSON.
 *
 * The two take turns; a ratio is the median of those of single rounds, and below 1 channels last is faster. A step
 * is what a program waits for: it starts and ends with eager's layouts, and what is laid out on the way, weights
 * that are no constants included, is part of it. Training is forward and backward to the gradients of all
 * parameters.
 */
import { parseArgs } from 'node:util';
import { compile, type initWebGpu } from '@tessera/compile';
import type { Module } from '@tessera/nn';
import { isTesseraError } from '@tessera/shared';
import { type Tensor, manualSeed, noGrad, randn } from '@tessera/tensor';
import { openGpu } from '../engines/tessera.js';
import { median, roundRatios } from '../harness/statistics.js';
import { LAYOUT_NETWORKS, type LayoutNetwork } from './networks.js';

/** Name on the command line. */
export const LAYOUT = 'layout';

type Gpu = Awaited<ReturnType<typeof initWebGpu>>;

const USES = ['training', 'inference', 'frozen'] as const;

/** What a network is run for; `frozen` is inference with weights as constants. */
export type Use = (typeof USES)[number];

/** One network for one use on one device; medians, in ms per step. */
export interface LayoutRow {
  readonly network: string;
  readonly shape: readonly number[];
  readonly device: 'cpu' | 'wgpu';
  readonly use: Use;
  readonly eagerLayoutMs: number;
  readonly channelsLastMs: number;
  /** Channels last over eager's layout. */
  readonly ratio: number;
}

/** See the file header. */
export interface LayoutReport {
  /** Name of the adapter; why there is none otherwise. */
  readonly adapter: string;
  readonly rounds: Readonly<Record<string, number>>;
  /** Geometric means of the ratios, by device and use. */
  readonly means: Readonly<Record<string, number>>;
  readonly rows: readonly LayoutRow[];
}

const LAYOUTS = [
  { layoutOptimization: false, forceLayoutOptimization: false },
  { layoutOptimization: true, forceLayoutOptimization: true },
];

/** A step of a fresh copy of the network, compiled with some options. */
async function stepOf(
  network: LayoutNetwork,
  isSmall: boolean,
  device: 'cpu' | 'wgpu',
  use: Use,
  options: Readonly<Record<string, boolean>>,
): Promise<() => void> {
  manualSeed(0);
  const model = (await network.make(isSmall)) as Module & { call(x: Tensor): Tensor };
  if (use !== 'training') model.eval();
  model.to(device);
  const x = randn(isSmall ? network.small : network.full, { device });
  const run = compile((input: Tensor) => model.call(input), {
    options: { ...options, freezing: use === 'frozen' },
  });
  if (use !== 'training') return () => noGrad(() => run(x).dispose());
  const parameters = model.parameters();
  return () => {
    for (const parameter of parameters) parameter.grad = null;
    const y = run(x);
    y.square().mean().backward();
    y.dispose();
  };
}

async function measure(
  network: LayoutNetwork,
  isSmall: boolean,
  use: Use,
  gpu: Gpu | null,
  rounds: number,
): Promise<LayoutRow> {
  const device = gpu === null ? 'cpu' : 'wgpu';
  const variants: { readonly step: () => void; readonly times: number[] }[] = [];
  for (const options of LAYOUTS)
    variants.push({ step: await stepOf(network, isSmall, device, use, options), times: [] });
  const timed = async (step: () => void): Promise<number> => {
    const start = performance.now();
    step();
    await gpu?.synchronize();
    return performance.now() - start;
  };
  for (const { step } of variants) for (let i = 0; i < 3; i++) await timed(step);
  for (let round = 0; round < rounds; round++)
    for (const { step, times } of round % 2 === 0 ? variants : [...variants].reverse())
      times.push(await timed(step));
  const [eager, last] = variants.map(({ times }) => times) as [number[], number[]];
  return {
    network: network.name,
    shape: isSmall ? network.small : network.full,
    device,
    use,
    eagerLayoutMs: median(eager),
    channelsLastMs: median(last),
    ratio: median(roundRatios(last, eager)),
  };
}

/** Geometric means by device and use. */
function meansOf(rows: readonly LayoutRow[]): Record<string, number> {
  const logs = new Map<string, number[]>();
  for (const { device, use, ratio } of rows) {
    const key = `${device} ${use}`;
    logs.set(key, [...(logs.get(key) ?? []), Math.log(ratio)]);
  }
  return Object.fromEntries(
    [...logs].map(([key, all]) => [key, Math.exp(all.reduce((a, b) => a + b) / all.length)]),
  );
}

/** Runs it. @param args what follows the name on the command line */
export async function layoutReport(args: readonly string[]): Promise<LayoutReport> {
  const { values } = parseArgs({
    args: [...args],
    options: {
      dawn: { type: 'string' },
      'dawn-flag': { type: 'string', multiple: true, default: [] },
      device: { type: 'string', multiple: true, default: ['cpu', 'wgpu'] },
      network: { type: 'string', multiple: true, default: [] },
      quick: { type: 'boolean', default: false },
    },
  });
  const wanted = LAYOUT_NETWORKS.filter(
    ({ name }) => values.network.length === 0 || values.network.includes(name),
  );
  const rows: LayoutRow[] = [];
  const rounds: Record<string, number> = {};
  const add = async (gpu: Gpu | null, small: boolean, count: number): Promise<void> => {
    rounds[gpu === null ? 'cpu' : 'wgpu'] = count;
    for (const network of wanted)
      for (const use of USES) rows.push(await measure(network, small, use, gpu, count));
  };
  if (values.device.includes('cpu')) await add(null, values.quick, values.quick ? 1 : 15);
  let adapter = 'not asked for';
  if (values.device.includes('wgpu')) {
    try {
      const gpu = await openGpu({ dawn: values.dawn ?? null, dawnFlags: values['dawn-flag'] });
      adapter = gpu.adapterName;
      const software = /swiftshader|llvmpipe/i.test(adapter);
      await add(gpu, values.quick || software, values.quick ? 1 : software ? 5 : 15);
      gpu.dispose();
    } catch (error) {
      if (!isTesseraError(error, 'device-unavailable')) throw error;
      adapter = error.message;
    }
  }
  return { adapter, rounds, means: meansOf(rows), rows };
}
