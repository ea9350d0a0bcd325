/**
 * @file Copying forms of views (`permute_copy`), derived from the views.
 */
import { callOp } from '../dispatch/dispatcher.js';
import type { MemoryFormat } from '../memory-format.js';
import type { Tensor } from '../tensor.js';
import { getOp, type OpOverload, defineOp } from './op-overload.js';
import type { NamedArgs } from './op-record.js';

/** A row-major copy; by name, so that this file needs no operator family. */
function copied(tensor: Tensor): Tensor {
  const format: MemoryFormat = 'contiguous';
  return callOp(getOp('aten::clone'), [tensor, format]);
}

/**
 * Registers `name_copy` for a view: the same arguments without alias annotations, and row-major copies of
 * what the view returns.
 *
 * @param decompose what is copied, where it is not the view itself
 */
export function defineViewCopy<Result>(
  view: OpOverload<Result>,
  decompose: (args: NamedArgs) => Result = (args) =>
    callOp(
      view,
      view.schema.args.map(({ name }): unknown => args[name]),
    ),
): OpOverload<Result> {
  const { name, text } = view.schema;
  const copy = text.replace(`::${name}`, `::${name}_copy`).replaceAll(/\(a(?: -> \*)?\)/g, '');
  return defineOp(copy, {
    decompose: (args) => {
      const parts = decompose(args) as Tensor | Tensor[];
      return Array.isArray(parts) ? parts.map(copied) : copied(parts);
    },
  }) as OpOverload<Result>;
}
