/**
 * @file Which initialisers are parameters: no optimizer may move what an exporter wrote as a number.
 */
import { optim } from '@tessera/nn';
import { manualSeed, randn } from '@tessera/tensor';
import { expect, it } from 'vitest';
import { importOnnx } from '../src/index.js';
import { floats, model, value } from './support/build-model.js';

/** x ↦ √(w · x³ · factor + ε): exponent and ε as PyTorch's exporter names them, the factor as a module names its own. */
const bytes = model({
  inputs: [value('x', ['N', 3])],
  outputs: [value('y', ['N', 3])],
  initializers: [
    floats('w', [3], [1, 2, 3]),
    floats('val_7', [], [3]),
    floats('val_8', [], [1e-6]),
    floats('m.factor', [], [0.5]),
  ],
  nodes: [
    { op: 'Pow', in: ['x', 'val_7'], out: ['cube'] },
    { op: 'Mul', in: ['cube', 'w'], out: ['weighted'] },
    { op: 'Mul', in: ['weighted', 'm.factor'], out: ['scaled'] },
    { op: 'Mul', in: ['scaled', 'scaled'], out: ['square'] },
    { op: 'Add', in: ['square', 'val_8'], out: ['sum'] },
    { op: 'Sqrt', in: ['sum'], out: ['y'] },
  ],
});

it('numbers that exporters name are buffers, and stay while the model trains', async () => {
  manualSeed(0);
  const imported = await importOnnx(bytes);
  expect(Array.from(imported.namedParameters(), ([name]) => name).sort()).toEqual([
    'm.factor',
    'w',
  ]);
  expect(Array.from(imported.namedBuffers(), ([name]) => name).sort()).toEqual(['val_7', 'val_8']);
  expect(Object.keys(imported.stateDict()).sort()).toEqual(['m.factor', 'val_7', 'val_8', 'w']);
  const optimizer = new optim.AdamW(imported.parameters(), { lr: 0.1 });
  // Negative numbers have no logarithm: the exponent's gradient would be NaN.
  const x = randn([8, 3]);
  for (let step = 0; step < 3; step++) {
    optimizer.zeroGrad();
    imported.call({ x }).y!.mean().backward();
    optimizer.step();
  }
  expect(imported.call({ x }).y!.isfinite().all().item()).toBe(1);
  expect(imported.stateDict()['val_7']!.item()).toBe(3);
});

it('isParameter chooses otherwise', async () => {
  const names: string[] = [];
  const imported = await importOnnx(bytes, {
    isParameter(name, sizes) {
      names.push(`${name}[${sizes.join()}]`);
      return name === 'val_8';
    },
  });
  expect(names.sort()).toEqual(['m.factor[]', 'val_7[]', 'val_8[]', 'w[3]']);
  expect(Array.from(imported.namedParameters(), ([name]) => name)).toEqual(['val_8']);
});
