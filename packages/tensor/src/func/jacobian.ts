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
import { type DerivativeOptions, GRAD_FUNCTION, type GradFunctionOptions } from './grad.js';
import { invalid, prepare, withAux } from './prepare.js';

const ARGNUMS: OptionNames<DerivativeOptions> = { argnums: true };

/** One argument: one matrix. */
interface OneArgument {
  readonly argnums?: number;
}
/** Several arguments: a matrix for each. */
interface Arguments {
  readonly argnums: readonly number[];
}
/** The function returns `[value, aux]`. */
interface WithAux {
  readonly hasAux: true;
}

function jacobian<A extends unknown[]>(
  name: string,
  parts: typeof jacobianRows,
  fn: (...args: A) => unknown,
  options: GradFunctionOptions,
): (...args: A) => unknown {
  checkFunction(name, fn);
  checkOptionNames(name, options, GRAD_FUNCTION);
  return (...args) => {
    const { argnums = 0, hasAux = false } = options;
    if (![argnums].flat().every((n) => isTensor(args.at(n))))
      throw invalid(
        name,
        'the argument to differentiate is no tensor.',
        'Name a tensor in argnums.',
      );
    const { args: own, leaves, createGraph, release, rebuild } = prepare(name, args, argnums);
    return enableGrad(() => {
      const [out, ...aux] = withAux(name, fn(...(own as A)), hasAux);
      const of = (value: unknown): unknown =>
        rebuild(parts(name, value as Tensor, leaves, { createGraph, strict: false }));
      const matrix = treeMap(of, out);
      return release(hasAux ? [matrix, ...aux] : matrix);
    });
  };
}

/**
 * A function that computes the Jacobian of `fn`, `[...output, ...input]`, row by row in reverse mode;
 * one for each argument of a list of `argnums`, and `[Jacobian, aux]` with `hasAux`.
 *
 * @throws invalid-argument
 * @see torch.func.jacrev
 */
export function jacrev<A extends unknown[], X>(
  fn: (...args: A) => readonly [value: Tensor, aux: X],
  options: OneArgument & WithAux,
): (...args: A) => [jacobian: Tensor, aux: X];
export function jacrev<A extends unknown[], X>(
  fn: (...args: A) => readonly [value: Tensor, aux: X],
  options: Arguments & WithAux,
): (...args: A) => [jacobians: Tensor[], aux: X];
export function jacrev<A extends unknown[]>(
  fn: (...args: A) => Tensor,
  options?: OneArgument,
): (...args: A) => Tensor;
export function jacrev<A extends unknown[]>(
  fn: (...args: A) => Tensor,
  options: Arguments,
): (...args: A) => Tensor[];
export function jacrev<A extends unknown[]>(
  fn: (...args: A) => unknown,
  options: GradFunctionOptions = {},
): (...args: A) => unknown {
  return jacobian('jacrev', jacobianRows, fn, options);
}

/**
 * A function that computes the Jacobian of `fn`, `[...output, ...input]`, column by column: for more outputs than inputs;
 * one for each argument of a list of `argnums`, and `[Jacobian, aux]` with `hasAux`.
 *
 * @throws invalid-argument
 * @see torch.func.jacfwd
 */
export function jacfwd<A extends unknown[], X>(
  fn: (...args: A) => readonly [value: Tensor, aux: X],
  options: OneArgument & WithAux,
): (...args: A) => [jacobian: Tensor, aux: X];
export function jacfwd<A extends unknown[], X>(
  fn: (...args: A) => readonly [value: Tensor, aux: X],
  options: Arguments & WithAux,
): (...args: A) => [jacobians: Tensor[], aux: X];
export function jacfwd<A extends unknown[]>(
  fn: (...args: A) => Tensor,
  options?: OneArgument,
): (...args: A) => Tensor;
export function jacfwd<A extends unknown[]>(
  fn: (...args: A) => Tensor,
  options: Arguments,
): (...args: A) => Tensor[];
export function jacfwd<A extends unknown[]>(
  fn: (...args: A) => unknown,
  options: GradFunctionOptions = {},
): (...args: A) => unknown {
  return jacobian('jacfwd', jacobianColumns, fn, options);
}

/**
 * A function that computes the Hessian of `fn`, whose result has one element: `[...output, ...input, ...input]`;
 * one for each pair of arguments of a list of `argnums`.
 *
 * @throws invalid-argument
 * @example vmap(hessian(energy))(positions) // one matrix per example
 * @see torch.func.hessian
 */
export function hessian<A extends unknown[]>(
  fn: (...args: A) => Tensor,
  options?: OneArgument,
): (...args: A) => Tensor;
export function hessian<A extends unknown[]>(
  fn: (...args: A) => Tensor,
  options: Arguments,
): (...args: A) => Tensor[][];
export function hessian<A extends unknown[]>(
  fn: (...args: A) => unknown,
  options: DerivativeOptions = {},
): (...args: A) => unknown {
  checkFunction('hessian', fn);
  checkOptionNames('hessian', options, ARGNUMS);
  const rows = jacobian('jacrev', jacobianRows, fn, options);
  return jacobian('jacfwd', jacobianColumns, rows, options);
}
