/**
 * @file `jacrev`, `jacfwd` and `hessian`: matrices of derivatives of functions as functions, which compose with `vmap`.
 *
 * Modelled on `torch.func`. There are no forward derivatives of operators: a column of `jacfwd` is the derivative of a
 * gradient, which is linear in what it is seeded with.
 */
import { type OptionNames, checkFunction, checkOptionNames, treeMap } from '@tessera/shared';
import { jacobianColumns, jacobianRows } from '../autograd/functional.js';
import { enableGrad } from '../autograd/grad-mode.js';
import { isTensor } from '../tensor-factory.js';
import type { Tensor } from '../tensor.js';
import { invalid, prepare } from './prepare.js';

const ARGNUMS: OptionNames<{ readonly argnums?: number }> = { argnums: true };

function jacobian<A extends unknown[]>(
  name: string,
  parts: typeof jacobianRows,
  fn: (...args: A) => Tensor,
  options: { readonly argnums?: number },
): (...args: A) => Tensor {
  checkFunction(name, fn);
  checkOptionNames(name, options, ARGNUMS);
  return (...args) => {
    const { argnums = 0 } = options;
    if (!isTensor(args.at(argnums)))
      throw invalid(
        name,
        'the argument to differentiate is no tensor.',
        'Name a tensor in argnums.',
      );
    const { args: own, leaves, createGraph, release } = prepare(name, args, argnums);
    return enableGrad(() => {
      const out = fn(...(own as A));
      const of = (value: unknown): Tensor =>
        parts(name, value as Tensor, leaves, { createGraph, strict: false })[0]!;
      return release(treeMap(of, out)) as Tensor;
    });
  };
}

/**
 * A function that computes the Jacobian of `fn`, `[...output, ...input]`, row by row in reverse mode.
 *
 * @throws invalid-argument
 * @see torch.func.jacrev
 */
export function jacrev<A extends unknown[]>(
  fn: (...args: A) => Tensor,
  options: { readonly argnums?: number } = {},
): (...args: A) => Tensor {
  return jacobian('jacrev', jacobianRows, fn, options);
}

/**
 * A function that computes the Jacobian of `fn`, `[...output, ...input]`, column by column: for more outputs than inputs.
 *
 * @throws invalid-argument
 * @see torch.func.jacfwd
 */
export function jacfwd<A extends unknown[]>(
  fn: (...args: A) => Tensor,
  options: { readonly argnums?: number } = {},
): (...args: A) => Tensor {
  return jacobian('jacfwd', jacobianColumns, fn, options);
}

/**
 * A function that computes the Hessian of `fn`, whose result has one element: `[...output, ...input, ...input]`.
 *
 * @throws invalid-argument
 * @example vmap(hessian(energy))(positions) // one matrix per example
 * @see torch.func.hessian
 */
export function hessian<A extends unknown[]>(
  fn: (...args: A) => Tensor,
  options: { readonly argnums?: number } = {},
): (...args: A) => Tensor {
  checkFunction('hessian', fn);
  checkOptionNames('hessian', options, ARGNUMS);
  return jacfwd(jacrev(fn, options), options);
}
