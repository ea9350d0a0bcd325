/**
 * @file Activations that an attribute names: those of recurrent operators and of fused ones.
 */
import { functional as F } from '@tessera/nn';
import { type Tensor } from '@tessera/tensor';
import type { NodeCall } from '../run/node-call.js';

/** A function of each element. */
export type Activation = (x: Tensor) => Tensor;

/** Factors of an activation; what is not given has the default of the operator of that name. */
export interface ActivationFactors {
  readonly alpha?: number | undefined;
  readonly beta?: number | undefined;
  readonly gamma?: number | undefined;
}

type Make = (factors: ActivationFactors) => Activation;

const ACTIVATIONS: Readonly<Record<string, Make>> = {
  identity: () => (x) => x,
  relu: () => (x) => x.relu(),
  sigmoid: () => (x) => x.sigmoid(),
  tanh: () => (x) => x.tanh(),
  gelu: () => (x) => F.gelu(x),
  affine:
    ({ alpha = 1, beta = 0 }) =>
    (x) =>
      x.mul(alpha).add(beta),
  leakyrelu:
    ({ alpha = 0.01 }) =>
    (x) =>
      F.leakyRelu(x, { negativeSlope: alpha }),
  thresholdedrelu:
    ({ alpha = 1 }) =>
    (x) =>
      x.mul(x.gt(alpha).to(x.dtype)),
  scaledtanh:
    ({ alpha = 1, beta = 1 }) =>
    (x) =>
      x.mul(beta).tanh().mul(alpha),
  hardsigmoid:
    ({ alpha = 0.2, beta = 0.5 }) =>
    (x) =>
      x.mul(alpha).add(beta).clamp(0, 1),
  hardswish: () => (x) => F.hardswish(x),
  clip:
    ({ alpha = -Infinity, beta = Infinity }) =>
    (x) =>
      x.clamp(alpha, beta),
  elu:
    ({ alpha = 1 }) =>
    (x) =>
      F.elu(x, { alpha }),
  celu:
    ({ alpha = 1 }) =>
    (x) =>
      F.celu(x, { alpha }),
  selu:
    ({ alpha = 1.67326319217681884765625, gamma = 1.05070102214813232421875 }) =>
    (x) =>
      F.elu(x, { alpha }).mul(gamma),
  softsign: () => (x) => x.div(x.abs().add(1)),
  softplus: () => (x) => F.softplus(x),
};

/** Which factors an activation of a recurrent operator takes from the operator's lists. */
const LISTED: Readonly<Record<string, readonly ('alpha' | 'beta')[]>> = {
  affine: ['alpha', 'beta'],
  leakyrelu: ['alpha'],
  thresholdedrelu: ['alpha'],
  scaledtanh: ['alpha', 'beta'],
  hardsigmoid: ['alpha', 'beta'],
  elu: ['alpha'],
};

/**
 * Activations by name, with factors from the lists `activation_alpha` and `activation_beta`: each takes the next
 * number of those lists that it has a factor for. @throws onnx-invalid
 */
export function listedActivations(call: NodeCall, names: readonly string[]): Activation[] {
  const rest = {
    alpha: [...(call.floats('activation_alpha') ?? [])],
    beta: [...(call.floats('activation_beta') ?? [])],
  };
  return names.map((name) => {
    const own = LISTED[name.toLowerCase()] ?? [];
    return namedActivation(
      call,
      name,
      Object.fromEntries(own.map((factor) => [factor, rest[factor].shift()])),
    );
  });
}

/** An activation by ONNX's name, in upper or lower case. @throws onnx-invalid */
export function namedActivation(
  call: NodeCall,
  name: string,
  factors: ActivationFactors,
): Activation {
  return (
    ACTIVATIONS[name.toLowerCase()]?.(factors) ??
    call.fail(`activation '${name}': it may be ${Object.keys(ACTIVATIONS).join(', ')}`)
  );
}
