/**
 * @file Training is saved with `saveCheckpoint(path, optimizer.stateDict())` and goes on as if it had not stopped.
 */
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { inspect } from 'node:util';
import { treeMap } from '@tessera/shared';
import {
  type Tensor,
  isTensor,
  loadCheckpoint,
  manualSeed,
  randn,
  saveCheckpoint,
  serializeCheckpoint,
  serializeSafetensors,
} from '@tessera/tensor';
import { afterAll, describe, expect, it } from 'vitest';
import { Linear, functional as F, lrScheduler, optim } from '../src/index.js';

const folder = mkdtempSync(join(tmpdir(), 'optimizer-'));
afterAll(() => rmSync(folder, { recursive: true }));

type Make = (params: Iterable<Tensor>) => optim.Optimizer<never>;
const made = (make: (params: Iterable<Tensor>) => unknown): Make => make as Make;

const OPTIMIZERS: readonly (readonly [string, Make])[] = [
  ['SGD with momentum', made((p) => new optim.SGD(p, { lr: 0.1, momentum: 0.9 }))],
  ['SGD', made((p) => new optim.SGD(p, { lr: 0.1 }))],
  ['Adam', made((p) => new optim.Adam(p, { lr: 0.1, betas: [0.8, 0.99], amsgrad: true }))],
  ['AdamW', made((p) => new optim.AdamW(p, { lr: 0.1, maximize: true }))],
  ['NAdam', made((p) => new optim.NAdam(p, { lr: 0.1 }))],
  ['RAdam', made((p) => new optim.RAdam(p, { lr: 0.1 }))],
  ['Adamax', made((p) => new optim.Adamax(p, { lr: 0.1 }))],
  ['Adagrad', made((p) => new optim.Adagrad(p, { lr: 0.1, lrDecay: 0.1 }))],
  ['Adadelta', made((p) => new optim.Adadelta(p, { lr: 0.1 }))],
  ['Adafactor', made((p) => new optim.Adafactor(p, { lr: 0.1 }))],
  ['ASGD', made((p) => new optim.ASGD(p, { lr: 0.1 }))],
  ['RMSprop', made((p) => new optim.RMSprop(p, { lr: 0.1, centered: true, momentum: 0.5 }))],
  ['Rprop', made((p) => new optim.Rprop(p, { lr: 0.1 }))],
  [
    'Muon',
    made(
      (p) =>
        new optim.Muon(
          [...p].filter(({ ndim }) => ndim === 2),
          { lr: 0.1, adjustLrFn: 'matchRmsAdamw' },
        ),
    ),
  ],
];

const x = randn([8, 3]);
const y = randn([8, 2]);

function train(model: Linear, optimizer: optim.Optimizer<never>, steps: number): void {
  const schedule = new lrScheduler.ExponentialLR(optimizer as never, { gamma: 0.9 });
  for (let i = 0; i < steps; i++) {
    optimizer.zeroGrad();
    F.mseLoss(model.call(x), y).backward();
    optimizer.step();
    schedule.step();
  }
}

/** With numbers in the place of tensors. */
function plain(dict: unknown): unknown {
  return treeMap((leaf) => (isTensor(leaf) ? leaf.toArray() : leaf), dict);
}

describe('a saved optimizer', () => {
  it.each(OPTIMIZERS)('%s goes on to the bit', async (name, make) => {
    manualSeed(3);
    const model = new Linear(3, 2);
    const optimizer = make(model.parameters());
    train(model, optimizer, 3);
    const path = join(folder, `${name}.safetensors`);
    await saveCheckpoint(join(folder, 'model.safetensors'), model.stateDict());
    await saveCheckpoint(path, optimizer.stateDict());
    const again = new Linear(3, 2);
    again.loadStateDict(await loadCheckpoint(join(folder, 'model.safetensors')));
    const resumed = make(again.parameters());
    resumed.loadStateDict(await loadCheckpoint(path));
    // Rates that a schedule has set, options and numbers of steps are those of the file.
    expect(plain(resumed.stateDict())).toEqual(plain(optimizer.stateDict()));
    train(model, optimizer, 3);
    train(again, resumed, 3);
    expect(again.weight.toArray()).toEqual(model.weight.toArray());
    expect(again.bias!.toArray()).toEqual(model.bias!.toArray());
  });

  it('is the same file as bytes, for a page', async () => {
    const model = new Linear(3, 2);
    const optimizer = new optim.AdamW(model.parameters(), { lr: 0.1 });
    train(model, optimizer as never, 3);
    const path = join(folder, 'same.safetensors');
    await saveCheckpoint(path, optimizer.stateDict());
    const bytes = await serializeCheckpoint(optimizer.stateDict());
    expect(Buffer.from(bytes).equals(readFileSync(path))).toBe(true);
    expect(serializeSafetensors(optimizer.stateDict())).toEqual(bytes);
    const again = new optim.AdamW(new Linear(3, 2).parameters());
    again.loadStateDict(await loadCheckpoint(bytes));
    expect(plain(again.stateDict())).toEqual(plain(optimizer.stateDict()));
  });
});

it('prints as PyTorch prints it', () => {
  const optimizer = new optim.SGD(new Linear(3, 2).parameters(), { lr: 0.1 });
  expect(inspect(optimizer)).toBe(String(optimizer));
  expect(inspect(optimizer)).toContain('    lr: 0.1\n');
});
