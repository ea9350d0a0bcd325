/**
 * @file What every consumer does: trains the digits' MLP with a compiled step, from PyTorch's initial weights.
 */
import { compile } from '@tessera/compile';
import { Flatten, Linear, ReLU, Sequential, functional as F, optim } from '@tessera/nn';
import { parseSafetensors, tensor } from '@tessera/tensor';

const BATCH = 100;
const PREFIX = 'digits_mlp/state/';

/** Batches of `count` steps: images [100, 1, 8, 8] in 0…1 and labels [100]. */
function batches(file, count, device) {
  const pixels = Float32Array.from(file.images_u8.toTypedArray(), (value) => value / 16);
  const labels = file.labels.toTypedArray();
  return Array.from({ length: count }, (_, i) => [
    tensor(pixels.subarray(i * BATCH * 64, (i + 1) * BATCH * 64))
      .view([BATCH, 1, 8, 8])
      .to(device),
    tensor([...labels.subarray(i * BATCH, (i + 1) * BATCH)], { dtype: 'int64' }).to(device),
  ]);
}

/**
 * Trains `steps` steps and gives their losses.
 * @param {Uint8Array} digits the safetensors file
 */
export async function train(digits, { device = 'cpu', steps = 10 } = {}) {
  const file = parseSafetensors(digits);
  const model = new Sequential(new Flatten(), new Linear(64, 128), new ReLU(), new Linear(128, 10));
  const state = Object.entries(file).filter(([name]) => name.startsWith(PREFIX));
  model.loadStateDict(
    Object.fromEntries(state.map(([name, value]) => [name.slice(PREFIX.length), value])),
  );
  model.to(device);
  const optimizer = new optim.AdamW(model.parameters(), { lr: 1e-2 });
  const step = compile((images, labels) => {
    optimizer.zeroGrad();
    const loss = F.crossEntropy(model.call(images), labels);
    loss.backward();
    optimizer.step();
    return loss;
  });
  const losses = [];
  for (const [images, labels] of batches(file, steps, device))
    losses.push(await step(images, labels).item());
  return losses;
}
