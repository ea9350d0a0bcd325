/**
 * @file Ordinary programs that draw numbers while they train, on WebGPU, eager and compiled: their losses are those of the CPU.
 */
import { Linear, optim } from '@tessera/nn';
import * as D from '@tessera/nn/distributions';
import {
  type DeviceType,
  type Tensor,
  arange,
  cat,
  download,
  manualSeed,
  multinomial,
  noGrad,
  poisson,
  rand,
  randn,
  softplus,
  stack,
  tensor,
  zeros,
} from '@tessera/tensor';
import { gammaincc } from '@tessera/tensor/special';
import { beforeAll, describe, expect, it } from 'vitest';
import { compile, initWebGpu } from '../src/node.js';
import { wantsGpu } from '../../../tooling/wants-gpu.js';
import { sampleName, sampled } from '../../../tooling/full-tests.js';

/** A step of training, and what it reports. */
type Step = () => Tensor;
/** Makes a program on a device. */
type Program = (device: DeviceType) => Step;

const none = { validateArgs: false } as const;

/** Minimizes a loss of some parameters. */
function descent(parameters: Tensor[], loss: Step, lr = 0.05): Step {
  const optimizer = new optim.Adam(parameters, { lr });
  return () => {
    optimizer.zeroGrad();
    const value = loss();
    value.backward();
    optimizer.step();
    return value.detach();
  };
}

const leaf = (device: DeviceType, values: number[]): Tensor =>
  tensor(values).to(device).requiresGrad_();

