/**
 * @file Derivatives of functions as functions: `vjp`, `jvp`, `jacobian`, `hessian`, `hvp`, `vhp`.
 *
 * Each runs `fn` on copies of the inputs that require grad. `jvp` takes the gradient of a gradient (the
 * double-backward trick). Modelled on `torch.autograd.functional`.
 */
import { type OptionNames, TesseraError, checkOptionNames, checkFunction } from '@tessera/shared';
import { callOp } from '../dispatch/dispatcher.js';
import { getOp } from '../op/op-overload.js';
import { formatSizes, numelOf, sameNumbers } from '../shape.js';
import type { Tensor } from '../tensor.js';
import type { CreateGraph } from './autograd-grad-op.js';
import { differentiate } from './differentiate.js';
import { enableGrad, noGrad } from './grad-mode.js';
import { onesLike, zerosOf } from './gradient-ops.js';
import { leafOf } from './leaf-op.js';
import { checkTensors } from '../check-tensors.js';

/** One tensor, or several. */
export type TensorOrList = Tensor | readonly Tensor[];

/** The same for each input: one tensor for one input, a list for a list. */
export type Like<I extends TensorOrList, T = Tensor> = I extends Tensor ? T : T[];

/** Parameters of the functions below. */
export interface FunctionalOptions {
  /** Whether the result can be differentiated with respect to the inputs. */
  readonly createGraph?: boolean;
  /** Whether an input that the outputs do not depend on is an error instead of zeros. */
  readonly strict?: boolean;
}
const FUNCTIONAL: OptionNames<FunctionalOptions> = { createGraph: true, strict: true };

type Fn<I extends TensorOrList, O extends TensorOrList> = (
  ...inputs: I extends readonly Tensor[] ? Tensor[] : [Tensor]
) => O;

/** The same of inputs that nothing is said of. */
type AnyFn<O> = { at(...inputs: Tensor[]): O }['at'];

function listOf(value: TensorOrList): Tensor[] {
  const list: Tensor[] = Array.isArray(value) ? [...value] : [value];
  for (const inputs of list) checkTensors('fn', { inputs });
  return list;
}

function asGiven<G extends TensorOrList>(list: readonly Tensor[], like: G): G & Like<G>;
function asGiven<T, G extends TensorOrList>(list: readonly T[], like: G): Like<G, T>;
function asGiven<T>(list: readonly T[], like: TensorOrList): T | readonly T[] {
  return Array.isArray(like) ? list : list[0]!;
}

/** Inputs with an edge of their own: views with createGraph, else detached leaves. */
function leavesOf(inputs: readonly Tensor[], createGraph: boolean): Tensor[] {
  return inputs.map((input) =>
    createGraph && input.requiresGrad ? callOp(getOp('aten::alias'), [input]) : leafOf(input),
  );
}

function call<O>(fn: AnyFn<O>, leaves: readonly Tensor[]): O {
  return fn(...leaves);
}

function checkVectors(
  name: string,
  vectors: readonly Tensor[] | null,
  of: readonly Tensor[],
): Tensor[] {
  if (vectors === null) {
    const [only] = of;
    if (of.length === 1 && only!.numel === 1) return [noGrad(() => onesLike(only!))];
    throw new TesseraError(
      'grad-non-scalar',
      `${name}: the vector v can only be left out if there is a single element.`,
      { hints: ['Give one tensor for each, of the same shape.'] },
    );
  }
  const at = of.findIndex((tensor, i) => !sameNumbers(vectors[i]?.sizes ?? [-1], tensor.sizes));
  if (vectors.length === of.length && at < 0) return [...vectors];
  throw new TesseraError(
    'shape-mismatch',
    `${name}: v must have the sizes ${of.map(({ sizes }) => formatSizes(sizes)).join(', ')}, got ${vectors.map(({ sizes }) => formatSizes(sizes)).join(', ')}.`,
    { hints: ['Give one tensor for each, of the same shape.'] },
  );
}

/** Gradients of the outputs that require any; zeros where an input is not used. @throws no-grad-graph if strict */
export function gradients(
  name: string,
  outs: readonly Tensor[],
  seeds: readonly Tensor[],
  leaves: readonly Tensor[],
  createGraph: CreateGraph,
  strict: boolean,
): Tensor[] {
  const pairs = outs.flatMap((out, i) => (out.requiresGrad ? [[out, seeds[i]!] as const] : []));
  const grads =
    pairs.length === 0
      ? leaves.map(() => null)
      : differentiate({
          outputs: pairs.map(([out]) => out),
          gradOutputs: pairs.map(([, seed]) => seed),
          inputs: leaves,
          retainGraph: true,
          createGraph,
        });
  return grads.map((grad, i) => {
    if (grad !== null) return grad;
    if (strict)
      throw new TesseraError(
        'no-grad-graph',
        `${name}: The outputs are independent of input ${i}. This is not allowed in strict mode.`,
        { hints: ['Leave strict out to get zeros.'] },
      );
    return noGrad(() => zerosOf(leaves[i]!));
  });
}

