/**
 * @file A neural radiance field: colours along rays by transmittance, and finer samples where the first ones were dense.
 */
import { Linear, Module, Sequential, ReLU, functional as F, optim } from '@tessera/nn';
import {
  type Tensor,
  cat,
  cumprod,
  linspace,
  onesLike,
  randn,
  searchsorted,
  stack,
} from '@tessera/tensor';
import type { Program } from './program.js';

const [RAYS, COARSE, FINE, BANDS] = [10, 8, 5, 3];

/** Sines and cosines of doubling frequencies. */
function encode(x: Tensor): Tensor {
  const waves = Array.from({ length: BANDS }, (_, i) => x.mul(2 ** i));
  return cat([x, ...waves.flatMap((wave) => [wave.sin(), wave.cos()])], -1);
}

class Field extends Module {
  net: Sequential = new Sequential(
    new Linear(3 * (1 + 2 * BANDS), 16),
    new ReLU(),
    new Linear(16, 4),
  );
  /** Points `[R, S, 3]` → colours and densities `[R, S, 4]` */
  forward(points: Tensor): Tensor {
    return this.net.call(encode(points));
  }
}

/** Colours `[R, 3]` of rays, and the weight of every sample, `[R, S]`. */
function render(raw: Tensor, depths: Tensor): [colour: Tensor, weights: Tensor] {
  const gaps = depths.diff();
  const last = onesLike(gaps.index(':', ':1')).mul(1e10);
  const optical = F.softplus(raw.index('...', 3)).mul(cat([gaps, last], -1));
  const clear = optical.neg().exp();
  const reaching = cumprod(cat([onesLike(last), clear.add(1e-10)], -1), -1).index(':', ':-1');
  const weights = reaching.mul(clear.neg().add(1));
  return [weights.unsqueeze(-1).mul(raw.index('...', ':3').sigmoid()).sum(1), weights];
}

/** Depths between `bins` `[R, B]` at equal shares of their weights `[R, B - 1]`. */
function resample(bins: Tensor, weights: Tensor): Tensor {
  const shares = weights.add(1e-5);
  const share = shares.div(shares.sum(-1, { keepdim: true }));
  const sums = F.pad(share.cumsum(-1), [1, 0]);
  const at = linspace(0.05, 0.95, FINE, { device: bins.device }).expand([RAYS, FINE]).contiguous();
  const above = searchsorted(sums, at, { right: true }).clamp(1, weights.size(1));
  const around = stack([above.sub(1), above], -1).flatten(1);
  const [low, high] = sums.gather(1, around).view([RAYS, FINE, 2]).unbind(-1) as [Tensor, Tensor];
  const [from, to] = bins.gather(1, around).view([RAYS, FINE, 2]).unbind(-1) as [Tensor, Tensor];
  return from.add(at.sub(low).div(high.sub(low)).mul(to.sub(from)));
}

export const radianceField: Program = {
  name: 'radiance field',
  start({ device, compile }) {
    const [coarse, fine] = [new Field().to(device), new Field().to(device)];
    const optimizer = new optim.Adam([...coarse.parameters(), ...fine.parameters()], {
      lr: 0.01,
      eps: 1e-5,
    });
    const origins = randn([RAYS, 3]).mul(0.1).to(device);
    const directions = F.normalize(randn([RAYS, 3])).to(device);
    const seen = directions.mul(0.5).add(0.5);
    const step = compile((o: Tensor, d: Tensor, wanted: Tensor) => {
      const along = (depths: Tensor): Tensor =>
        o.unsqueeze(1).add(d.unsqueeze(1).mul(depths.unsqueeze(-1)));
      const first = linspace(1, 3, COARSE, { device }).expand([RAYS, COARSE]);
      const [rough, weights] = render(coarse.call(along(first)), first);
      const middles = first.index(':', '1:').add(first.index(':', ':-1')).div(2);
      const more = resample(middles, weights.index(':', '1:-1')).detach();
      const [depths] = cat([first, more], -1).sort(-1);
      const [colour] = render(fine.call(along(depths)), depths);
      const loss = F.mseLoss(colour, wanted).add(F.mseLoss(rough, wanted));
      optimizer.zeroGrad();
      loss.backward();
      optimizer.step();
      return loss;
    });
    return { state: { coarse, fine }, step: () => step(origins, directions, seen) };
  },
};
