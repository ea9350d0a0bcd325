/**
 * @file Structural keys of eager op calls: equal keys may share compiled code.
 *
 * The key spells out everything that generated code depends on, so equality of strings is equality of
 * structure; nothing is hashed away.
 */
import { type OpOverload, type Tensor, isTensor } from '@tessera/tensor';
import { isRuntimeScalar, liftedKind } from './single-op-graph.js';

function tensorKey(tensor: Tensor): string {
  return `${tensor.dtype}[${tensor.sizes.join()}|${tensor.strides.join()}]`;
}

/** The key of a call; with `lift`, numbers that are runtime scalars are left out. Tensors that occur twice are told apart from equal ones. */
export function opKey(
  op: OpOverload,
  args: readonly unknown[],
  outs: readonly Tensor[],
  lift: boolean,
): string {
  const seen: Tensor[] = [];
  const visit = (arg: unknown): string => {
    if (isTensor(arg)) {
      const at = seen.indexOf(arg);
      if (at >= 0) return `=${at}`;
      seen.push(arg);
      return tensorKey(arg);
    }
    if (Array.isArray(arg)) return `(${arg.map(visit).join(';')})`;
    if (typeof arg === 'string') return JSON.stringify(arg);
    return Object.is(arg, -0) ? '-0' : String(arg);
  };
  let key = '';
  for (let i = 0; i < args.length; i++) {
    const arg = args[i];
    key += lift && isRuntimeScalar(op, i, arg) ? `${liftedKind(arg, args)};` : `${visit(arg)};`;
  }
  for (const out of outs) key += `>${visit(out)}`;
  return key;
}
