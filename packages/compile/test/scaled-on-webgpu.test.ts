/**
 * @file `GradScaler` over gradients on WebGPU, which are read with `await`.
 */
import { GradScaler, Linear, optim } from '@tessera/nn';
import { ones } from '@tessera/tensor';
import { beforeAll, describe, expect, it } from 'vitest';
import { initWebGpu } from '../src/index.js';
import { wantsGpu } from '../../../tooling/wants-gpu.js';

describe.skipIf(!wantsGpu)('a scaler that was not told of the device', () => {
  beforeAll(async () => {
    await initWebGpu();
  });

  it('names the step that awaits', async () => {
    const model = new Linear(2, 1).to('wgpu');
    const optimizer = new optim.SGD(model.parameters(), { lr: 0.1 });
    const scaler = new GradScaler({ initScale: 8 });
    const backward = (): void => {
      optimizer.zeroGrad();
      scaler.scale(model.call(ones([3, 2], { device: 'wgpu' })).sum()).backward();
    };
    backward();
    expect(() => scaler.step(optimizer)).toThrow(/await scaler\.stepAsync\(optimizer\)/);
    expect(await scaler.stepAsync(optimizer)).toBe(true);
    scaler.update();
  });
});
