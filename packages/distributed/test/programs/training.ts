/**
 * Training on several ranks with samples of their own: equal to training on all samples at once.
 */
import assert from 'node:assert/strict';
import { compile, config } from '@tessera/compile';
import {
  BatchNorm1d,
  Linear,
  Module,
  ReLU,
  Sequential,
  type TensorModule,
  functional as F,
  optim,
} from '@tessera/nn';
import { type Tensor, cpuHeap, manualSeed, noGrad, randn, saveCheckpoint } from '@tessera/tensor';
import {
  DistributedDataParallel,
  SyncBatchNorm,
  ZeroRedundancyOptimizer,
  destroyProcessGroup,
  functionalCollectives as fc,
  getRank,
  getWorldSize,
  initProcessGroup,
  loadTraining,
  saveTraining,
} from '../../src/index.js';

await initProcessGroup();
const [rank, size] = [getRank(), getWorldSize()];
config.set({ 'cpu.threads': 1 });

function close(a: Tensor, b: Tensor, most: number, what: string): void {
  const apart = a.sub(b).abs().max().item();
  assert.ok(apart <= most, `${what}: rank ${rank} is ${apart} away`);
}

/** A model; other ranks begin with other numbers, until they get those of rank 0. */
function net(seed: number): Sequential {
  manualSeed(seed);
  return new Sequential(new Linear(6, 40), new BatchNorm1d(40), new ReLU(), new Linear(40, 3));
}

manualSeed(11);
const images = randn([8 * size, 6]);
const labels = randn([8 * size, 3]);
const mine = (whole: Tensor): Tensor => whole.narrow(0, 8 * rank, 8).clone();

type Step = () => Tensor;

function trained(model: TensorModule, x: Tensor, y: Tensor, how: (step: Step) => Step): void {
  const optimizer = new optim.SGD(model.parameters(), { lr: 0.1, momentum: 0.9 });
  const step = how(() => {
    optimizer.zeroGrad();
    const loss = F.mseLoss(model.call(x), y);
    loss.backward();
    optimizer.step();
    return loss;
  });
  for (let i = 0; i < 4; i++) step();
}

const alone = net(1);
trained(alone, images, labels, (step) => step);

const ways: [string, (step: Step) => Step][] = [
  ['eager', (step) => step],
  ['a whole compiled step', (step) => compile(step, { fullgraph: true })],
];
for (const [name, how] of ways) {
  const model = SyncBatchNorm.convert(net(1 + rank));
  const wrapped = new DistributedDataParallel(model, { bucketCapMb: 0.0005 });
  trained(wrapped, mine(images), mine(labels), how);
  alone
    .parameters()
    .forEach((p, i) => close(model.parameters()[i]!, p, 2e-5, `${name}, parameter ${i}`));
  close(model.buffers()[0]!, alone.buffers()[0]!, 1e-5, `${name}, running mean`);
}

// A compiled forward, with backward outside; buffers of rank 0 at the start of every pass.
{
  const model = net(1 + rank);
  const wrapped = new DistributedDataParallel(model);
  const forward = compile((x: Tensor) => wrapped.call(x));
  F.mseLoss(forward(mine(images)), mine(labels)).backward();
  const grad = model.parameters()[0]!.grad!;
  close(grad, fc.broadcast(grad.clone(), 0), 0, 'compiled forward: gradients of rank 0');
  const mean = model.buffers()[0]!.clone();
  wrapped.call(mine(images));
  wrapped.eval().call(mine(images));
  const synced = model.buffers()[0]!;
  close(synced, fc.broadcast(synced.clone(), 0), 0, 'buffers of rank 0');
  assert.notDeepEqual(synced.toArray(), mean.toArray());
}

// Gradients that accumulate without being reduced are reduced with the next.
{
  const model = new Linear(6, 3);
  const wrapped = new DistributedDataParallel(model);
  const [x, y] = [mine(images), mine(labels)];
  const loss = (): Tensor => F.mseLoss(wrapped.call(x), y);
  wrapped.noSync(() => loss().backward());
  const local = model.weight.grad!.clone();
  loss().backward();
  close(model.weight.grad!, fc.allReduce(local, { op: 'avg' }).mul(2), 1e-6, 'noSync');
}

class Heads extends Module {
  left = new Linear(6, 1);
  right = new Linear(6, 1);
  never = new Linear(6, 1);
  override forward(x: Tensor, right: boolean): Tensor {
    return right ? this.right.call(x) : this.left.call(x);
  }
}

