/**
 * @file Diffusion in the plane: a small network learns to take noise off points of a shape, and then makes the shape out of
 * noise alone.
 */
import { compile } from '@tessera/compile';
import { Linear, Module, functional as F, optim } from '@tessera/nn';
import {
  type Tensor,
  cat,
  full,
  manualSeed,
  noGrad,
  randint,
  randn,
  tensor,
} from '@tessera/tensor';

const [STEPS, BATCH, WIDTH] = [40, 256, 96];
const FREQUENCIES = [1, 2, 4, 8];

/** Points of a shape, by a number from 0 to 1. */
export const SHAPES: Readonly<Record<string, (t: number) => readonly [number, number]>> = {
  spiral: (t) => [(0.2 + t) * 1.3 * Math.cos(10 * t), (0.2 + t) * 1.3 * Math.sin(10 * t)],
  moons: (t) =>
    t < 0.5
      ? [Math.cos(2 * Math.PI * t) - 0.5, Math.sin(2 * Math.PI * t) - 0.25]
      : [0.5 - Math.cos(2 * Math.PI * (t - 0.5)), 0.25 - Math.sin(2 * Math.PI * (t - 0.5))],
  star: (t) => {
    const turn = 2 * Math.PI * t;
    const far = 1 + 0.4 * Math.cos(5 * turn);
    return [far * Math.cos(turn), far * Math.sin(turn)];
  },
};

/** How much of a point is left after each step of adding noise. */
const KEPT = Array.from(
  { length: STEPS },
  (_, i) => Math.cos((((i + 1) / (STEPS + 1)) * Math.PI) / 2) ** 2,
);

/** Points [N, 2] and the step [N, 1] in, the noise in them out. */
class Denoiser extends Module {
  first = new Linear(2 + 4 * FREQUENCIES.length + 2 * FREQUENCIES.length, WIDTH);
  second = new Linear(WIDTH, WIDTH);
  third = new Linear(WIDTH, 2);

  forward(points: Tensor, step: Tensor): Tensor {
    // Waves of several lengths: the network sees fine differences of place and time.
    const waves = cat([points, step], 1).unsqueeze(2).mul(tensor(FREQUENCIES)).flatten(1);
    const x = cat([points, waves.sin(), waves.cos()], 1);
    return this.third.call(F.silu(this.second.call(F.silu(this.first.call(x)))));
  }
}

/** See the file header. */
export class PointMaker {
  private readonly step: (points: Tensor, noise: Tensor, kept: Tensor, at: Tensor) => Tensor;
  private readonly predict: (points: Tensor, at: Tensor) => Tensor;
  private pointOf = SHAPES.spiral!;

  constructor() {
    manualSeed(0);
    const model = new Denoiser();
    const optimizer = new optim.AdamW(model.parameters(), { lr: 2e-3 });
    this.step = compile((points: Tensor, noise: Tensor, kept: Tensor, at: Tensor): Tensor => {
      optimizer.zeroGrad();
      const noisy = points.mul(kept.sqrt()).add(noise.mul(kept.neg().add(1).sqrt()));
      const loss = F.mseLoss(model.call(noisy, at), noise);
      loss.backward();
      optimizer.step();
      return loss;
    });
    this.predict = compile((points: Tensor, at: Tensor): Tensor => model.call(points, at));
  }

  /** Learns a shape; `tell` hears the loss of every step. */
  learn(shape: string, steps: number, tell: (step: number, loss: number) => void): void {
    const pointOf = (this.pointOf = SHAPES[shape]!);
    const kept = tensor(KEPT);
    for (let step = 0; step < steps; step++) {
      const points = tensor(Array.from({ length: BATCH }, () => [...pointOf(Math.random())]));
      const at = randint(0, STEPS, [BATCH]);
      const left = kept.indexSelect(0, at).view([BATCH, 1]);
      const time = at.to('float32').div(STEPS).view([BATCH, 1]);
      tell(step, this.step(points, randn([BATCH, 2]), left, time).item() as number);
    }
  }

  /**
   * Makes points out of noise; `tell` hears where they are after each step, as x, y, x, y… Returns how far they end from
   * the shape, on average.
   */
  make(count: number, tell: (points: number[]) => void): number {
    return noGrad(() => {
      let points = randn([count, 2]);
      for (let i = STEPS - 1; i >= 0; i--) {
        const [kept, before] = [KEPT[i]!, i === 0 ? 1 : KEPT[i - 1]!];
        const noise = this.predict(points, full([count, 1], i / STEPS));
        const clean = points.sub(noise.mul(Math.sqrt(1 - kept))).div(Math.sqrt(kept));
        points = clean
          .clamp(-2, 2)
          .mul(Math.sqrt(before))
          .add(noise.mul(Math.sqrt(1 - before)));
        tell(points.flatten().toArray() as number[]);
      }
      return this.distance(points.toArray() as number[][]);
    });
  }

  private distance(points: readonly (readonly number[])[]): number {
    const shape = Array.from({ length: 400 }, (_, i) => this.pointOf(i / 400));
    const nearest = ([x, y]: readonly number[]): number =>
      Math.min(...shape.map(([a, b]) => Math.hypot(x! - a, y! - b)));
    return points.reduce((sum, point) => sum + nearest(point), 0) / points.length;
  }
}
