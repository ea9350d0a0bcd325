/**
 * @file Gradients against finite differences, first and second order, in double precision.
 */
import { type Tensor, fromTypedArray, grad, zerosLike } from '../../src/index.js';
import { readNumbers } from '../../src/internal.js';

/** A function of tensors whose result is a tensor or several. */
export type Differentiable = (...inputs: Tensor[]) => Tensor | Tensor[];

const STEP = 1e-6;

function results(fn: Differentiable, inputs: readonly Tensor[]): Tensor[] {
  const out = fn(...inputs);
  return (Array.isArray(out) ? out : [out]).filter((tensor) => tensor.requiresGrad);
}

/** Fixed pseudo-random weights that make a scalar of a tensor. */
function weights(tensor: Tensor, salt: number): Tensor {
  return fromTypedArray(
    Float64Array.from({ length: tensor.numel }, (_, i) => Math.sin(1 + salt + 3.7 * i)),
    tensor.sizes,
  );
}

function weighted(tensors: readonly Tensor[], salt: number): Tensor {
  return tensors
    .map((tensor, i) => tensor.mul(weights(tensor, salt + i)).sum())
    .reduce((a, b) => a.add(b));
}

/** Leaves with the values of `inputs`, element `at` of input `which` moved by `by`. */
function moved(inputs: readonly Tensor[], which: number, at: number, by: number): Tensor[] {
  return inputs.map((input, i) => {
    const values = readNumbers(input);
    if (i === which) values[at]! += by;
    return fromTypedArray(values, input.sizes, { requiresGrad: true });
  });
}

/** Largest relative difference between analytic and numeric derivatives of a scalar function. */
function worstDifference(
  scalar: (inputs: readonly Tensor[]) => Tensor,
  inputs: readonly Tensor[],
): number {
  const leaves = moved(inputs, -1, 0, 0);
  const value = scalar(leaves);
  const analytic = value.requiresGrad
    ? grad(value, leaves, { allowUnused: true })
    : leaves.map(() => null);
  let worst = 0;
  inputs.forEach((input, which) => {
    const exact = readNumbers(analytic[which] ?? zerosLike(input));
    for (let at = 0; at < input.numel; at++) {
      const up = scalar(moved(inputs, which, at, STEP)).item();
      const down = scalar(moved(inputs, which, at, -STEP)).item();
      const numeric = (up - down) / (2 * STEP);
      worst = Math.max(worst, Math.abs(numeric - exact[at]!) / Math.max(1, Math.abs(numeric)));
    }
  });
  return worst;
}

/** Worst relative error of the first derivatives. */
export function gradientError(fn: Differentiable, inputs: readonly Tensor[]): number {
  return worstDifference((leaves) => weighted(results(fn, leaves), 0), inputs);
}

/** Worst relative error of the derivatives of the gradient. */
export function secondGradientError(fn: Differentiable, inputs: readonly Tensor[]): number {
  return worstDifference((leaves) => {
    const first = grad(weighted(results(fn, leaves), 0), leaves, {
      createGraph: true,
      allowUnused: true,
    }).filter((g) => g !== null);
    return weighted(first, 5);
  }, inputs);
}

/**
 * Largest difference between the gradient of an input when all want gradients and when it alone does:
 * other tensors are saved then, and some not at all.
 */
export function loneGradientDifference(fn: Differentiable, inputs: readonly Tensor[]): number {
  const leaves = moved(inputs, -1, 0, 0);
  const all = grad(weighted(results(fn, leaves), 0), leaves, { allowUnused: true });
  let worst = 0;
  inputs.forEach((_, which) => {
    const alone = inputs.map((input, i) =>
      fromTypedArray(readNumbers(input), input.sizes, { requiresGrad: i === which }),
    );
    if (all[which] === null) return;
    // Weights go by the position of a result: results that do not depend on this input keep theirs.
    const whole = fn(...alone);
    const list = Array.isArray(whole) ? whole : [whole];
    const value = list
      .flatMap((tensor, i) => (tensor.requiresGrad ? [tensor.mul(weights(tensor, i)).sum()] : []))
      .reduce((a, b) => a.add(b));
    const [lone] = grad(value, alone[which]!);
    const expected = readNumbers(all[which]!);
    readNumbers(lone!).forEach(
      (number, i) => (worst = Math.max(worst, Math.abs(number - expected[i]!))),
    );
  });
  return worst;
}
