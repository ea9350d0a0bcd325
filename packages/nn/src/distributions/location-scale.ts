/**
 * @file What distributions on the real line with a place and a width have in common.
 */
import type { Tensor } from '@tessera/tensor';
import { type Constraint, positive, real } from './constraints.js';
import {
  Distribution,
  type DistributionOptions,
  type ParameterLike,
  broadcastAll,
} from './distribution.js';

/** A distribution of `loc + scale · x`, symmetric around `loc`. */
export abstract class LocationScale extends Distribution {
  readonly loc: Tensor;
  readonly scale: Tensor;

  /** @throws invalid-argument unless scales are positive */
  constructor(loc: ParameterLike, scale: ParameterLike, options: DistributionOptions = {}) {
    const [l, s] = broadcastAll(loc, scale);
    super(l.sizes, [], options);
    this.loc = l;
    this.scale = s;
    this.checkParameter('loc', l, real);
    this.checkParameter('scale', s, positive);
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
}
