/**
 * Gradients on WebGPU: reduced by `await model.synchronize()`, and never used before.
 */
import assert from 'node:assert/strict';
import { compile, initWebGpu } from '@tessera/compile';
import { BatchNorm1d, Linear, Module, ReLU, Sequential, functional as F, optim } from '@tessera/nn';
import { type Tensor, manualSeed, randn } from '@tessera/tensor';
import {
  DistributedDataParallel,
  ZeroRedundancyOptimizer,
  allGatherObject,
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

// Running statistics are those of rank 0 from synchronize() on, and what only some ranks use gets its share.
{
  class Heads extends Module {
    norm = new BatchNorm1d(6);
    left = new Linear(6, 1);
    right = new Linear(6, 1);
    never = new Linear(6, 1);
    override forward(input: Tensor, useRight: boolean): Tensor {
      const normal = this.norm.call(input);
      return useRight ? this.right.call(normal) : this.left.call(normal);
    }
  }
  const heads = new Heads();
  const found = new DistributedDataParallel(heads, { findUnusedParameters: true });
  found.to('wgpu');
  found
    .call(mine!, rank === 1)
    .sum()
    .backward();
  await found.synchronize();
  const mean = (await heads.norm.running_mean!.toArray()) as number[];
  const theirs: unknown[] = Array.from({ length: size }, () => null);
  await allGatherObject(theirs, mean);
  for (const other of theirs) assert.deepEqual(other, mean);
  assert.notDeepEqual(mean, [0, 0, 0, 0, 0, 0]);
  const usedLeft = size === 1 ? 1 : (size - 1) / size;
  assert.deepEqual(await heads.left.bias!.grad!.toArray(), [4 * usedLeft]);
  if (size > 1) assert.deepEqual(await heads.right.bias!.grad!.toArray(), [4 / size]);
  assert.equal(heads.never.bias!.grad, null);

  const shared = new ZeroRedundancyOptimizer(found.parameters(), optim.AdamW, { lr: 0.01 });
  if (size > 1) {
    assert.throws(() => shared.step(), { code: 'data-async-only' });
    assert.throws(() => shared.consolidateStateDict(), { code: 'data-async-only' });
  }
}

const whole = compile((input: Tensor, target: Tensor) => {
  F.mseLoss(model.call(input), target).backward();
});
if (size > 1) assert.throws(() => whole(mine!, wanted!), { code: 'data-async-only' });

await destroyProcessGroup();
console.log(`rank ${rank} is done`);
process.exit(0);
