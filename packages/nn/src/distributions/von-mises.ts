/**
 * @file `VonMises`: angles around a direction, sampled by rejection.
 *
 * @see D. J. Best and N. I. Fisher, Efficient simulation of the von Mises distribution
 */
import {
  type Tensor,
  atan,
  cos,
  expand,
  log,
  noGrad,
  rand,
  remainder,
  sign,
  tan,
  where,
  zeros,
} from '@tessera/tensor';
import { i0e, i1e } from '@tessera/tensor/special';
import { type Constraint, positive, real } from './constraints.js';
import {
  Distribution,
  type DistributionOptions,
  type ParameterLike,
  broadcastAll,
} from './distribution.js';

/** Devices whose values are not read at once get so many proposals: each is accepted with a probability above 0.65. */
const ROUNDS = 24;

/**
 * Proposals of the wrapped Cauchy distribution, shape, and whether they are accepted. With s = 1 / 2κ and r = s + √(1 + s²)
 * Best and Fisher's c = κ (r - f) is r / (r + z), and acos f is 2 atan(√((r - 1) / (r + 1)) tan ½πu): without cancellation,
 * so that single precision is enough.
 */
function propose(kappa: Tensor, shape: readonly number[]): [angle: Tensor, isAccepted: Tensor] {
  const { dtype, device } = kappa;
  const [u1, u2, u3] = [0, 1, 2].map(() => rand(shape, { dtype, device }));
  const s = kappa.mul(2).reciprocal();
  const root = s.square().add(1).sqrt();
  const beyond = s.add(s.square().div(root.add(1)));
  const half = u1.mul(Math.PI / 2);
  // r - 1 and 1 + z are both small where κ is large.
  const c = s.add(root).div(cos(half).square().mul(2).add(beyond));
  const ratio = beyond.div(beyond.add(2)).sqrt();
  const angle = atan(tan(half).mul(ratio)).mul(2);
  const isAccepted = c
    .mul(c.neg().add(2))
    .sub(u2)
    .gt(0)
    .logicalOr(log(c.div(u2)).add(1).sub(c).ge(0));
  return [sign(u3.sub(0.5)).mul(angle), isAccepted];
}

/** Proposals until all are accepted. */
function untilAccepted(kappa: Tensor, shape: readonly number[]): Tensor {
  const { dtype, device } = kappa;
  let found = zeros(shape, { dtype, device });
  let isDone = zeros(shape, { dtype: 'bool', device });
  while (isDone.all().item() === 0) {
    const [angle, isAccepted] = propose(kappa, shape);
    found = where(isAccepted, angle, found);
    isDone = isDone.logicalOr(isAccepted);
  }
  return found;
}

/** The first accepted of many proposals at once, which nobody has to wait for; 0 if none is. */
function oneOfMany(kappa: Tensor, shape: readonly number[]): Tensor {
  const [angle, isAccepted] = propose(kappa, [ROUNDS, ...shape]);
  const first = isAccepted.to('int32').argmax(0, { keepdim: true });
  return where(isAccepted, angle, 0).gather(0, first).squeeze(0);
}

/**
 * Density exp(concentration · cos(x - loc)) / (2π I₀(concentration)). Mean and variance are the circular ones. Samples are
 * drawn in double precision until all are accepted, in a compiled function with a graph break; on WebGPU in single
 * precision, with 24 proposals, of which none is accepted once in 10¹¹ samples: that one is `loc`.
 *
 * @see torch.distributions.VonMises
 */
export class VonMises extends Distribution {
  /** Angles in radians. */
  readonly loc: Tensor;
  readonly concentration: Tensor;

  /** @throws invalid-argument unless the concentration is positive */
  constructor(loc: ParameterLike, concentration: ParameterLike, options: DistributionOptions = {}) {
    const [middle, kappa] = broadcastAll(loc, concentration);
    super(middle.sizes, [], options);
    this.loc = middle;
    this.concentration = kappa;
    this.checkParameter('loc', middle, real);
    this.checkParameter('concentration', kappa, positive);
  }

  get support(): Constraint {
    return real;
  }
  get mean(): Tensor {
    return this.loc;
  }
  override get mode(): Tensor {
    return this.loc;
  }
  get variance(): Tensor {
    const { concentration: kappa } = this;
    return i1e(kappa).div(i0e(kappa)).neg().add(1);
  }
  override get hasRsample(): boolean {
    return false;
  }

  /** From -π to π. */
  override sample(sampleShape: readonly number[] = []): Tensor {
    return noGrad(() => {
      const shape = this.extended(sampleShape);
      const { dtype, device } = this.loc;
      const wide = device === 'cpu' ? 'float64' : 'float32';
      const [loc, kappa] = [this.loc, this.concentration].map((x) => x.detach().to(wide));
      const found = device === 'cpu' ? untilAccepted(kappa!, shape) : oneOfMany(kappa!, shape);
      const turned = found.add(Math.PI).add(expand(loc!, shape));
      return remainder(turned, 2 * Math.PI)
        .sub(Math.PI)
        .to(dtype);
    });
  }

  override logProb(value: Tensor): Tensor {
    this.checkValue(value);
    const { concentration: kappa, loc } = this;
    // log I₀(κ) is κ + log of the scaled one.
    return kappa
      .mul(cos(value.sub(loc)).sub(1))
      .sub(Math.log(2 * Math.PI))
      .sub(log(i0e(kappa)));
  }
}
