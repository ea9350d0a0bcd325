/**
 * @file The error for memory that is not on the device that should use it: freed, gone with its device, or of
 * another one.
 */
import { TesseraError } from '@tessera/shared';
import type { DeviceMemory } from '@tessera/tensor';
import { describeStorage, storageOn } from '@tessera/tensor/internal';
import type { BufferPool } from '../memory/buffer-pool.js';
import { WgpuMemory } from '../memory/wgpu-memory.js';

/** Says which tensor cannot be used by the device of `pool`, and why. */
export function notHere(memory: DeviceMemory, pool: BufferPool): TesseraError {
  const storage = storageOn(memory);
  const tensor = storage === null ? 'this tensor' : `the tensor ${describeStorage(storage)}`;
  if (!(memory instanceof WgpuMemory) || memory.freed || memory.pool === pool) {
    return new TesseraError('use-after-dispose', `The memory of ${tensor} was already freed.`, {
      hints: ['Dispose a tensor only after its last use.'],
    });
  }
  if (memory.pool.context.isLost) {
    return new TesseraError(
      'device-lost',
      `What was in ${tensor} is gone: it was made on a GPU device that was lost or disposed of since.`,
      {
        context: { tensor },
        hints: [
          'Make it again on the present device; for a model, loadStateDict(checkpoint, { assign: true }).',
        ],
      },
    );
  }
  return new TesseraError(
    'use-after-dispose',
    `The memory of ${tensor} belongs to a GPU device that initWebGpu() has replaced.`,
    { hints: ['Tensors made before the last initWebGpu() belong to the device of that time.'] },
  );
}
