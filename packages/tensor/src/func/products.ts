/**
 * @file `vjp`, `jvp` and `linearize`: products with the Jacobian of a function. Modelled on `torch.func`.
 */
import {
  type OptionNames,
  TesseraError,
  checkFunction,
  checkOptionNames,
  treeFlatten,
  treeUnflatten,
} from '@tessera/shared';
import { gradients, seededGradients } from '../autograd/functional.js';
import { enableGrad } from '../autograd/grad-mode.js';
import { formatSizes, sameNumbers } from '../shape.js';
import { isTensor } from '../tensor-factory.js';
import type { Tensor } from '../tensor.js';
import { invalid, prepare, withAux } from './prepare.js';

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

/** Options of `vjp` and `jvp`. */
export interface AuxOptions {
  /** Whether `fn` returns `[value, aux]`, of which `aux` is passed on (default false). */
  readonly hasAux?: boolean;
}
const AUX: OptionNames<AuxOptions> = { hasAux: true };

/** Options after the arguments: what has a truth value in it is no argument to differentiate. */
function isAuxOptions(value: unknown): value is AuxOptions {
  return (
    typeof value === 'object' &&
    value !== null &&
    'hasAux' in value &&
    typeof value.hasAux === 'boolean' &&
    Object.keys(value).length === 1
  );
}

/**
 * The result of `fn`, and the function that multiplies cotangents with its Jacobian: `[gradient of each argument]` given
 * one tensor for each of the result, in its structure. With `{ hasAux: true }` after the arguments, what `fn` returns
 * beside the result comes third.
 *
 * @throws invalid-argument; shape-mismatch from the function
 * @example const [y, pullback] = vjp((x) => x.sin(), x); const [dx] = pullback(onesLike(y));
 * @example const [y, pullback, aux] = vjp((x) => [x.sin(), x], x, { hasAux: true });
 * @see torch.func.vjp
 */
export function vjp<A extends unknown[], R, X>(
  fn: (...args: A) => readonly [value: R, aux: X],
  ...primals: [...args: A, options: { readonly hasAux: true }]
): [output: R, pullback: (cotangents: R) => A, aux: X];
export function vjp<A extends unknown[], R>(
  fn: (...args: A) => R,
  ...primals: A
): [output: R, pullback: (cotangents: R) => A];
export function vjp(fn: (...args: unknown[]) => unknown, ...given: unknown[]): unknown[] {
  checkFunction('vjp', fn);
  const last = given.at(-1);
  const hasOptions = isAuxOptions(last);
  const hasAux = hasOptions && last.hasAux === true;
  const primals = hasOptions ? given.slice(0, -1) : given;
  const { args, leaves, createGraph, release, rebuild } = prepare(
    'vjp',
    primals,
    primals.map((_, i) => i),
  );
  const [output, ...aux] = withAux(
    'vjp',
    enableGrad(() => fn(...args)),
    hasAux,
  );
  const { tensors } = tensorsOf('vjp', 'the result', output);
  const pullback = (cotangents: unknown): unknown => {
    const vectors = vectorsFor('vjp', 'the cotangents', cotangents, tensors);
    const found = enableGrad(() => gradients('vjp', tensors, vectors, leaves, createGraph, false));
    return release(rebuild(found));
  };
  return [release(output), pullback, ...aux.map(release)];
}

/** A function at its arguments: its result, what is beside it, and its products with tangents. */
function pushforward<A extends unknown[]>(
  name: string,
  fn: (...args: A) => unknown,
  primals: A,
  hasAux: boolean,
) {
  const { args, leaves, createGraph, release } = prepare(
    name,
    primals,
    primals.map((_, i) => i),
  );
  return enableGrad(() => {
    const [output, ...aux] = withAux(name, fn(...args), hasAux);
    const { tensors, spec } = tensorsOf(name, 'the result', output);
    const { seeds, grads } = seededGradients(name, tensors, leaves, false);
    const push = (tangents: unknown): unknown => {
      const vectors = vectorsFor(name, 'the tangents', tangents, leaves);
      const products = enableGrad(() => gradients(name, grads, vectors, seeds, createGraph, false));
      return release(treeUnflatten(products, spec));
    };
    return { output: release(output), aux: aux.map(release), push };
  });
}

/**
 * The result of `fn`, and the product of its Jacobian with tangents: one tensor for each of the arguments, in their
 * structure; what `fn` returns beside the result comes third with `hasAux`. Made by the derivative of a gradient, so
 * every operator in `fn` needs two derivatives.
 *
 * @throws invalid-argument, shape-mismatch
 * @example const [y, dy] = jvp((x) => x.sin(), [x], [onesLike(x)]);
 * @see torch.func.jvp
 */
export function jvp<A extends unknown[], R, X>(
  fn: (...args: A) => readonly [value: R, aux: X],
  primals: A,
  tangents: A,
  options: { readonly hasAux: true },
): [output: R, tangent: R, aux: X];
export function jvp<A extends unknown[], R>(
  fn: (...args: A) => R,
  primals: A,
  tangents: A,
  options?: AuxOptions,
): [output: R, tangent: R];
export function jvp(
  fn: (...args: unknown[]) => unknown,
  primals: unknown[],
  tangents: unknown[],
  options: AuxOptions = {},
): unknown[] {
  checkFunction('jvp', fn);
  checkOptionNames('jvp', options, AUX);
  if (!Array.isArray(primals) || !Array.isArray(tangents))
    throw invalid('jvp', 'Expected primals and tangents to be lists.', 'Write jvp(f, [x], [t]).');
  const { output, aux, push } = pushforward('jvp', fn, primals, options.hasAux === true);
  return [output, push(tangents), ...aux];
}

/**
 * The result of `fn` at its arguments, and the linear function that multiplies tangents with the Jacobian there: for many
 * tangents, as `fn` runs once. Tangents are one tensor for each argument, in their structure, of their sizes and dtypes.
 *
 * @throws invalid-argument; shape-mismatch, dtype-mismatch from the function
 * @example const [y, push] = linearize((x) => x.sin(), x); const dy = push(onesLike(x));
 * @see torch.func.linearize
 */
export function linearize<A extends unknown[], R>(
  fn: (...args: A) => R,
  ...primals: A
): [output: R, jvp: (...tangents: A) => R] {
  checkFunction('linearize', fn);
  const { output, push } = pushforward('linearize', fn, primals, false);
  const dtypes = treeFlatten(primals)
    .leaves.filter(isTensor)
    .map(({ dtype }) => dtype);
  return [
    output as R,
    (...tangents) => {
      treeFlatten(tangents).leaves.forEach((tangent, i) => {
        if (!isTensor(tangent) || tangent.dtype === dtypes[i] || i >= dtypes.length) return;
        throw new TesseraError(
          'dtype-mismatch',
          `tangent:${i} with dtype torch.${tangent.dtype} in flattened pytree doesn't match the dtype torch.${dtypes[i]} of the corresponding primal.`,
          { hints: ["Convert it: tangent.to('float32')."] },
        );
      });
      return push(tangents) as R;
    },
  ];
}