/** Gradients of the outputs by what seeds them. They are linear in it: their derivatives towards it are columns of the Jacobian. */
export function seededGradients(
  name: string,
  outs: readonly Tensor[],
  leaves: readonly Tensor[],
  strict: boolean,
): { readonly seeds: Tensor[]; readonly grads: Tensor[] } {
  const seeds = outs.map((out) => {
    const zeros = noGrad(() => zerosOf(out));
    return out.requiresGrad ? leafOf(zeros) : zeros;
  });
  return { seeds, grads: gradients(name, outs, seeds, leaves, true, strict) };
}

/** Values that the caller may keep: without history unless wanted. */
function released(tensors: readonly Tensor[], createGraph: boolean): Tensor[] {
  return tensors.map((tensor) => (createGraph ? tensor : noGrad(() => tensor.detach())));
}

/**
 * Outputs of `fn`, and the product of `v` with its Jacobian.
 *
 * @param v one tensor per output, of its shape; may be left out for a single scalar
 * @throws shape-mismatch, grad-non-scalar, no-grad-graph
 */
export function vjp<I extends TensorOrList, O extends TensorOrList>(
  fn: Fn<I, O>,
  inputs: I,
  v: TensorOrList | null = null,
  options: FunctionalOptions = {},
): [outputs: O, product: Like<I>] {
  checkFunction('vjp', fn);
  checkOptionNames('vjp', options, FUNCTIONAL);
  const { createGraph = false, strict = false } = options;
  return enableGrad(() => {
    const leaves = leavesOf(listOf(inputs), createGraph);
    const result = call(fn, leaves);
    const outs = listOf(result);
    const vectors = checkVectors('vjp', v === null ? null : listOf(v), outs);
    const grads = gradients('vjp', outs, vectors, leaves, createGraph, strict);
    return [
      asGiven(released(outs, createGraph), result),
      asGiven(released(grads, createGraph), inputs),
    ];
  });
}

/**
 * Outputs of `fn`, and the product of its Jacobian with `v`.
 *
 * @param v one tensor per input, of its shape; may be left out for a single scalar
 * @throws shape-mismatch, grad-non-scalar, no-grad-graph
 */
export function jvp<I extends TensorOrList, O extends TensorOrList>(
  fn: Fn<I, O>,
  inputs: I,
  v: TensorOrList | null = null,
  options: FunctionalOptions = {},
): [outputs: O, product: Like<O>] {
  checkFunction('jvp', fn);
  checkOptionNames('jvp', options, FUNCTIONAL);
  const { createGraph = false, strict = false } = options;
  return enableGrad(() => {
    const list = listOf(inputs);
    const vectors = checkVectors('jvp', v === null ? null : listOf(v), list);
    const leaves = leavesOf(list, createGraph);
    const result = call(fn, leaves);
    const outs = listOf(result);
    const { seeds, grads } = seededGradients('jvp', outs, leaves, strict);
    const products = gradients('jvp', grads, vectors, seeds, createGraph, false);
    return [
      asGiven(released(outs, createGraph), result),
      asGiven(released(products, createGraph), result),
    ];
  });
}

/** Jacobians of one output, `[...output, ...input]` for each input, row by row. */
export function jacobianRows(
  name: string,
  out: Tensor,
  leaves: readonly Tensor[],
  options: { readonly createGraph: CreateGraph; readonly strict: boolean },
): Tensor[] {
  const { createGraph, strict } = options;
  const flat = out.numel === 1 && out.ndim === 0 ? [out] : out.reshape([-1]).unbind(0);
  const perRow = flat.map((element) =>
    gradients(name, [element], [noGrad(() => onesLike(element))], leaves, createGraph, strict),
  );
  return leaves.map((leaf, i) => {
    const sizes = [...out.sizes, ...leaf.sizes];
    if (numelOf(sizes) === 0) return noGrad(() => zerosOf({ ...leaf, sizes, dtype: out.dtype }));
    const stacked = callOp(getOp('aten::stack'), [perRow.map((row) => row[i]!), 0]);
    return stacked.reshape(sizes);
  });
}

