/**
 * @file Functional forms of operators that write to their arguments, for graphs in which nothing writes.
 *
 * `tessera::functional_<namespace>_<name>` takes the arguments of the operator and writes to none of them: its results are
 * those of the operator that are new, then what its arguments would hold, in the order of the schema. It runs the
 * operator on copies. In-place forms of functional operators have no need of it.
 */
import { noGrad } from '../autograd/grad-mode.js';
import { callOp } from '../dispatch/dispatcher.js';
import { outputMetas, writtenBy } from '../dispatch/kernels.js';
import { isTensor } from '../tensor-factory.js';
import type { Tensor } from '../tensor.js';
import { checkPromise } from './check-promise.js';
import { type OpOverload, defineOp, findOp, getOp } from './op-overload.js';

/**
 * The functional form of an operator that writes, with a kernel for each device that the operator has one for now.
 *
 * @throws schema-parse for results that are no tensors
 */
export function functionalForm(op: OpOverload): OpOverload {
  const { schema } = op;
  const suffix = schema.overload === 'default' ? '' : `_${schema.overload}`;
  const name = `tessera::functional_${schema.namespace}_${schema.name}${suffix}`;
  const form = findOp(name) ?? defineForm(op, name);
  for (const device of op.deviceKernels.keys())
    if (device !== 'cpu' && device !== 'meta')
      form.deviceKernels.set(device, (...given) => noGrad(() => runOnCopies(op, given)));
  return form;
}

function defineForm(op: OpOverload, name: string): OpOverload {
  const { schema } = op;
  const { text } = schema;
  const args = text.slice(text.indexOf('(') + 1, text.lastIndexOf(')', text.lastIndexOf('->')));
  const positional = (named: Readonly<Record<string, unknown>>): unknown[] =>
    schema.args.map((arg) => named[arg.name]);
  const form = defineOp(`${name}(${args.replace(/\bTensor\(\w!?\)/g, 'Tensor')}) -> Tensor[]`, {
    tags: ['non-differentiable', ...(op.hasTag('random') ? (['random'] as const) : [])],
    meta: (named) => {
      const given = positional(named);
      const metas = schema.returns.some(isNew) ? outputMetas(op, given) : [];
      return [...metas.filter((_, i) => isNew(schema.returns[i]!)), ...writtenBy(op, given)].map(
        ({ sizes, strides, dtype, device }) => ({ sizes, strides, dtype, device }),
      );
    },
    kernel: (named, outs) => {
      const values = noGrad(() => runOnCopies(op, positional(named)));
      outs.forEach((out, i) => {
        const value = values[i]!;
        checkPromise(`The kernel of ${op.qualifiedName}`, value, out);
        callOp(getOp('aten::copy_'), [out, value, false]);
      });
    },
  });
  form.isCustom = op.isCustom;
  return form;
}

/** Results that are new, then the copies that were written to. */
function runOnCopies(op: OpOverload, args: readonly unknown[]): Tensor[] {
  const written = new Set(writtenBy(op, args));
  const copies = new Map<Tensor, Tensor>();
  const copyOf = (arg: unknown): unknown => {
    if (Array.isArray(arg)) return arg.map(copyOf);
    if (!isTensor(arg) || !written.has(arg)) return arg;
    const copy = copies.get(arg) ?? callOp(getOp('aten::clone'), [arg, null]);
    copies.set(arg, copy);
    return copy;
  };
  const own = args.map(copyOf);
  const result = callOp(op, own);
  const results = (Array.isArray(result) ? result : [result]) as Tensor[];
  return [...results.filter((_, i) => isNew(op.schema.returns[i])), ...writtenBy(op, own)];
}

const isNew = (result: { readonly alias: unknown } | undefined): boolean => result?.alias === null;
