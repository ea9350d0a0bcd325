/**
 * @file A schedule in the interpreter, beside the kernel that it was made from.
 */
import {
  type BufferData,
  type GeneratedKernel,
  interpretKernel,
  interpretScheduled,
  type ScheduledKernel,
  verifyScheduled,
} from '@tessera/inductor-core';
import type { Size } from '@tessera/shared';
import { expect } from 'vitest';

/** Verifies a schedule, and compares what it and its kernel write. */
export function expectAsInterpreted(
  kernel: GeneratedKernel,
  scheduled: ScheduledKernel,
  counts: Readonly<Record<string, Size>>,
  fill: (name: string, i: number) => number = (name, i) => Math.sin(i * 0.7 + name.length),
): void {
  verifyScheduled(scheduled);
  const [wanted, got] = [0, 1].map(() =>
    Object.fromEntries(
      kernel.params.map(({ name }): [string, BufferData] => [
        name,
        Array.from({ length: Number(counts[name]) }, (_, i) => fill(name, i)),
      ]),
    ),
  );
  interpretKernel(kernel, wanted!);
  interpretScheduled(scheduled, { buffers: got! });
  for (const { name } of kernel.params.filter(({ access }) => access !== 'read'))
    Array.from(wanted![name]!, Number).forEach((value, i) => {
      const found = Number(got![name]![i]);
      if (!Object.is(found, value)) expect(found, `${name}[${i}]`).toBeCloseTo(value, 4);
    });
}