/** The same, column by column: each the derivative of a gradient with respect to what seeds it. */
export const jacobianColumns: typeof jacobianRows = (name, out, leaves, options) => {
  const { createGraph, strict } = options;
  const { seeds, grads } = seededGradients(name, [out], leaves, strict);
  return leaves.map((leaf, i) => {
    const sizes = [...out.sizes, ...leaf.sizes];
    if (numelOf(sizes) === 0) return noGrad(() => zerosOf({ ...leaf, sizes, dtype: out.dtype }));
    const flat = grads[i]!.reshape([-1]).unbind(0);
    const columns = flat.map(
      (element) =>
        gradients(
          name,
          [element],
          [noGrad(() => onesLike(element))],
          seeds,
          createGraph,
          false,
        )[0]!,
    );
    return callOp(getOp('aten::stack'), [columns, out.ndim]).reshape(sizes);
  });
};

/**
 * The Jacobian: `[...output, ...input]`, per input and per output if they are lists.
 *
 * @throws no-grad-graph
 * @example jacobian((x) => x.exp(), tensor([0, 1])) // diag(e^x)
 */
export function jacobian<I extends TensorOrList, O extends TensorOrList>(
  fn: Fn<I, O>,
  inputs: I,
  options: FunctionalOptions = {},
): Like<O, Like<I>> {
  checkFunction('jacobian', fn);
  checkOptionNames('jacobian', options, FUNCTIONAL);
  const all = { createGraph: false, strict: false, ...options };
  return enableGrad(() => {
    const leaves = leavesOf(listOf(inputs), all.createGraph);
    const result = call(fn, leaves);
    const perOutput = listOf(result).map((out) =>
      asGiven(released(jacobianRows('jacobian', out, leaves, all), all.createGraph), inputs),
    );
    return asGiven(perOutput, result);
  });
}

/** First gradients of a scalar function, differentiable. @throws grad-non-scalar */
function firstGradients(
  name: string,
  fn: AnyFn<TensorOrList>,
  leaves: readonly Tensor[],
): { value: Tensor; grads: Tensor[] } {
  const outs = listOf(call(fn, leaves));
  const [value] = outs;
  if (outs.length !== 1 || value!.numel !== 1) {
    throw new TesseraError(
      'grad-non-scalar',
      `${name}: The Tensor returned by the function given to ${name} should contain a single element`,
      { hints: ['Reduce to a scalar, or use jacobian().'] },
    );
  }
  const seed = noGrad(() => onesLike(value!));
  return { value: value!, grads: gradients(name, outs, [seed], leaves, true, false) };
}

/**
 * The Hessian of a scalar function: `[...input, ...input]`, one per pair of inputs if they are a list.
 *
 * @throws grad-non-scalar
 */
export function hessian<I extends TensorOrList>(
  fn: Fn<I, Tensor>,
  inputs: I,
  options: FunctionalOptions = {},
): Like<I, Like<I>> {
  checkFunction('hessian', fn);
  checkOptionNames('hessian', options, FUNCTIONAL);
  const all = { createGraph: false, strict: false, ...options };
  return enableGrad(() => {
    const leaves = leavesOf(listOf(inputs), all.createGraph);
    const { grads } = firstGradients('hessian', fn, leaves);
    const perInput = grads.map((grad) =>
      asGiven(released(jacobianRows('hessian', grad, leaves, all), all.createGraph), inputs),
    );
    return asGiven(perInput, inputs);
  });
}

/** Value of a scalar function, and the product of `v` with its Hessian. @throws grad-non-scalar, shape-mismatch */
export function vhp<I extends TensorOrList>(
  fn: Fn<I, Tensor>,
  inputs: I,
  v: TensorOrList | null = null,
  options: FunctionalOptions = {},
): [output: Tensor, product: Like<I>] {
  checkFunction('vhp', fn);
  checkOptionNames('vhp', options, FUNCTIONAL);
  const { createGraph = false, strict = false } = options;
  return enableGrad(() => {
    const list = listOf(inputs);
    const vectors = checkVectors('vhp', v === null ? null : listOf(v), list);
    const leaves = leavesOf(list, createGraph);
    const { value, grads } = firstGradients('vhp', fn, leaves);
    const products = gradients('vhp', grads, vectors, leaves, createGraph, strict);
    return [released([value], createGraph)[0]!, asGiven(released(products, createGraph), inputs)];
  });
}

/** Value of a scalar function, and the product of its Hessian with `v`; as `vhp`, a Hessian being symmetric. @throws grad-non-scalar, shape-mismatch */
export function hvp<I extends TensorOrList>(
  fn: Fn<I, Tensor>,
  inputs: I,
  v: TensorOrList | null = null,
  options: FunctionalOptions = {},
): [output: Tensor, product: Like<I>] {
  checkFunction('hvp', fn);
  checkOptionNames('hvp', options, FUNCTIONAL);
  return vhp(fn, inputs, v, options);
}
