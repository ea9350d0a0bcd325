/**
 * @file In-place overloads, derived from functional ones.
 */
import { callOp } from '../dispatch/dispatcher.js';
import type { Tensor } from '../tensor.js';
import { type OpOverload, defineOp, getOp } from './op-overload.js';

/**
 * Registers `name_` for a functional op whose first argument is the tensor to modify: the same
 * arguments, `Tensor(a!) self`, computing into `self` and returning it. That of a composite op decomposes
 * into it and a copy.
 *
 * @param overload overload name, where PyTorch's differs from the functional one's
 */
export function defineInplace(
  functional: OpOverload,
  overload: string = functional.schema.overload,
): OpOverload {
  const { namespace, name, text } = functional.schema;
  const suffix = overload === 'default' ? '' : `.${overload}`;
  const args = text.slice(text.indexOf('(') + 1, text.lastIndexOf(')', text.lastIndexOf('->')));
  const written = args.replace(/^Tensor /, 'Tensor(a!) ');
  const schema = `${namespace}::${name}_${suffix}(${written}) -> Tensor(a!)`;
  if (functional.record.decompose !== undefined)
    return defineOp(schema, {
      decompose: (named) => {
        const values = functional.schema.args.map((arg) => named[arg.name] as unknown);
        return callOp(getOp('aten::copy_'), [named.self, callOp(functional, values), false]);
      },
    });
  return defineOp(schema, {
    inplaceOf: functional.qualifiedName,
    tags: functional.record.tags?.filter((tag) => tag !== 'factory'),
  });
}

/** Type of the in-place form of an operator function. */
export type InplaceOf<F> = F extends (self: infer S, ...rest: infer R) => unknown
  ? (self: S, ...rest: R) => Tensor
  : never;
