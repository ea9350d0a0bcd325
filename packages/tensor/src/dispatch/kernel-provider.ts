/**
 * @file Kernel providers: how a device package supplies eager kernels.
 */
import type { OpOverload } from '../op/op-overload.js';
import type { Tensor } from '../tensor.js';

/** Runs primitive ops on a device. */
export interface KernelProvider {
  /**
   * Computes `op(args)` into `outs` (allocated from the meta rule; for an in-place op `op` is the
   * functional one and `outs[0]` is `self`). Returns false if it has no kernel for the op.
   */
  run(op: OpOverload, args: readonly unknown[], outs: readonly Tensor[]): boolean;
  /** Computes `op(args)`, whose results have sizes that depend on values; nothing if it has no kernel for the op. */
  produce?(op: OpOverload, args: readonly unknown[]): Tensor | Tensor[] | null | undefined;
}

const providers = new Map<string, KernelProvider>();

/** Registers (null: removes) the provider of a device; on `cpu` it comes before the reference kernels. */
export function registerKernelProvider(device: string, provider: KernelProvider | null): void {
  if (provider === null) providers.delete(device);
  else providers.set(device, provider);
}

/** The provider of a device, if any. */
export function kernelProvider(device: string): KernelProvider | undefined {
  return providers.get(device);
}
