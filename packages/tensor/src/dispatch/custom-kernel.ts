/**
 * @file Kernels that programs give operators, as the dispatcher calls them.
 */
import { gradMode } from '../autograd/grad-mode.js';
import type { DeviceKernel, OpOverload } from '../op/op-overload.js';
import type { TensorMeta } from '../op/op-record.js';
import { fakeFromMeta, isTensor, withFakeTensors } from '../tensor-factory.js';
import { writtenBy } from './kernels.js';

/** Gives an operator a kernel for a device, which comes before any other; `meta` is the rule for FakeTensors. */
export function addKernel(op: OpOverload, device: string, kernel: DeviceKernel): void {
  const below = belowAutograd(op, kernel);
  op.deviceKernels.set(device, below);
  op.isCustom = true;
  if (device !== 'meta' || op.record.meta !== undefined) return;
  const meta = (args: Readonly<Record<string, unknown>>): readonly TensorMeta[] =>
    metasOf(
      below,
      op.schema.args.map(({ name }) => args[name]),
    );
  op.record = { ...op.record, meta };
}

/** A kernel is below autograd: the operators it is written in record nothing. */
function belowAutograd(op: OpOverload, kernel: DeviceKernel): DeviceKernel {
  return (...args) => {
    const saved = gradMode.enabled;
    gradMode.enabled = false;
    try {
      const written = op.isMutable ? writtenBy(op, args) : [];
      for (const tensor of written) tensor.storage.keepContents();
      const result = kernel(...args);
      for (const tensor of written) tensor.storage.version++;
      return result;
    } finally {
      gradMode.enabled = saved;
    }
  };
}

/** What a `meta` kernel, which works on FakeTensors, gives. */
function metasOf(kernel: DeviceKernel, args: readonly unknown[]): readonly TensorMeta[] {
  const fake = (arg: unknown): unknown =>
    isTensor(arg)
      ? arg.isFake
        ? arg
        : fakeFromMeta(arg)
      : Array.isArray(arg)
        ? arg.map(fake)
        : arg;
  const result = withFakeTensors(() => kernel(...args.map(fake)));
  return [result ?? []]
    .flat()
    .filter(isTensor)
    .map(({ sizes, strides, dtype, device }) => ({ sizes, strides, dtype, device }));
}
