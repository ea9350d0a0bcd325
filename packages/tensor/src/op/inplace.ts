/**
 * @file In-place overloads, derived from functional ones.
 */
import { gradMode } from '../autograd/grad-mode.js';
import { requiresGrad } from '../autograd/history.js';
import { callOp } from '../dispatch/dispatcher.js';
import { checkInPlace } from '../dispatch/check-in-place.js';
import { modes } from '../dispatch/modes.js';
import type { Tensor } from '../tensor.js';
import { type OpOverload, defineOp, getOp } from './op-overload.js';
import type { NamedArgs, OpRecord } from './op-record.js';

type InplaceSchema = `${string}(${string}) -> Tensor(a!)`;

/** The schema of the in-place form: the same arguments, `Tensor(a!) self`. */
function inplaceSchema(functional: OpOverload, overload: string): InplaceSchema {
  const { namespace, name, text } = functional.schema;
  const suffix = overload === 'default' ? '' : `.${overload}`;
  const args = text.slice(text.indexOf('(') + 1, text.lastIndexOf(')', text.lastIndexOf('->')));
  const written = args.replace(/^Tensor(\(a\))? /, 'Tensor(a!) ');
  return `${namespace}::${name}_${suffix}(${written}) -> Tensor(a!)`;
}

/**
 * Registers `name_` for a view: it gives `self` the view's sizes and strides, and its place in the backward
 * graph. The memory stays.
 */
export function defineLayoutInplace(
  view: OpOverload,
  overload: string = view.schema.overload,
): OpOverload<Tensor> {
  return defineOp(inplaceSchema(view, overload), { layoutOf: view.qualifiedName });
}

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
): OpOverload<Tensor> {
  const schema = inplaceSchema(functional, overload);
  const { decompose } = functional.record;
  if (decompose !== undefined)
    return defineOp(schema, {
      decompose: (args) => composedInto(functional, decompose, args),
      resizes: functional.record.resizes,
    });
  return defineOp(schema, {
    inplaceOf: functional.qualifiedName,
    tags: functional.record.tags?.filter(
      (tag) =>
        tag !== 'factory' &&
        // A comparison has no gradient, but the floats that one overwrites have.
        (tag !== 'non-differentiable' || functional.record.vjp === undefined),
    ),
  });
}

/** A composite op computed and copied into `self`, whose old value its gradient may still need. */
function composedInto(
  functional: OpOverload,
  decompose: NonNullable<OpRecord['decompose']>,
  args: NamedArgs,
): Tensor {
  const self: Tensor = args.self;
  const kept = gradMode.enabled && requiresGrad(self);
  const before = kept ? callOp(getOp('aten::clone'), [self, null]) : self;
  const value = decompose({ ...args, self: before }) as Tensor;
  if (!kept && functional.record.resizes?.(args) === true && adopt(self, value)) return self;
  checkInPlace(functional, self, value);
  return callOp(getOp('aten::copy_'), [self, value, false]);
}

/** Makes `self` the tensor that `value` is; not while a tracer listens, which would miss it. */
function adopt(self: Tensor, value: Tensor): boolean {
  if (modes.pre !== null || modes.stack.length > 0) return false;
  self.setStorage(value.storage, value.storageOffset);
  self.sizes = value.sizes;
  self.strides = value.strides;
  self.guardSpec = null;
  self.storage.version++;
  return true;
}

/** Type of the in-place form of an operator function. */
export type InplaceOf<F> = F extends (self: infer S, ...rest: infer R) => unknown
  ? (self: S, ...rest: R) => Tensor
  : never;
