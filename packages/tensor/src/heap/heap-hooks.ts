/**
 * @file What the CPU heap asks of the layers above it, without importing them.
 */

/** Who holds memory, for an out-of-memory error. */
export interface MemoryReport {
  /** One line for tensors of one type and shape, those that hold most first. */
  readonly largest: readonly string[];
  /** What may be garbage that the engine has not collected yet, as it could not be made to; null if nothing can be. */
  readonly waiting: { readonly bytes: number; readonly tensors: number } | null;
}

/** Replaceable parts; see the setters. */
export const heapHooks: { pressure(urgent: boolean): void; report(): MemoryReport } = {
  pressure: () => {},
  report: () => ({ largest: [], waiting: null }),
};

/**
 * Sets what runs before the memory grows, and again (`urgent`) before an allocation fails.
 * It frees what it can through `CpuHeap.free`; when urgent it should collect garbage whatever that costs.
 */
export function setPressureHook(fn: (urgent: boolean) => void): void {
  heapHooks.pressure = fn;
}

/** Sets what an out-of-memory error says of the tensors that are there. */
export function setOutOfMemoryReport(fn: () => MemoryReport): void {
  heapHooks.report = fn;
}
