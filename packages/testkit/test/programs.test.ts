/**
 * @file Ordinary programs, compiled on the CPU and on WebGPU, come to what they come to in eager mode.
 * Unless the run is full, a fifth of them runs on WebGPU.
 * `TESSERA_PROGRAMS_EAGER=1` runs them in eager mode on WebGPU too, `TESSERA_PROGRAMS_PROFILE=gpu` makes code as for
 * GPUs on adapters that run on the CPU.
 */
import { initWebGpu } from '@tessera/compile';
import { beforeAll, describe, expect, it } from 'vitest';
import { sampleName, sampled } from '../../../tooling/full-tests.js';
import { architectureSearch } from './programs/architecture-search.js';
import { contrastive } from './programs/contrastive.js';
import { diffusion } from './programs/diffusion.js';
import { fewShot } from './programs/few-shot.js';
import { forwardForward } from './programs/forward-forward.js';
import { gaussianSplatting } from './programs/gaussian-splatting.js';
import { generativeAdversarial } from './programs/generative-adversarial.js';
import { gpt } from './programs/gpt.js';
import { graphNetwork } from './programs/graph-network.js';
import { heatEquation } from './programs/heat-equation.js';
import { kMeans } from './programs/k-means.js';
import { memoryNetwork } from './programs/memory-network.js';
import { mixtureOfExperts } from './programs/mixture-of-experts.js';
import { neuralOde } from './programs/neural-ode.js';
import { neuralOperator } from './programs/neural-operator.js';
import { normalizingFlow } from './programs/normalizing-flow.js';
import { type Outcome, type Program, largestDifference, runProgram } from './programs/program.js';
import { proximalPolicy } from './programs/proximal-policy.js';
import { radianceField } from './programs/radiance-field.js';
import { reinforce } from './programs/reinforce.js';
import { residualNetwork } from './programs/residual-network.js';
import { reversibleNetwork } from './programs/reversible-network.js';
import { siamese } from './programs/siamese.js';
import { spikingNetwork } from './programs/spiking-network.js';
import { stateSpace } from './programs/state-space.js';
import { styleTransfer } from './programs/style-transfer.js';
import { superResolution } from './programs/super-resolution.js';
import { tabular } from './programs/tabular.js';
import { translation } from './programs/translation.js';
import { uNet } from './programs/u-net.js';
import { variationalAutoencoder } from './programs/variational-autoencoder.js';
import { visionTransformer } from './programs/vision-transformer.js';
import { wordVectors } from './programs/word-vectors.js';
import { wantsGpu } from '../../../tooling/wants-gpu.js';

const PROGRAMS: readonly Program[] = [
  variationalAutoencoder,
  generativeAdversarial,
  uNet,
  gpt,
  proximalPolicy,
  graphNetwork,
  mixtureOfExperts,
  translation,
  kMeans,
  diffusion,
  residualNetwork,
  visionTransformer,
  fewShot,
  contrastive,
  reinforce,
  normalizingFlow,
  neuralOde,
  wordVectors,
  superResolution,
  siamese,
  architectureSearch,
  forwardForward,
  styleTransfer,
  neuralOperator,
  radianceField,
  tabular,
  reversibleNetwork,
  memoryNetwork,
  heatEquation,
  stateSpace,
  spikingNetwork,
  gaussianSplatting,
];

const onGpu = sampled(PROGRAMS, 12);
const wantsEager = process.env['TESSERA_PROGRAMS_EAGER'] === '1';
const forGpus = process.env['TESSERA_PROGRAMS_PROFILE'] === 'gpu';

beforeAll(async () => {
  if (wantsGpu) await initWebGpu(forGpus ? { profile: 'gpu' } : {});
});

describe.each(PROGRAMS.map((program) => [program.name, program] as const))('%s', (_, program) => {
  let eager: Outcome;
  const expectSame = (actual: Outcome): void => {
    const { difference, where } = largestDifference(eager, actual);
    expect(difference, where).toBeLessThan(program.tolerance ?? 2e-4);
    expect(actual.refused).toBe(0);
  };

  beforeAll(async () => {
    eager = await runProgram(program, 'cpu', 'eager');
  }, 60_000);

  it('moves', () => {
    const numbers = eager.losses.flat();
    expect(numbers.every(Number.isFinite)).toBe(true);
    expect(new Set(numbers).size).toBeGreaterThan(2);
  });

  it('comes to the same compiled on the CPU', async () => {
    expectSame(await runProgram(program, 'cpu', 'compiled'));
  }, 60_000);

  if (!onGpu.includes(program)) return;
  it.skipIf(!wantsGpu)(
    `comes to the same compiled on WebGPU (${sampleName})`,
    { timeout: 300_000 },
    async () => expectSame(await runProgram(program, 'wgpu', 'compiled')),
  );

  it.skipIf(!wantsGpu || !wantsEager)(
    'comes to the same in eager mode on WebGPU',
    { timeout: 300_000 },
    async () => expectSame(await runProgram(program, 'wgpu', 'eager')),
  );
});
