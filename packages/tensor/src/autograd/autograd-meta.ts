/**
 * @file Autograd data of a tensor, kept out of the tensor until needed.
 */
import type { Tensor } from '../tensor.js';
import type { GradNode } from './grad-node.js';
import type { GradientListener } from './gradient-listener.js';

/** See the file header. */
export interface AutogradMeta {
  gradFn: GradNode | null;
  /** Which output of `gradFn` this tensor is. */
  outputNr: number;
  /** Storage version when `gradFn` was set; a view whose version moved on regenerates its gradFn. */
  versionAtGradFn: number;
  grad: Tensor | null;
  /** `grad`, as long as nobody but the library can hold it (own-gradient.ts); else null, or one that it was before. */
  ownGrad: Tensor | null;
  retainsGrad: boolean;
  /** The node that adds into `grad`. */
  accumulator: GradNode | null;
  postAccumulateHooks: ((tensor: Tensor) => void)[] | null;
  /** The library that is told of the gradient of a leaf. */
  listener: GradientListener | null;
}

/** The autograd data of a tensor, made on first use. */
export function autogradMeta(tensor: Tensor): AutogradMeta {
  return (tensor.autograd ??= {
    gradFn: null,
    outputNr: 0,
    versionAtGradFn: 0,
    grad: null,
    ownGrad: null,
    retainsGrad: false,
    accumulator: null,
    postAccumulateHooks: null,
    listener: null,
  });
}
