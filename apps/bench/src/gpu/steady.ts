/**
 * @file `pnpm bench wgpu-steady`: what loops on WebGPU cost and make once they are under way, as JSON.
 *
 * Times are µs of wall time per round with many rounds in flight, medians of samples that end with a wait
 * for the device. Inputs are made on the device.
 */
import { parseArgs } from 'node:util';
import { compile } from '@tessera/compile';
import { Linear, ReLU, Sequential, functional as F, optim } from '@tessera/nn';
import { type Tensor, grad, randint, randn } from '@tessera/tensor';
import { openGpu } from '../engines/tessera.js';
import { type Effort, type Gpu, type RoundTimes, keepBusy, timeRounds } from './in-flight.js';

/** Name on the command line. */
export const GPU_STEADY = 'wgpu-steady';

/** One loop. */
export interface SteadyLoop extends RoundTimes {
  readonly name: string;
  readonly shapes: string;
}

/** See the file header. */
export interface SteadyReport {
  readonly adapter: string;
  readonly loops: readonly SteadyLoop[];
  readonly memory: Readonly<Record<string, number>>;
}

interface Sizes {
  readonly widths: readonly number[];
  readonly batch: number;
  readonly classes: readonly [number, number];
  readonly busyMs: number;
  /** Of a round of microseconds, and of one of milliseconds. */
  readonly short: Effort;
  readonly long: Effort;
}

const FULL: Sizes = {
  widths: [784, 512, 256, 10],
  batch: 128,
  classes: [4096, 50257],
  busyMs: 2000,
  short: { warmUp: 200, rounds: 200, samples: 15, awaited: 200 },
  long: { warmUp: 20, rounds: 20, samples: 15, awaited: 20 },
};

const QUICK: Sizes = {
  widths: [32, 24, 10],
  batch: 4,
  classes: [16, 100],
  busyMs: 0,
  short: { warmUp: 20, rounds: 5, samples: 3, awaited: 3 },
  long: { warmUp: 20, rounds: 5, samples: 3, awaited: 3 },
};

async function measure(
  gpu: Gpu,
  name: string,
  shapes: string,
  effort: Effort,
  round: (i: number) => void,
): Promise<SteadyLoop> {
  return { name, shapes, ...(await timeRounds(gpu, effort, round)) };
}

function perceptronStep(
  widths: readonly number[],
  optimizerOf: (parameters: Iterable<Tensor>) => optim.Optimizer,
): (x: Tensor, y: Tensor) => Tensor {
  const layers = widths.slice(1).flatMap((outputs, l) => {
    const linear = new Linear(widths[l]!, outputs);
    return l === widths.length - 2 ? [linear] : [linear, new ReLU()];
  });
  const model = new Sequential(...layers);
  model.to('wgpu');
  const optimizer = optimizerOf([...model.parameters()]);
  return compile((x: Tensor, y: Tensor) => {
    optimizer.zeroGrad();
    const loss = F.crossEntropy(model.call(x) as Tensor, y);
    loss.backward();
    optimizer.step();
    return loss;
  });
}

async function measureAll(gpu: Gpu, sizes: Sizes): Promise<SteadyLoop[]> {
  const { widths, batch, short, long } = sizes;
  const loops: SteadyLoop[] = [];
  const add = async (...args: Parameters<typeof measure> extends [Gpu, ...infer R] ? R : never) =>
    void loops.push(await measure(gpu, ...args));
  const shapes = `${widths.join('-')}, batch ${batch}`;
  const batches = Array.from(
    { length: 4 },
    () =>
      [
        randn([batch, widths[0]!], { device: 'wgpu' }),
        randint(0, widths.at(-1)!, [batch], { device: 'wgpu' }),
      ] as const,
  );
  const sgd = perceptronStep(widths, (all) => new optim.SGD(all, { lr: 0.01 }));
  await add('mlp_step_sgd', shapes, short, () => sgd(...batches[0]!).dispose());
  const adamW = perceptronStep(widths, (all) => new optim.AdamW(all, { lr: 1e-4 }));
  await add('mlp_step_adamw', shapes, short, () => adamW(...batches[0]!).dispose());
  await add('mlp_step_adamw_4_batches', shapes, short, (i) => adamW(...batches[i % 4]!).dispose());
  const held: Tensor[] = [];
  await add('mlp_step_adamw_losses_held', shapes, short, (i) => {
    held.push(adamW(...batches[i % 4]!));
  });
  const [rows, count] = sizes.classes;
  const x = randn([rows, count], { device: 'wgpu' });
  x.requiresGrad_();
  const y = randint(0, count, [rows], { device: 'wgpu' });
  const gradient = compile(
    (logits: Tensor, labels: Tensor) => grad(F.crossEntropy(logits, labels), [logits])[0]!,
  );
  await add('cross_entropy_gradient', `${rows}x${count}`, long, () => gradient(x, y).dispose());
  const both = compile((logits: Tensor, labels: Tensor) => {
    const loss = F.crossEntropy(logits, labels);
    return [loss, grad(loss, [logits])[0]!];
  });
  await add('cross_entropy_loss_and_gradient', `${rows}x${count}`, long, () => {
    for (const result of both(x, y)) result.dispose();
  });
  return loops;
}

/** Runs it. @param args what follows the name on the command line */
export async function steadyReport(args: readonly string[]): Promise<SteadyReport> {
  const { values } = parseArgs({
    args: [...args],
    options: {
      dawn: { type: 'string' },
      'dawn-flag': { type: 'string', multiple: true, default: [] },
      quick: { type: 'boolean', default: false },
    },
  });
  const gpu = await openGpu({ dawn: values.dawn ?? null, dawnFlags: values['dawn-flag'] });
  const sizes = values.quick ? QUICK : FULL;
  await keepBusy(gpu, sizes.busyMs);
  const loops = await measureAll(gpu, sizes);
  const memory = { ...gpu.runtime.memoryStatistics };
  const report = { adapter: gpu.adapterName, loops, memory };
  gpu.dispose();
  return report;
}
