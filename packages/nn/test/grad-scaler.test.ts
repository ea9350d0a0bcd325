/**
 * @file GradScaler: scaling, overflow, growth, and its state.
 */
import { autocast, manualSeed, randn, tensor } from '@tessera/tensor';
import { describe, expect, it } from 'vitest';
import { GradScaler, Linear, Parameter, optim } from '../src/index.js';

describe('GradScaler', () => {
  it('leaves the update as it would be without scaling', () => {
    manualSeed(0);
    const x = randn([4, 3]);
    const plain = new Linear(3, 2);
    const scaled = new Linear(3, 2);
    scaled.loadStateDict(plain.stateDict());
    const plainSgd = new optim.SGD(plain.parameters(), { lr: 0.1 });
    const scaledSgd = new optim.SGD(scaled.parameters(), { lr: 0.1 });
    const scaler = new GradScaler({ initScale: 1024 });
    for (let i = 0; i < 3; i++) {
      plainSgd.zeroGrad();
      scaledSgd.zeroGrad();
      plain.call(x).square().mean().backward();
      plainSgd.step();
      scaler.scale(scaled.call(x).square().mean()).backward();
      expect(scaler.step(scaledSgd)).toBe(true);
      scaler.update();
    }
    const difference = plain.weight.sub(scaled.weight).abs().max().item();
    expect(difference).toBeLessThan(1e-6);
  });

  it('leaves out a step whose gradients overflowed, and backs off', async () => {
    const p = new Parameter(tensor([1]));
    const sgd = new optim.SGD([p], { lr: 1 });
    const scaler = new GradScaler({ initScale: 8, growthInterval: 2 });
    p.grad = tensor([Infinity]);
    expect(await scaler.stepAsync(sgd)).toBe(false);
    scaler.update();
    expect(p.toArray()).toEqual([1]);
    expect(scaler.getScale()).toBe(4);
    for (let i = 0; i < 2; i++) {
      p.grad = tensor([4]);
      expect(scaler.step(sgd)).toBe(true);
      scaler.update();
    }
    expect(p.toArray()).toEqual([-1]);
    expect(scaler.getScale()).toBe(8);
  });

  it('adapts the scale to gradients that were only divided', () => {
    for (const [gradient, scale] of [
      [8, 16],
      [Infinity, 4],
    ] as const) {
      const p = new Parameter(tensor([1]));
      const sgd = new optim.SGD([p], { lr: 1 });
      const scaler = new GradScaler({ initScale: 8, growthInterval: 1 });
      p.grad = tensor([gradient]);
      scaler.unscale_(sgd);
      scaler.update();
      expect(scaler.getScale()).toBe(scale);
      // As in PyTorch, and the next iteration begins.
      expect(p.toArray()).toEqual([1]);
      scaler.unscale_(sgd);
    }
  });

  it('says what is used wrongly', () => {
    const p = new Parameter(tensor([1]));
    const sgd = new optim.SGD([p], { lr: 1 });
    const scaler = new GradScaler();
    expect(() => scaler.update()).toThrow('before any step()');
    p.grad = tensor([1]);
    scaler.unscale_(sgd);
    expect(() => scaler.unscale_(sgd)).toThrow('already been called');
    expect(() => new GradScaler({ growthFactor: 1 })).toThrow('growthFactor');
  });

  it('keeps its state in PyTorch names', () => {
    const scaler = new GradScaler({ initScale: 16 });
    const copy = new GradScaler();
    copy.loadStateDict(scaler.stateDict() as never);
    expect(copy.stateDict()).toEqual({
      scale: 16,
      growth_factor: 2,
      backoff_factor: 0.5,
      growth_interval: 2000,
      _growth_tracker: 0,
    });
    expect(new GradScaler({ enabled: false }).stateDict()).toEqual({});
  });

  it('trains in float16', () => {
    manualSeed(0);
    const model = new Linear(4, 1);
    const sgd = new optim.SGD(model.parameters(), { lr: 0.05 });
    const scaler = new GradScaler({ initScale: 256 });
    const x = randn([8, 4]);
    const y = x.sum(1, { keepdim: true });
    const losses: number[] = [];
    for (let i = 0; i < 20; i++) {
      sgd.zeroGrad();
      const loss = autocast({ dtype: 'float16' }, () => model.call(x).sub(y).square().mean());
      scaler.scale(loss).backward();
      scaler.step(sgd);
      scaler.update();
      losses.push(loss.item());
    }
    expect(losses.at(-1)!).toBeLessThan(0.3 * losses[0]!);
  });

  it('steps an optimizer once between updates, and does not divide its gradients behind that', () => {
    const make = (): optim.SGD => {
      const p = new Parameter(tensor([1]));
      p.grad = tensor([8]);
      return new optim.SGD([p], { lr: 1 });
    };
    const [first, second] = [make(), make()];
    const scaler = new GradScaler({ initScale: 8 });
    scaler.step(first);
    expect(() => scaler.step(first)).toThrow(
      /step\(\) has already been called since the last update/,
    );
    expect(() => scaler.unscale_(first)).toThrow(/unscale_\(\) is being called after step\(\)/);
    scaler.step(second);
    scaler.update();
    expect(scaler.step(first)).toBe(true);
  });

  it('takes the device of the model', () => {
    expect(new GradScaler({ device: 'cpu', initScale: 4 }).scale(tensor(2)).item()).toBe(8);
    expect(() => new GradScaler({ device: 'cuda' as never })).toThrow(
      /The GPU is device 'wgpu' here/,
    );
  });
});
