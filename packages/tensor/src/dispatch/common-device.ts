/**
 * @file One device per call: small operands on `cpu` follow the others to their device.
 *
 * Nothing large is moved silently. As in PyTorch, a `cpu` tensor without dimensions may be combined with
 * tensors of another device, indices may lie on `cpu`, and `copy_` copies between devices. Each such operand
 * is copied by an `aten::_to_copy` of its own, above autograd: gradients find their way back, and below
 * this step the only operator with two devices is `_to_copy`. Part of the dispatcher once a device is registered.
 */
import { isFloatingPoint } from '../dtype.js';
import { type OpOverload, getOp } from '../op/op-overload.js';
import { isTensor } from '../tensor-factory.js';
import type { Tensor } from '../tensor.js';
import type { DeviceType } from '../device.js';
import { unreadable } from './unreadable-now.js';

type Dispatch = (op: OpOverload, args: readonly unknown[]) => unknown;

/** Operators whose indices (and the value that they put, if it has no dimensions) may lie on `cpu`. */
const INDEXING: ReadonlySet<string> = new Set([
  'aten::index.Tensor',
  'aten::index_put',
  'aten::index_put_',
]);

/**
 * The arguments on one device, where that is allowed; unchanged otherwise, for the checks that follow.
 *
 * @throws data-async-only for a copy_ from a device that can only be read asynchronously
 */
export function onOneDevice(
  op: OpOverload,
  args: readonly unknown[],
  dispatch: Dispatch,
): readonly unknown[] {
  if (!isMixed(op, args)) return args;
  const name = op.qualifiedName;
  const self = args[0];
  if (name === 'aten::copy' || name === 'aten::copy_') {
    const { device } = self as Tensor;
    const source = args[1] as Tensor;
    if (source.device !== 'cpu') throw unreadable(source.device, device);
    return [self, move(source, device, null, dispatch), ...args.slice(2)];
  }
  const target = targetOf(op, args);
  if (target === null) return args;
  const follow = (arg: unknown): unknown =>
    isTensor(arg) && isScalar(arg) ? move(arg, target.device, dtypeAt(arg, target), dispatch) : arg;
  if (op.hasTag('pointwise'))
    return args.map((arg, i) => (i === 0 && op.isMutable ? arg : follow(arg)));
  if (!INDEXING.has(name)) return args;
  const indices = (args[1] as readonly unknown[]).map((index) =>
    isTensor(index) && index.device === 'cpu' ? move(index, target.device, null, dispatch) : index,
  );
  return [self, indices, ...args.slice(2).map(follow)];
}

function isMixed(op: OpOverload, args: readonly unknown[]): boolean {
  let device: string | null = null;
  for (const i of op.tensorArgs) {
    const arg = args[i];
    if (isTensor(arg)) {
      if (device === null) ({ device } = arg);
      else if (arg.device !== device) return true;
    } else if (Array.isArray(arg)) {
      for (const item of arg) {
        if (!isTensor(item)) continue;
        if (device === null) ({ device } = item);
        else if (item.device !== device) return true;
      }
    }
  }
  return false;
}

/** The operand that the others follow; null if it would be one that is written to. */
function targetOf(op: OpOverload, args: readonly unknown[]): Tensor | null {
  const self = args[0];
  if (op.isMutable || INDEXING.has(op.qualifiedName))
    return isTensor(self) && self.device !== 'cpu' ? self : null;
  for (const i of op.tensorArgs) {
    const arg = args[i];
    if (isTensor(arg) && !isScalar(arg)) return arg;
  }
  return null;
}

function isScalar(tensor: Tensor): boolean {
  return tensor.device === 'cpu' && tensor.ndim === 0;
}

/** A number in double precision counts in the precision of the tensor it meets, which its device may not exceed. */
function dtypeAt(scalar: Tensor, target: Tensor): string | null {
  const narrows = target.ndim > 0 && isFloatingPoint(target.dtype) && target.dtype !== 'float64';
  return scalar.dtype === 'float64' && narrows ? 'float32' : null;
}

function move(
  tensor: Tensor,
  device: DeviceType,
  dtype: string | null,
  dispatch: Dispatch,
): Tensor {
  const args = [tensor, dtype, null, device, null, false, null];
  return dispatch(getOp('aten::_to_copy'), args) as Tensor;
}
