/**
 * Gradients on WebGPU: reduced by `await model.synchronize()`, and never used before.
 */
import assert from 'node:assert/strict';
import { compile, initWebGpu } from '@tessera/compile';
import { Linear, ReLU, Sequential, functional as F, optim } from '@tessera/nn';
import { type Tensor, manualSeed, randn } from '@tessera/tensor';
import {
  DistributedDataParallel,
  allReduce,
  destroyProcessGroup,
  functionalCollectives as fc,
  getRank,
  getWorldSize,
  initProcessGroup,
} from '../../src/index.js';

await initProcessGroup();
await initWebGpu();
const [rank, size] = [getRank(), getWorldSize()];

const x = randn([2])
  .mul(0)
  .add(rank + 1)
  .to('wgpu');
await allReduce(x);
assert.deepEqual(
  await x.toArray(),
  [3, 3].map(() => (size * (size + 1)) / 2),
);
assert.throws(() => fc.allReduce(x), { code: 'data-async-only' });

manualSeed(4);
const images = randn([4 * size, 6]);
const labels = randn([4 * size, 3]);
const [mine, wanted] = [images, labels].map((t) =>
  t
    .narrow(0, 4 * rank, 4)
    .clone()
    .to('wgpu'),
);

function net(seed: number): Sequential {
  manualSeed(seed);
  return new Sequential(new Linear(6, 20), new ReLU(), new Linear(20, 3));
}

const alone = net(1);
const plain = new optim.SGD(alone.parameters(), { lr: 0.1 });
const inner = net(1 + rank);
const model = new DistributedDataParallel(inner);
model.to('wgpu');
const optimizer = new optim.SGD(model.parameters(), { lr: 0.1 });
const forward = compile((input: Tensor) => model.call(input));
for (let step = 0; step < 3; step++) {
  plain.zeroGrad();
  F.mseLoss(alone.call(images), labels).backward();
  plain.step();
  optimizer.zeroGrad();
  F.mseLoss(forward(mine!), wanted!).backward();
  if (size > 1 && step === 0) {
    const before = (await inner.parameters()[0]!.toArray()) as unknown;
    optimizer.step();
    assert.deepEqual(await inner.parameters()[0]!.toArray(), before);
    assert.throws(() => model.call(mine!), { code: 'distributed-pending' });
  }
  await model.synchronize();
  optimizer.step();
}
for (const [i, p] of alone.parameters().entries()) {
  const apart = inner.parameters()[i]!.sub(p.to('wgpu')).abs().max();
  assert.ok((await apart.item()) < 1e-5, `parameter ${i} is apart`);
}
const whole = compile((input: Tensor, target: Tensor) => {
  F.mseLoss(model.call(input), target).backward();
});
if (size > 1) assert.throws(() => whole(mine!, wanted!), { code: 'data-async-only' });

await destroyProcessGroup();
console.log(`rank ${rank} is done`);
process.exit(0);
