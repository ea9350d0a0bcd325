/**
 * @file `VonMises`: angles around a direction, sampled by rejection.
 *
 * @see D. J. Best and N. I. Fisher, Efficient simulation of the von Mises distribution
 */
import {
  type Tensor,
  acos,
  cos,
  expand,
  log,
  noGrad,
  rand,
  remainder,
  sign,
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

/** The parameter of the wrapped Cauchy distribution that proposes. */
function proposal(kappa: Tensor): Tensor {
  const tau = kappa.square().mul(4).add(1).sqrt().add(1);
  const rho = tau.sub(tau.mul(2).sqrt()).div(kappa.mul(2));
  const exact = rho.square().add(1).div(rho.mul(2));
  return where(kappa.lt(1e-5), kappa.reciprocal().add(kappa), exact);
}

/**
 * Density exp(concentration · cos(x - loc)) / (2π I₀(concentration)). Mean and variance are the circular ones. Samples are
 * drawn in double precision until all are accepted: of parameters on the CPU, and in a compiled function with a graph break.
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

  /** From -π to π. @throws dtype-unsupported on WebGPU, which has no float64 */
  override sample(sampleShape: readonly number[] = []): Tensor {
    return noGrad(() => {
      const shape = this.extended(sampleShape);
      const { dtype } = this.loc;
      const [loc, kappa] = [this.loc, this.concentration].map((x) => x.detach().to('float64'));
      const r = proposal(kappa!);
      let found = zeros(shape, { dtype: 'float64' });
      let isDone = zeros(shape, { dtype: 'bool' });
      while (isDone.all().item() === 0) {
        const [u1, u2, u3] = [0, 1, 2].map(() => rand(shape, { dtype: 'float64' })) as [
          Tensor,
          Tensor,
          Tensor,
        ];
        const z = cos(u1.mul(Math.PI));
        const f = r.mul(z).add(1).div(r.add(z));
        const c = kappa!.mul(r.sub(f));
        const isAccepted = c
          .mul(c.neg().add(2))
          .sub(u2)
          .gt(0)
          .logicalOr(log(c.div(u2)).add(1).sub(c).ge(0));
        found = where(isAccepted, sign(u3.sub(0.5)).mul(acos(f)), found);
        isDone = isDone.logicalOr(isAccepted);
      }
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
