/**
 * @file `vjp` and `jvp`: products with the Jacobian of a function. Modelled on `torch.func`.
 */
import { TesseraError, checkFunction, treeFlatten, treeUnflatten } from '@tessera/shared';
import { gradients, seededGradients } from '../autograd/functional.js';
import { enableGrad } from '../autograd/grad-mode.js';
import { formatSizes, sameNumbers } from '../shape.js';
import { isTensor } from '../tensor-factory.js';
import type { Tensor } from '../tensor.js';
import { invalid, prepare } from './prepare.js';

/** The tensors of a result or of an argument. @throws invalid-argument for anything else */
function tensorsOf(name: string, what: string, value: unknown) {
  const { leaves, spec } = treeFlatten(value);
  if (!leaves.every(isTensor))
    throw invalid(name, `${what} holds something other than tensors.`, 'Return tensors only.');
  return { tensors: leaves, spec };
}

/** The tensors of `given`, one of its sizes for each of `of`. @throws shape-mismatch, invalid-argument */
function vectorsFor(name: string, what: string, given: unknown, of: readonly Tensor[]): Tensor[] {
  const { tensors } = tensorsOf(name, what, given);
  const isFit =
    tensors.length === of.length && of.every((t, i) => sameNumbers(t.sizes, tensors[i]!.sizes));
  if (isFit) return tensors;
  const list = (all: readonly Tensor[]): string =>
    all.map(({ sizes }) => formatSizes(sizes)).join(', ');
  throw new TesseraError(
    'shape-mismatch',
    `${name}: ${what} must have the sizes ${list(of)}, got ${list(tensors)}.`,
    { hints: ['Give one tensor for each, in the same structure.'] },
  );
}

/**
 * The result of `fn`, and the function that multiplies cotangents with its Jacobian: `[gradient of each argument]` given
 * one tensor for each of the result, in its structure.
 *
 * @throws invalid-argument; shape-mismatch from the function
 * @example const [y, pullback] = vjp((x) => x.sin(), x); const [dx] = pullback(onesLike(y));
 * @see torch.func.vjp
 */
export function vjp<A extends unknown[], R>(
  fn: (...args: A) => R,
  ...primals: A
): [output: R, pullback: (cotangents: R) => A] {
  checkFunction('vjp', fn);
  const { args, leaves, createGraph, release, rebuild } = prepare(
    'vjp',
    primals,
    primals.map((_, i) => i),
  );
  const output = enableGrad(() => fn(...(args as A)));
  const { tensors } = tensorsOf('vjp', 'the result', output);
  return [
    release(output),
    (cotangents) => {
      const vectors = vectorsFor('vjp', 'the cotangents', cotangents, tensors);
      const found = enableGrad(() =>
        gradients('vjp', tensors, vectors, leaves, createGraph, false),
      );
      return release(rebuild(found)) as A;
    },
  ];
}

/**
 * The result of `fn`, and the product of its Jacobian with tangents: one tensor for each of the arguments, in their
 * structure. Made by the derivative of a gradient, so every operator in `fn` needs two derivatives.
 *
 * @throws invalid-argument, shape-mismatch
 * @example const [y, dy] = jvp((x) => x.sin(), [x], [onesLike(x)]);
 * @see torch.func.jvp
 */
export function jvp<A extends unknown[], R>(
  fn: (...args: A) => R,
  primals: A,
  tangents: A,
): [output: R, tangent: R] {
  checkFunction('jvp', fn);
  if (!Array.isArray(primals) || !Array.isArray(tangents))
    throw invalid('jvp', 'Expected primals and tangents to be lists.', 'Write jvp(f, [x], [t]).');
  const { args, leaves, createGraph, release } = prepare(
    'jvp',
    primals,
    primals.map((_, i) => i),
  );
  const vectors = vectorsFor('jvp', 'the tangents', tangents, leaves);
  return enableGrad(() => {
    const output = fn(...(args as A));
    const { tensors, spec } = tensorsOf('jvp', 'the result', output);
    const { seeds, grads } = seededGradients('jvp', tensors, leaves, false);
    const products = gradients('jvp', grads, vectors, seeds, createGraph, false);
    return [release(output), release(treeUnflatten(products, spec)) as R];
  });
}
