/**
 * @file The error for exhausted memory: what was asked, what is there, who holds it.
 */
import { TesseraError } from '@tessera/shared';
import type { HeapStats } from './cpu-heap.js';
import { type MemoryReport, heapHooks } from './heap-hooks.js';

/** The lines of an error that say who holds memory, beginning with a line break where there are any. */
export function describeHolders({ largest, waiting }: MemoryReport): string {
  const holders =
    largest.length === 0
      ? ''
      : `\nLargest live tensors:\n${largest.map((line) => `  ${line}`).join('\n')}`;
  const garbage =
    waiting === null
      ? ''
      : `\nUp to ${formatBytes(waiting.bytes)} of them, in ${waiting.tensors} tensors, may be garbage that waits for the engine's collector, which cannot be run now.`;
  return holders + garbage;
}

/** What to do about exhausted memory. */
export function memoryHints({ waiting }: MemoryReport): string[] {
  return [
    ...(waiting === null
      ? []
      : [
          'Yield to the collector (await a timer between steps), or release what a step makes with tidy().',
        ]),
    'Free tensors with dispose(), `using` or tidy(), or work on smaller batches.',
  ];
}

/** Builds the error; `limit` is the limit in words. */
export function outOfMemory(bytes: number, limit: string, stats: HeapStats): TesseraError {
  const report = heapHooks.report();
  const held = `${formatBytes(stats.liveBytes)} are live in ${stats.liveBlocks} blocks`;
  return new TesseraError(
    'out-of-memory',
    `CPU heap: cannot allocate ${formatBytes(bytes)}; ${held}, with ${limit}.${describeHolders(report)}`,
    {
      context: {
        requestedBytes: bytes,
        ...stats,
        waitingBytes: report.waiting?.bytes ?? 0,
      },
      hints: memoryHints(report),
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
