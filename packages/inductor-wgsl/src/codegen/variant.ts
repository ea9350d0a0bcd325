/**
 * @file `KernelVariant`: how the buffers of one launch lie in memory, as far as code must know.
 *
 * Ordinarily each parameter has its own binding that begins at its element 0. WebGPU wants binding
 * offsets that are multiples of 256 bytes and forbids a written range to be bound twice, so a view at
 * another offset, or two views of one buffer of which one is written, need a variant of the kernel:
 * element offsets come as uniforms, and parameters of one buffer share a binding.
 */

/** See the file header. */
export interface KernelVariant {
  /** Whether element offsets are added; then nothing is known about alignment and access is scalar. */
  readonly offsets: boolean;
  /** Binding of each parameter; parameters with the same number share one. */
  readonly slots: readonly number[];
}

/** Every parameter alone in a binding of its own. */
export function directVariant(parameters: number): KernelVariant {
  return { offsets: false, slots: Array.from({ length: parameters }, (_, i) => i) };
}

/** Text that is equal for equal variants. */
export function variantKey(variant: KernelVariant): string {
  return `${variant.offsets ? 'offsets' : 'direct'}:${variant.slots.join(',')}`;
}
