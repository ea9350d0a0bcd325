/**
 * @file Long synchronous runs hold the heap flat, without dispose().
 */
import { Linear, ReLU, Sequential, functional as F, optim } from '@tessera/nn';
import { type Tensor, cpuHeap, fromTypedArray, tensor } from '@tessera/tensor';
import { describe, expect, it } from 'vitest';
import { compile } from '../src/index.js';

const STEPS = 100_000;

/**
 * Bytes of the WebAssembly memory half way and at the end of `STEPS` calls. Half way, more than the 64 MiB
 * has been allocated after which dead tensors are first looked for.
 */
function committed(step: () => void): { halfWay: number; late: number } {
  for (let i = 0; i < STEPS / 2; i++) step();
  const halfWay = cpuHeap().stats().committedBytes;
  for (let i = STEPS / 2; i < STEPS; i++) step();
  return { halfWay, late: cpuHeap().stats().committedBytes };
}

describe('memory', () => {
  it('stays flat over 100,000 compiled training steps', { timeout: 300_000 }, () => {
    const model = new Sequential(new Linear(8, 16), new ReLU(), new Linear(16, 4));
    const optimizer = new optim.AdamW(model.parameters(), { lr: 1e-3 });
    const x = fromTypedArray(
      Float32Array.from({ length: 32 }, (_, i) => Math.sin(i)),
      [4, 8],
    );
    const t = tensor([0, 1, 2, 3], { dtype: 'int64' });
    const step = compile(() => {
      optimizer.zeroGrad();
      const loss = F.crossEntropy(model.call(x) as Tensor, t);
      loss.backward();
      optimizer.step();
      return loss;
    });
    const first = step().item();
    const { halfWay, late } = committed(step);
    expect(late).toBe(halfWay);
    expect(step().item()).toBeLessThan(first);
  });

  it('stays flat over 100,000 eager ops', { timeout: 300_000 }, () => {
    let x = fromTypedArray(new Float32Array(512).fill(1), [512]);
    const { halfWay, late } = committed(() => {
      x = x.mul(0.5).add(0.5);
    });
    expect(late).toBe(halfWay);
    expect(x.sum().item()).toBe(512);
  });
});
