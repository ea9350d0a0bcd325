/** @file A GAN of convolutions: two networks, two optimizers, and two compiled steps that take turns. */
import {
  BatchNorm2d,
  Conv2d,
  ConvTranspose2d,
  LeakyReLU,
  Linear,
  ReLU,
  Sequential,
  Tanh,
  Flatten,
  functional as F,
  optim,
} from '@tessera/nn';
import { type Tensor, onesLike, rand, randn, zerosLike } from '@tessera/tensor';
import type { Program } from './program.js';

const critics = (): Sequential =>
  new Sequential(
    new Conv2d(1, 8, 4, { stride: 2, padding: 1 }),
    new LeakyReLU(0.2),
    new Conv2d(8, 8, 3, { stride: 2, padding: 1 }),
    new LeakyReLU(0.2),
    new Flatten(),
    new Linear(32, 1),
  );
const generators = (): Sequential =>
  new Sequential(
    new ConvTranspose2d(6, 8, 2, { bias: false }),
    new BatchNorm2d(8),
    new ReLU(),
    new ConvTranspose2d(8, 1, 4, { stride: 4 }),
    new Tanh(),
  );

export const generativeAdversarial: Program = {
  name: 'generative adversarial networks',
  start({ device, compile }) {
    const [generator, critic] = [generators().to(device), critics().to(device)];
    const betas: [number, number] = [0.5, 0.999];
    const onGenerator = new optim.Adam(generator.parameters(), { lr: 0.002, betas, eps: 1e-4 });
    const onCritic = new optim.Adam(critic.parameters(), { lr: 0.002, betas, eps: 1e-4 });
    const judge = (x: Tensor): Tensor => critic.call(x);
    const imagine = (): Tensor => generator.call(randn([8, 6, 1, 1], { device }));
    const loss = F.binaryCrossEntropyWithLogits;
    const criticStep = compile((real: Tensor) => {
      const [onReal, onFake] = [judge(real), judge(imagine().detach())];
      const error = loss(onReal, onesLike(onReal)).add(loss(onFake, zerosLike(onFake)));
      onCritic.zeroGrad();
      error.backward();
      onCritic.step();
      return error;
    });
    const generatorStep = compile(() => {
      const score = judge(imagine());
      const error = loss(score, onesLike(score));
      onGenerator.zeroGrad();
      error.backward();
      onGenerator.step();
      return error;
    });
    const real = rand([8, 1, 8, 8]).mul(2).sub(1).to(device);
    return { state: { generator, critic }, step: () => [criticStep(real), generatorStep()] };
  },
};