const PROGRAMS: Record<string, Program> = {
  'an autoencoder with a Beta latent': (device) => {
    const x = rand([16, 6]).to(device);
    const [encoder, decoder] = [new Linear(6, 4).to(device), new Linear(2, 6).to(device)];
    return descent([...encoder.parameters(), ...decoder.parameters()], () => {
      const [a, b] = softplus(encoder.forward(x)).add(0.5).chunk(2, -1);
      const latent = new D.Beta(a!, b!, none);
      const made = decoder.forward(latent.rsample()).sigmoid();
      const prior = new D.Beta(a!.mul(0).add(2), b!.mul(0).add(2), none);
      return made.sub(x).square().sum(-1).mean().add(D.klDivergence(latent, prior).mean().mul(0.1));
    });
  },
  'policy gradients': (device) => {
    const policy = new Linear(3, 4).to(device);
    const [states, reward] = [randn([32, 3]).to(device), randn([4]).to(device)];
    return descent([...policy.parameters()], () => {
      const actions = new D.Categorical({ logits: policy.forward(states), ...none });
      const taken = noGrad(() => actions.sample());
      const gain = reward.gather(0, taken);
      return actions.logProb(taken).mul(gain.sub(gain.mean())).neg().mean();
    });
  },
  'expectation and maximization of a mixture': (device) => {
    const x = cat([randn([40]).sub(3), randn([40]).mul(0.5).add(2)]).to(device);
    let [means, deviations, weights] = [
      [-1, 1],
      [1, 1],
      [0.5, 0.5],
    ].map((v) => tensor(v).to(device));
    return () => {
      const parts = new D.Normal(means!, deviations!, none).logProb(x.unsqueeze(1));
      const joint = parts.add(weights!.log());
      const shares = joint.softmax(1);
      const counts = shares.sum(0);
      means = shares.mul(x.unsqueeze(1)).sum(0).div(counts);
      const spread = x.unsqueeze(1).sub(means).square().mul(shares).sum(0).div(counts);
      [deviations, weights] = [spread.sqrt(), counts.div(80)];
      return joint.logsumexp(1).mean();
    };
  },
  'a particle filter': (device) => {
    const seen = randn([12]).cumsum(0).to(device);
    let particles = zeros([200]).to(device);
    let time = 0;
    return () => {
      particles = particles.add(randn([200], { device }));
      const weights = new D.Normal(particles, 0.8, none).logProb(seen.select(0, time++)).softmax(0);
      particles = particles.gather(0, multinomial(weights, 200, { replacement: true }));
      return particles.mean();
    };
  },
  'bootstrapping with Poisson weights': (device) => {
    const x = randn([100]).to(device);
    return () => {
      const weights = poisson(x.mul(0).add(1).expand([8, 100]));
      return weights.mul(x).sum(1).div(weights.sum(1)).std();
    };
  },
  'waiting times, some of them censored': (device) => {
    const times = new D.Gamma(tensor(2), tensor(0.7)).sample([60]).to(device);
    const ended = rand([60]).lt(0.7).to(device);
    const rate = leaf(device, [0]);
    return descent([rate], () => {
      const at = times.mul(rate.exp());
      const density = at.log().sub(at).add(rate);
      const survival = gammaincc(at.detach().mul(0).add(2), at).log();
      return density.where(ended, survival).mean().neg();
    });
  },
  'topics by a Dirichlet posterior': (device) => {
    const words = new D.Dirichlet(tensor([0.3, 0.6, 1, 2])).sample([5]).to(device);
    const [shape, topics] = [
      leaf(device, [0.1, 0.2, 0.3]),
      randn([3, 4]).to(device).requiresGrad_(),
    ];
    return descent([shape, topics], () => {
      const posterior = new D.Dirichlet(softplus(shape).add(0.2), none);
      const shares = posterior.rsample([5]);
      const likelihood = shares.matmul(topics.softmax(-1)).log().mul(words).sum(-1).mean();
      const prior = new D.Dirichlet(softplus(shape).mul(0).add(1), none);
      return D.klDivergence(posterior, prior).mul(0.1).sub(likelihood);
    });
  },
  'Poisson regression on drawn counts': (device) => {
    const x = randn([64, 3]).to(device);
    const truth = tensor([0.5, -0.3, 0.8]).to(device);
    const counts = poisson(x.matmul(truth).exp());
    const weights = leaf(device, [0, 0, 0]);
    return descent([weights], () =>
      new D.Poisson(x.matmul(weights).exp(), none).logProb(counts).mean().neg(),
    );
  },
  'a robust fit by StudentT': (device) => {
    const x = arange(0, 1, 0.02).to(device);
    const noise = new D.StudentT(tensor(3)).sample([50]).mul(0.1).to(device);
    const y = x.mul(2).sub(0.5).add(noise);
    const [slope, scale] = [leaf(device, [0, 0]), leaf(device, [0])];
    return descent([slope, scale], () => {
      const [a, b] = slope.unbind(0);
      const made = new D.StudentT(3, x.mul(a!).add(b!), scale.exp(), none);
      return made.logProb(y).mean().neg();
    });
  },
  'histograms of what a generator makes': (device) => {
    const generator = new Linear(2, 1).to(device);
    return () => {
      const made = generator
        .forward(randn([300, 2], { device }))
        .detach()
        .flatten();
      const [shares] = made.histogram(12, { range: [-4, 4], density: true });
      const wide = made.histc({ bins: 12, min: -4, max: 4 });
      return stack([shares.square().sum(), wide.amax().div(300)]).sum();
    };
  },
};

async function reported(step: Step): Promise<number[]> {
  manualSeed(9);
  const values: number[] = [];
  for (let i = 0; i < 5; i++) values.push((await download(step())).item());
  return values;
}

describe.skipIf(!wantsGpu)(`train as on the CPU (${sampleName})`, () => {
  beforeAll(async () => {
    await initWebGpu();
  });

  it.each(sampled(Object.entries(PROGRAMS), 3))('%s', async (_, program) => {
    const made = (device: DeviceType): Step => {
      manualSeed(4);
      return program(device);
    };
    const expected = await reported(made('cpu'));
    expect(expected.every(Number.isFinite)).toBe(true);
    for (const step of [made('wgpu'), compile(made('wgpu')), compile(made('cpu'))])
      for (const [i, value] of (await reported(step)).entries())
        expect(Math.abs(value - expected[i]!)).toBeLessThan(1e-3 * (1 + Math.abs(expected[i]!)));
  });
});
