/**
 * @file Which operator modules become methods of `Tensor`.
 *
 * Every exported function of a module listed here takes the tensor as its first parameter and so is a
 * method by the same name. To add a family, add its module to both lists.
 */
import * as arithmetic from './ops/pointwise-arithmetic.js';
import * as copy from './ops/copy.js';
import * as matmul from './ops/matmul.js';
import * as reduction from './ops/reduction.js';
import * as view from './ops/view.js';

/** The functions of a module as methods: without their first parameter. */
export type MethodsOf<M> = {
  [K in keyof M]: M[K] extends (self: infer _S, ...rest: infer R) => infer O ? (...rest: R) => O : never;
};

/** All operator methods. */
export interface TensorMethods
  extends MethodsOf<typeof arithmetic>,
    MethodsOf<typeof copy>,
    MethodsOf<typeof matmul>,
    MethodsOf<typeof reduction>,
    MethodsOf<typeof view> {}

/** The same modules at run time. */
export const METHOD_MODULES: readonly Readonly<Record<string, unknown>>[] = [arithmetic, copy, matmul, reduction, view];
