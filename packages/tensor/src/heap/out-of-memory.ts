/**
 * @file The error for an exhausted CPU heap: what was asked, what is there, who holds it.
 */
import { TesseraError } from '@tessera/shared';
import type { HeapStats } from './cpu-heap.js';
import { heapHooks } from './heap-hooks.js';

/** Builds the error; `limit` is the limit in words. */
export function outOfMemory(bytes: number, limit: string, stats: HeapStats): TesseraError {
  const { largest: tensors, waiting } = heapHooks.report();
  const held = `${formatBytes(stats.liveBytes)} are live in ${stats.liveBlocks} blocks`;
  const largest =
    tensors.length === 0
      ? ''
      : `\nLargest live tensors:\n${tensors.map((line) => `  ${line}`).join('\n')}`;
  const garbage =
    waiting === null
      ? ''
      : `\nUp to ${formatBytes(waiting.bytes)} of them, in ${waiting.tensors} tensors, may be garbage that waits for the engine's collector, which cannot be run now.`;
  return new TesseraError(
    'out-of-memory',
    `CPU heap: cannot allocate ${formatBytes(bytes)}; ${held}, with ${limit}.${largest}${garbage}`,
    {
      context: { requestedBytes: bytes, ...stats, waitingBytes: waiting?.bytes ?? 0 },
      hints: [
        ...(waiting === null
          ? []
          : [
              'Yield to the collector (await a timer between steps), or release what a step makes with tidy().',
            ]),
        'Free tensors you no longer need with dispose(), `using` or tidy(), or work on smaller batches.',
      ],
    },
  );
}

/** `1.5 GiB`, `320 B`. */
export function formatBytes(bytes: number): string {
  const names = ['B', 'KiB', 'MiB', 'GiB'];
  let value = bytes;
  let name = 0;
  while (value >= 1024 && name < names.length - 1) {
    value /= 1024;
    name++;
  }
  return `${name === 0 ? value : value.toFixed(1)} ${names[name]}`;
}
