/**
 * Checkpoints of a job of one: what is no checkpoint, or does not fit, changes nothing. Several ranks are tested under
 * `mpirun`.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Linear, optim } from '@tessera/nn';
import { cpuHeap, ones, saveCheckpoint } from '@tessera/tensor';
import { afterAll, afterEach, beforeEach, expect, test } from 'vitest';
import {
  ZeroRedundancyOptimizer,
  destroyProcessGroup,
  initProcessGroup,
  loadTraining,
  saveTraining,
} from '../src/index.js';

const folder = mkdtempSync(join(tmpdir(), 'tessera-checkpoint-'));
const path = join(folder, 'state.safetensors');
afterAll(() => rmSync(folder, { recursive: true }));
beforeEach(() => initProcessGroup({ backend: 'solo' }));
afterEach(() => destroyProcessGroup());

/** A model and an optimizer that have made a step. */
function trained(): { model: Linear; optimizer: optim.AdamW } {
  const model = new Linear(3, 2);
  const optimizer = new optim.AdamW(model.parameters(), { lr: 0.1 });
  model
    .call(ones([1, 3]))
    .sum()
    .backward();
  optimizer.step();
  return { model, optimizer };
}

const values = ({ weight, bias }: Linear): unknown => [weight.toArray(), bias!.toArray()];

const good = '{"optimizer": null, "extra": null}';

test.each([
  ['no metadata', undefined, {}, /saveTraining\(\) did not write it/],
  ['half of its metadata', '{"optimizer": null, "ex', {}, /no JSON/],
  ['null', 'null', {}, /not those of a checkpoint/],
  ['no extra', '{"optimizer": null}', {}, /not those of a checkpoint/],
  ['groups that are none', '{"optimizer": {"paramGroups": [1]}, "extra": 0}', {}, /not those/],
  ['a stray tensor', good, { weight: ones([1]) }, /'weight' belongs neither/],
  ['a stray state', good, { 'optimizer.x.step': ones([1]) }, /'optimizer\.x\.step' belongs/],
])('a file with %s is refused', async (_what, text, tensors, message) => {
  const metadata: Record<string, string> = text === undefined ? {} : { 'tessera.training': text };
  await saveCheckpoint(path, tensors, { metadata });
  const { model, optimizer } = trained();
  const before = values(model);
  await expect(loadTraining(path, { model, optimizer })).rejects.toMatchObject({
    code: 'distributed-mismatch',
    message: expect.stringMatching(message) as string,
  });
  expect(values(model)).toEqual(before);
});

test('state of another optimizer leaves the model as it was', async () => {
  const saved = trained();
  await saveTraining(path, saved);
  const { model } = trained();
  model.weight.detach().zero_();
  const before = values(model);
  for (const optimizer of [
    new optim.AdamW([model.weight]),
    new ZeroRedundancyOptimizer([model.weight], optim.AdamW),
    new ZeroRedundancyOptimizer([model.bias!, model.weight], optim.AdamW),
  ])
    await expect(loadTraining(path, { model, optimizer })).rejects.toMatchObject({
      code: 'state-dict-mismatch',
    });
  expect(values(model)).toEqual(before);
  await loadTraining(path, { model });
  expect(values(model)).toEqual(values(saved.model));
});

test('a checkpoint without optimizer is only loaded without one', async () => {
  const { model, optimizer } = trained();
  await saveTraining(path, { model, extra: 'x' });
  await expect(loadTraining(path, { model, optimizer })).rejects.toThrow(/has no optimizer/);
  expect(await loadTraining(path, { model })).toBe('x');
});

test('loading leaves nothing behind', async () => {
  const { model, optimizer } = trained();
  await saveTraining(path, { model, optimizer });
  await loadTraining(path, { model, optimizer });
  const before = cpuHeap().stats().liveBytes;
  for (let i = 0; i < 3; i++) await loadTraining(path, { model });
  expect(cpuHeap().stats().liveBytes).toBe(before);
});
