/** @file Gaussian splatting in two dimensions: splats sorted by depth, turned covariances, and light that earlier ones leave. */
import { Module, Parameter, functional as F, optim } from '@tessera/nn';
import {
  type Tensor,
  argsort,
  cat,
  cos,
  cumprod,
  diagEmbed,
  einsum,
  eye,
  linspace,
  meshgrid,
  ones,
  rand,
  sigmoid,
  sin,
  stack,
  zeros,
} from '@tessera/tensor';
import type { Program } from './program.js';

const SPLATS = 12;
const SIDE = 10;

/** Of symmetric matrices of two rows, [n, 2, 2]. */
function inverse(matrix: Tensor): Tensor {
  const [a, b, c] = [matrix.index(':', 0, 0), matrix.index(':', 0, 1), matrix.index(':', 1, 1)];
  const adjugate = stack([stack([c, b.neg()], -1), stack([b.neg(), a], -1)], -2);
  return adjugate.div(a.mul(c).sub(b.square()).reshape([-1, 1, 1]));
}

class Splats extends Module {
  readonly centres = new Parameter(rand([SPLATS, 2]));
  readonly logScales = new Parameter(rand([SPLATS, 2]).sub(2.5));
  readonly angles = new Parameter(rand([SPLATS]));
  readonly colours = new Parameter(rand([SPLATS, 3]));
  readonly opacities = new Parameter(zeros([SPLATS]));
  readonly depths = new Parameter(rand([SPLATS]));

  /** The picture, [side, side, 3]. */
  override forward(): Tensor {
    const { device } = this.centres;
    const line = linspace(0, 1, SIDE, { device });
    const [ys, xs] = meshgrid([line, line], { indexing: 'ij' }) as [Tensor, Tensor];
    const pixels = stack([xs, ys], -1).reshape([1, -1, 2]);
    const [c, s] = [cos(this.angles), sin(this.angles)];
    const turn = stack([stack([c, s.neg()], -1), stack([s, c], -1)], -2);
    const root = turn.matmul(diagEmbed(this.logScales.exp()));
    const covariance = root.matmul(root.mT).add(eye(2, { device }).mul(1e-4));
    const order = argsort(this.depths);
    const offsets = pixels.sub(this.centres.index(order).unsqueeze(1));
    const distance = einsum('npi,nij,npj->np', offsets, inverse(covariance).index(order), offsets);
    const opacity = sigmoid(this.opacities.index(order)).unsqueeze(1);
    const alpha = opacity.mul(distance.mul(-0.5).exp()).clamp(null, 0.99);
    const passed = cat([ones([1, SIDE * SIDE], { device }), alpha.index(':-1').neg().add(1)]);
    const weights = alpha.mul(cumprod(passed, 0)).unsqueeze(-1);
    const colours = sigmoid(this.colours.index(order)).unsqueeze(1);
    return weights.mul(colours).sum(0).reshape([SIDE, SIDE, 3]);
  }
}

export const gaussianSplatting: Program = {
  name: 'Gaussian splatting',
  start({ device, compile }) {
    const model = new Splats().to(device);
    const { centres, logScales, angles, colours, opacities, depths } = model;
    const optimizer = new optim.Adam(
      [
        { params: [centres], lr: 2e-3, name: 'centres' },
        { params: [logScales, angles], lr: 5e-3, name: 'shapes' },
        { params: [colours, opacities, depths], lr: 5e-2, name: 'light' },
      ],
      { eps: 1e-6 },
    );
    const target = rand([SIDE, SIDE, 3]).to(device);
    const train = compile(() => {
      optimizer.zeroGrad();
      const picture = model.call();
      const likeness = F.cosineSimilarity(picture.flatten(), target.flatten(), { dim: 0 });
      const loss = F.l1Loss(picture, target).mul(0.8).add(likeness.neg().add(1).mul(0.2));
      loss.backward();
      optimizer.step();
      return loss;
    });
    return { state: { model }, step: () => train() };
  },
};
