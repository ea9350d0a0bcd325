/** @file Optimizers of named parameters, whose groups and state dicts have the names, as in PyTorch. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { loadCheckpoint, ones, saveCheckpoint } from '@tessera/tensor';
import { afterAll, describe, expect, it } from 'vitest';
import { Linear, optim } from '../src/index.js';

const folder = mkdtempSync(join(tmpdir(), 'names-'));
afterAll(() => rmSync(folder, { recursive: true }));

const names = ['weight', 'bias'];

describe('named parameters', () => {
  it('train like any others', () => {
    const [a, b] = [new Linear(2, 1), new Linear(2, 1)];
    b.loadStateDict(a.stateDict());
    const optimizers = [
      new optim.Adam(a.parameters(), { lr: 0.1 }),
      new optim.Adam(b.namedParameters(), { lr: 0.1 }),
    ];
    for (const model of [a, b])
      model
        .call(ones([3, 2]))
        .sum()
        .backward();
    for (const optimizer of optimizers) optimizer.step();
    expect(b.weight.toArray()).toEqual(a.weight.toArray());
    expect(optimizers[1]!.paramGroups[0]!.params).toEqual(b.parameters());
  });

  it('give names to groups and state dicts', () => {
    const model = new Linear(2, 1);
    const sgd = new optim.SGD(model.namedParameters());
    expect(sgd.paramGroups[0]!.paramNames).toEqual(names);
    expect(sgd.stateDict().paramGroups[0]).toMatchObject({ params: [0, 1], paramNames: names });
    expect(new optim.SGD(model.parameters()).stateDict().paramGroups[0]).not.toHaveProperty(
      'paramNames',
    );
    expect(String(sgd)).toContain("paramNames: ('weight', 'bias')");
    const lbfgs = new optim.LBFGS(new Map(model.namedParameters()));
    expect(lbfgs.stateDict().paramGroups[0]).toMatchObject({ paramNames: names });
  });

  it('are taken over from a state dict that has them, and stay where it has none', () => {
    const model = new Linear(2, 1);
    const [named, others] = [model.namedParameters(), model.parameters()];
    const unnamed = new optim.SGD(others);
    unnamed.loadStateDict(new optim.SGD(named).stateDict());
    expect(unnamed.paramGroups[0]!.paramNames).toEqual(names);
    const sgd = new optim.SGD(named);
    sgd.loadStateDict(new optim.SGD(others).stateDict());
    expect(sgd.paramGroups[0]!.paramNames).toEqual(names);
    // PyTorch's.
    sgd.loadStateDict({
      state: {},
      param_groups: [{ param_names: ['w', 'b'], lr: 0.5, fused: null, params: [0, 1] }],
    });
    expect(sgd.paramGroups[0]).toMatchObject({ paramNames: ['w', 'b'], lr: 0.5 });
  });

  it('are written to files and read from them', async () => {
    const sgd = new optim.SGD(new Linear(2, 1).namedParameters());
    const path = join(folder, 'named.safetensors');
    await saveCheckpoint(path, sgd.stateDict());
    const other = new optim.SGD(new Linear(2, 1).parameters());
    other.loadStateDict(await loadCheckpoint(path));
    expect(other.paramGroups[0]!.paramNames).toEqual(names);
  });

  it('are all of them or none: invalid-argument', () => {
    const model = new Linear(2, 1);
    const [weight, bias] = model.namedParameters();
    expect(() => new optim.SGD([weight!, model.bias!] as never)).toThrow('names are missing');
    expect(() => new optim.SGD([{ params: [weight!] }, { params: [model.bias!] }])).toThrow(
      'all optimizer params should be with/without names',
    );
    const groups = new optim.SGD([{ params: [weight!] }, { params: [bias!] }]);
    expect(groups.paramGroups.map(({ paramNames }) => paramNames)).toEqual([['weight'], ['bias']]);
    expect(() => new optim.SGD([['a', 1]] as never)).toThrow('can only optimize Tensors');
  });
});
