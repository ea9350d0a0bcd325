/**
 * @file What tests of a row times packed weights have in common: the card that they are for, words of all bits, that a
 * schedule sums what the kernel does, and that code does on a device.
 */
import {
  interpretKernel,
  interpretScheduled,
  type LoopKernel,
  scheduleThreads,
  verifyKernel,
  verifyScheduled,
} from '@tessera/inductor-core';
import { describe, expect, it } from 'vitest';
import { generateKernel } from '../../src/codegen/generate.js';
import { scheduleTarget } from '../../src/codegen/target.js';
import { directVariant } from '../../src/codegen/variant.js';
import { BASELINE_TARGET, type WgslTarget } from '../../src/index.js';
import type { openGpu } from './open-gpu.js';
import { compareKernel } from './run-kernel.js';

type Data = Readonly<Record<string, number[]>>;

/** A card with subgroups of 32. */
export const CARD: WgslTarget = {
  ...BASELINE_TARGET,
  subgroups: { min: 32, max: 32 },
  maxWorkgroupThreads: 1024,
  maxWorkgroupBytes: 49152,
};

/** Words of all bits: those with the highest set are below zero. */
export function packedWords(count: number): number[] {
  return Array.from({ length: count }, (_, i) => Math.imul(i + 1, 0x9e3779b1));
}

/** How often the text of a kernel loads from a buffer. */
export function loadsOf(text: string, name: string): number {
  return text.split(`= ${name}[`).length - 1;
}

/** The schedule for the card gives what the kernel does; `data` makes its buffers, `out` among them. */
export function expectScheduled(kernel: LoopKernel, data: () => Data): void {
  const scheduled = scheduleThreads(kernel, scheduleTarget(CARD));
  verifyKernel(scheduled.kernel as LoopKernel);
  verifyScheduled(scheduled);
  const [wanted, got] = [data(), data()];
  interpretKernel(kernel, wanted);
  interpretScheduled(scheduled, { buffers: got, subgroupSize: 32 });
  for (const [i, value] of wanted['out']!.entries())
    expect(Math.abs(got['out']![i]! - value)).toBeLessThan(1e-4 * (1 + Math.abs(value)));
}

/** A kernel and its buffers. */
export interface DeviceCase {
  readonly name: string;
  readonly kernel: LoopKernel;
  readonly data: Data;
}

/** Tests that kernels give what they say on the device, with and without subgroups. */
export function describeOnDevice(
  what: string,
  gpu: Awaited<ReturnType<typeof openGpu>>,
  cases: readonly DeviceCase[],
): void {
  const own = gpu?.backend.target ?? BASELINE_TARGET;
  const targets: readonly (readonly [string, WgslTarget])[] = [
    ['without subgroups', { ...BASELINE_TARGET, f16: own.f16 }],
    ['with subgroups', { ...own, software: false }],
  ];
  describe.skipIf(gpu === null)(`${what} on the device`, () => {
    for (const [form, target] of targets)
      it.each(cases)(`${form}: $name`, async ({ kernel, data }) => {
        await compareKernel(gpu!, kernel, data, [], 40, {
          generate: (given, variant = directVariant(given.params.length)) =>
            generateKernel(given, target, variant),
        });
      });
  });
}
