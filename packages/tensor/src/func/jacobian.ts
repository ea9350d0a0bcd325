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
import { invalid, prepare, withAux } from './prepare.js';

/** Options of `jacrev` and `jacfwd`. */
export interface JacobianOptions {
  /** Which argument to differentiate with respect to (default 0). */
  readonly argnums?: number;
  /** Whether `fn` returns `[value, aux]`, of which `aux` is passed on (default false). */
  readonly hasAux?: boolean;
}
const JACOBIAN: OptionNames<JacobianOptions> = { argnums: true, hasAux: true };
const ARGNUMS: OptionNames<{ readonly argnums?: number }> = { argnums: true };

function jacobian<A extends unknown[]>(
  name: string,
  parts: typeof jacobianRows,
  fn: (...args: A) => unknown,
  options: JacobianOptions,
): (...args: A) => unknown {
  checkFunction(name, fn);
  checkOptionNames(name, options, JACOBIAN);
  return (...args) => {
    const { argnums = 0, hasAux = false } = options;
    if (!isTensor(args.at(argnums)))
      throw invalid(
        name,
        'the argument to differentiate is no tensor.',
        'Name a tensor in argnums.',
      );
    const { args: own, leaves, createGraph, release } = prepare(name, args, argnums);
    return enableGrad(() => {
      const [out, ...aux] = withAux(name, fn(...(own as A)), hasAux);
      const of = (value: unknown): Tensor =>
        parts(name, value as Tensor, leaves, { createGraph, strict: false })[0]!;
      const matrix = treeMap(of, out);
      return release(hasAux ? [matrix, ...aux] : matrix);
    });
  };
}

/**
 * A function that computes the Jacobian of `fn`, `[...output, ...input]`, row by row in reverse mode; `[Jacobian, aux]`
 * with `hasAux`.
 *
 * @throws invalid-argument
 * @see torch.func.jacrev
 */
export function jacrev<A extends unknown[], X>(
  fn: (...args: A) => readonly [value: Tensor, aux: X],
  options: JacobianOptions & { readonly hasAux: true },
): (...args: A) => [jacobian: Tensor, aux: X];
export function jacrev<A extends unknown[]>(
  fn: (...args: A) => Tensor,
  options?: JacobianOptions,
): (...args: A) => Tensor;
export function jacrev<A extends unknown[]>(
  fn: (...args: A) => unknown,
  options: JacobianOptions = {},
): (...args: A) => unknown {
  return jacobian('jacrev', jacobianRows, fn, options);
}

/**
 * A function that computes the Jacobian of `fn`, `[...output, ...input]`, column by column: for more outputs than inputs;
 * `[Jacobian, aux]` with `hasAux`.
 *
 * @throws invalid-argument
 * @see torch.func.jacfwd
 */
export function jacfwd<A extends unknown[], X>(
  fn: (...args: A) => readonly [value: Tensor, aux: X],
  options: JacobianOptions & { readonly hasAux: true },
): (...args: A) => [jacobian: Tensor, aux: X];
export function jacfwd<A extends unknown[]>(
  fn: (...args: A) => Tensor,
  options?: JacobianOptions,
): (...args: A) => Tensor;
export function jacfwd<A extends unknown[]>(
  fn: (...args: A) => unknown,
  options: JacobianOptions = {},
): (...args: A) => unknown {
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
