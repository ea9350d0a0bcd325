/**
 * @file Trains an MLP in one task, and says how many bytes of tensors are live on the way: a program for Node and
 * Bun, and the code of a page.
 */
import { compile } from '@tessera/compile';
import { counters } from '@tessera/shared';
import { Linear, ReLU, Sequential, functional as F, optim } from '@tessera/nn';
import {
  type DeviceType,
  type Tensor,
  cpuHeap,
  liveStorageBytes,
  manualSeed,
  randint,
  randn,
} from '@tessera/tensor';
import { withoutForcedCollection } from '@tessera/tensor/internal';

/** What was seen. */
export interface TrainingMemory {
  readonly steps: number;
  /** Live bytes after 50 steps, or half of them, and after the last. */
  readonly early: number;
  readonly late: number;
  /** Buffers that WebGPU made between the two. */
  readonly buffers: number;
  /** Bytes of the WebAssembly memory at the end. */
  readonly committed: number;
  readonly losses: readonly [first: number, last: number];
}

/** A compiled training step of an MLP with so many inputs. */
function trainingStep(device: DeviceType, width: number): () => Tensor {
  manualSeed(0);
  const [first, second] = [Math.ceil((width * 2) / 3), Math.ceil(width / 3)];
  const model = new Sequential(
    new Linear(width, first),
    new ReLU(),
    new Linear(first, second),
    new ReLU(),
    new Linear(second, 10),
  ).to(device);
  const optimizer = new optim.AdamW(model.parameters(), { lr: 1e-3 });
  const x = randn([16, width]).to(device);
  const labels = randint(0, 10, [16], { dtype: 'int64' }).to(device);
  return compile((): Tensor => {
    optimizer.zeroGrad();
    const loss = F.crossEntropy(model.call(x) as Tensor, labels);
    loss.backward();
    optimizer.step();
    return loss;
  });
}

const buffersMade = (): number => counters.get('wgpu')['buffers_created'] ?? 0;

/** Runs so many steps on a device without yielding in between. */
export async function trainInOneTask(device: DeviceType, steps: number): Promise<TrainingMemory> {
  const step = trainingStep(device, 784);
  let [early, buffers] = [0, 0];
  const [first, last] = withoutForcedCollection(() => {
    const start = step();
    let loss = start;
    for (let i = 1; i < steps; i++) {
      loss = step();
      if (i === Math.min(50, steps >> 1)) [early, buffers] = [liveStorageBytes(), buffersMade()];
    }
    return [start, loss] as const;
  });
  const late = liveStorageBytes();
  const losses = [Number(await first.item()), Number(await last.item())] as const;
  return memoryOf(steps, early, late, buffersMade() - buffers, losses);
}

/** Runs so many steps and waits for the loss of each. */
export async function trainAwaiting(device: DeviceType, steps: number): Promise<TrainingMemory> {
  const step = trainingStep(device, 48);
  let [early, buffers] = [0, 0];
  const losses: number[] = [];
  for (let i = 0; i < steps; i++) {
    losses.push(Number(await step().item()));
    if (i === 50) [early, buffers] = [liveStorageBytes(), buffersMade()];
  }
  const late = liveStorageBytes();
  return memoryOf(steps, early, late, buffersMade() - buffers, [losses[0]!, losses.at(-1)!]);
}

function memoryOf(
  steps: number,
  early: number,
  late: number,
  buffers: number,
  losses: TrainingMemory['losses'],
): TrainingMemory {
  return { steps, early, late, buffers, committed: cpuHeap().stats().committedBytes, losses };
}