// Parameters that other ranks use get their share of those gradients; what nobody uses gets none.
{
  manualSeed(3);
  const model = new Heads();
  const wrapped = new DistributedDataParallel(model, { findUnusedParameters: true });
  wrapped
    .call(mine(images), rank % 2 === 1)
    .sum()
    .backward();
  const usesLeft = Math.ceil(size / 2);
  close(
    model.left.bias!.grad!,
    model.left.bias!.grad!.mul(0).add((8 * usesLeft) / size),
    1e-5,
    'left',
  );
  if (size > 1) assert.ok(model.right.bias!.grad !== null);
  assert.equal(model.never.bias!.grad, null);
}

// Optimizer state shared out: the same training, and a share of the bytes.
{
  const [a, b] = [net(5), net(5)];
  const plain = new optim.AdamW(a.parameters(), { lr: 0.01, eps: 1e-4 });
  const shared = new ZeroRedundancyOptimizer(b.parameters(), optim.AdamW, { lr: 0.01, eps: 1e-4 });
  const models: [Sequential, { step(): unknown; zeroGrad(): void }][] = [
    [a, plain],
    [b, shared],
  ];
  for (let i = 0; i < 3; i++)
    for (const [model, optimizer] of models) {
      optimizer.zeroGrad();
      F.mseLoss(model.call(images), labels).backward();
      optimizer.step();
    }
  a.parameters().forEach((p, i) =>
    close(b.parameters()[i]!, p, 1e-6, `shared out, parameter ${i}`),
  );
  const path = process.argv[2]!;
  await saveTraining(path, { model: b, optimizer: shared, extra: { step: 3 } });
  const again = net(6);
  const optimizer = new optim.AdamW(again.parameters(), { lr: 0.5 });
  assert.deepEqual(await loadTraining(path, { model: again, optimizer }), { step: 3 });
  for (const [model, one] of [
    [a, plain],
    [again, optimizer],
  ] as const) {
    one.zeroGrad();
    F.mseLoss(model.call(images), labels).backward();
    one.step();
  }
  a.parameters().forEach((p, i) =>
    close(again.parameters()[i]!, p, 1e-6, `loaded, parameter ${i}`),
  );
  await assert.rejects(
    loadTraining(`${path}.nothing`, { model: again }),
    /could not be read on rank 0/,
  );
  await doesNotLoad(path, again, optimizer);
}

/** What does not fit on one rank, or is no checkpoint, is loaded on none; every rank hears of it. */
async function doesNotLoad(path: string, model: Sequential, fits: optim.Optimizer): Promise<void> {
  const before = model.parameters().map((p) => p.toArray());
  const last = rank === size - 1;
  const other = last ? new optim.AdamW([model.parameters()[0]!]) : fits;
  const error = { code: last ? 'state-dict-mismatch' : 'distributed-mismatch' };
  await assert.rejects(loadTraining(path, { model, optimizer: other }), error);
  const shared = new ZeroRedundancyOptimizer(model.parameters().slice(1), optim.AdamW);
  await assert.rejects(loadTraining(path, { model, optimizer: shared }), {
    code: 'state-dict-mismatch',
  });
  if (rank === 0)
    await saveCheckpoint(`${path}.broken`, {}, { metadata: { 'tessera.training': '{"extra": ' } });
  await assert.rejects(loadTraining(`${path}.broken`, { model }), {
    code: 'distributed-mismatch',
    message: /could not be read on rank 0: .*no JSON/,
  });
  await assert.rejects(saveTraining(path, { model, extra: 1n }), {
    code: 'distributed-mismatch',
    message: /could not be written on rank 0: .*BigInt/,
  });
  assert.deepEqual(
    model.parameters().map((p) => p.toArray()),
    before,
  );
}

// Models that differ are refused on every rank.
if (size > 1)
  assert.throws(
    () => new DistributedDataParallel(new Linear(6, rank === 1 ? 4 : 3)),
    /rank 0 has weight: float32 \[3, 6\].*rank 1 has weight: float32 \[4, 6\]/,
  );

// A training loop holds its memory flat.
{
  const wrapped = new DistributedDataParallel(net(9));
  const optimizer = new optim.AdamW(wrapped.parameters(), { lr: 0.01 });
  const [x, y] = [mine(images), mine(labels)];
  const bytes: number[] = [];
  for (let i = 0; i < 30; i++) {
    optimizer.zeroGrad();
    F.mseLoss(wrapped.call(x), y).backward();
    optimizer.step();
    noGrad(() => undefined);
    bytes.push(cpuHeap().stats().liveBytes);
  }
  // Forward values are the collector's; the reductions leave nothing behind.
  assert.ok(bytes.at(-1)! - bytes[10]! < 2e6, `bytes: ${bytes.join(' ')}`);
}

await destroyProcessGroup();
console.log(`rank ${rank} is done`);
