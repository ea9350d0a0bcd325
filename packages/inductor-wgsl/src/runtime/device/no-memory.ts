/**
 * @file The errors for device memory that is not to be had: who asked for how much, and who holds the rest.
 */
import { TesseraError } from '@tessera/shared';
import {
  describeHolders,
  describeStorage,
  formatBytes,
  memoryHints,
  type memoryReport,
  storageOn,
} from '@tessera/tensor/internal';
import type { WgpuMemory } from '../memory/wgpu-memory.js';

type Holders = ReturnType<typeof memoryReport>;

/** More than one buffer may hold. */
export function tooLarge(bytes: number, limit: number): TesseraError {
  return new TesseraError(
    'out-of-memory',
    `${bytes} bytes are more than one WebGPU buffer of this adapter may hold (${limit}).`,
    { context: { bytes, limit }, hints: ['Split the tensor, or keep it on device cpu.'] },
  );
}

/** More than the budget leaves. */
export function overBudget(
  bytes: number,
  { inUse, budget }: { readonly inUse: number; readonly budget: number },
  holders: Holders,
): TesseraError {
  return new TesseraError(
    'out-of-memory',
    `The memory budget of device 'wgpu' is exhausted: ${bytes} more bytes were asked for, ${inUse} of ${budget} are in use.${describeHolders(holders)}`,
    {
      context: { bytes, inUse, budget },
      hints: [...memoryHints(holders), 'Or raise the budget: initWebGpu({ memoryBudget }).'],
    },
  );
}

/** What the device itself refused. */
export function noMemory(memory: WgpuMemory, error: GPUError, holders: Holders): TesseraError {
  const storage = storageOn(memory);
  const asked = storage === null ? 'scratch memory' : `the tensor ${describeStorage(storage)}`;
  return new TesseraError(
    'out-of-memory',
    `The GPU ran out of memory in an allocation of ${formatBytes(memory.bytes)} for ${asked}: ${error.message}${describeHolders(holders)}`,
    {
      context: { bytes: memory.bytes, largest: holders.largest },
      hints: memoryHints(holders),
      cause: error,
    },
  );
}
