/**
 * @file Angles drawn where there is no double precision: on WebGPU, eager and compiled, with the moments of the formulas.
 */
import { expect, it } from 'vitest';
import { type Tensor, download, manualSeed, tensor } from '@tessera/tensor';
import * as D from '@tessera/nn/distributions';
import { compile, initWebGpu } from '../src/index.js';
import { wantsGpu } from '../../../tooling/wants-gpu.js';

const LOCS = [3, -0.5, 1, 0.25];
const KAPPAS = [4, 0.5, 1e6, 40];
const COUNT = 4000;

function expectMoments(x: Tensor): void {
  expect(x.dtype).toBe('float32');
  expect(x.abs().le(3.15).all().item()).toBe(1);
  const p = new D.VonMises(tensor(LOCS), tensor(KAPPAS));
  const [c, s] = [x.cos().mean(0), x.sin().mean(0)];
  const length = c.square().add(s.square()).sqrt();
  expect(length.sub(p.variance.neg().add(1)).abs().lt(0.03).all().item()).toBe(1);
  expect(s.atan2(c).sub(p.mean).cos().gt(0.99).all().item()).toBe(1);
  // Of a high concentration it is nearly normal; single precision of an angle near π is coarser than of its distance.
  const far = x.select(1, 2).sub(1);
  expect(far.std().item() * 1e3).toBeCloseTo(1, 0);
  expect(far.mean().abs().item()).toBeLessThan(1e-4);
}

it('on the CPU, in double precision', () => {
  manualSeed(5);
  expectMoments(new D.VonMises(tensor(LOCS), tensor(KAPPAS)).sample([COUNT]));
});

it.runIf(wantsGpu)('on WebGPU, in single precision', async () => {
  await initWebGpu();
  manualSeed(5);
  const [loc, kappa] = [tensor(LOCS).to('wgpu'), tensor(KAPPAS).to('wgpu')];
  const draw = (a: Tensor, b: Tensor): Tensor => new D.VonMises(a, b).sample([COUNT]);
  const eager = draw(loc, kappa);
  expect(eager.device).toBe('wgpu');
  expectMoments(await download(eager));
  expectMoments(await download(compile(draw, { fullgraph: true })(loc, kappa)));
});
