/**
 * @file Trains an MLP in one task, and says how many bytes of tensors are live on the way: a program for Node and
 * Bun, and the code of a page.
 */
import { compile } from '@tessera/compile';
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
  /** Bytes of the WebAssembly memory at the end. */
  readonly committed: number;
  readonly losses: readonly [first: number, last: number];
}

/** Runs so many steps on a device without yielding in between. */
export async function trainInOneTask(device: DeviceType, steps: number): Promise<TrainingMemory> {
  manualSeed(0);
  const model = new Sequential(
    new Linear(784, 512),
    new ReLU(),
    new Linear(512, 256),
    new ReLU(),
    new Linear(256, 10),
  ).to(device);
  const optimizer = new optim.AdamW(model.parameters(), { lr: 1e-3 });
  const x = randn([16, 784]).to(device);
  const labels = randint(0, 10, [16], { dtype: 'int64' }).to(device);
  const step = compile((): Tensor => {
    optimizer.zeroGrad();
    const loss = F.crossEntropy(model.call(x) as Tensor, labels);
    loss.backward();
    optimizer.step();
    return loss;
  });
  let early = 0;
  const [first, last] = withoutForcedCollection(() => {
    const start = step();
    let loss = start;
    for (let i = 1; i < steps; i++) {
      loss = step();
      if (i === Math.min(50, steps >> 1)) early = liveStorageBytes();
    }
    return [start, loss] as const;
  });
  const late = liveStorageBytes();
  const losses = [Number(await first.item()), Number(await last.item())] as const;
  return { steps, early, late, committed: cpuHeap().stats().committedBytes, losses };
}
