/** @file k-means: no gradients; nearest centres, sums by cluster, empty clusters that stay where they are. */
import { type Tensor, argmin, cdist, ones, randn, zerosLike, zeros, where } from '@tessera/tensor';
import type { Program } from './program.js';

const [POINTS, CENTRES] = [60, 5];

export const kMeans: Program = {
  name: 'k-means',
  steps: 5,
  start({ device, compile }) {
    const offsets = randn([3, 2])
      .mul(6)
      .repeatInterleave(POINTS / 3, 0);
    const points = randn([POINTS, 2]).add(offsets).to(device);
    const centres = randn([CENTRES, 2]).to(device);
    const counted = ones([POINTS], { device });
    const step = compile((x: Tensor, at: Tensor) => {
      const distances = cdist(x, at);
      const nearest = argmin(distances, 1);
      const sums = zerosLike(at).indexAdd(0, nearest, x);
      const counts = zeros([CENTRES], { device }).indexAdd(0, nearest, counted).unsqueeze(1);
      at.copy_(where(counts.gt(0), sums.div(counts.clampMin(1)), at));
      return [distances.amin(1).square().sum(), nearest];
    });
    return { state: { centres }, step: () => step(points, centres) };
  },
};
