/**
 * @file What the CPU heap asks of the layers above it, without importing them.
 */

/** Replaceable parts; see the setters. */
export const heapHooks: { pressure(urgent: boolean): void; report(): readonly string[] } = {
  pressure: () => {},
  report: () => [],
};

/**
 * Sets what runs before the memory grows, and again (`urgent`) before an allocation fails.
 * It frees what it can through `CpuHeap.free`; when urgent it should collect garbage whatever that costs.
 */
export function setPressureHook(fn: (urgent: boolean) => void): void {
  heapHooks.pressure = fn;
}

/** Sets how an out-of-memory error describes the largest live tensors: one line each, largest first. */
export function setOutOfMemoryReport(fn: () => readonly string[]): void {
  heapHooks.report = fn;
}
