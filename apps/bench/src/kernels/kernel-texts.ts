/**
 * @file The text of every kernel that a program compiles, for each target: WebAssembly text as it runs here, and
 * WGSL for two kinds of card, generated without one.
 *
 * Graphs are captured on the CPU; those for WGSL are lowered again, with a GPU's capabilities.
 */
import {
  BASELINE_TARGET,
  type WgslTarget,
  generateKernel,
  wgslCapabilities,
} from '@tessera/inductor-wgsl';
import { compileGraph } from '@tessera/inductor-core';
import { isTesseraError } from '@tessera/shared';
import { type CompiledCode, runAndGetCode } from '@tessera/testkit';
import type { KernelSubject } from './subjects.js';

/** Texts by path: `<subject>/<graph>/<target>/<kernel>.<wat|wgsl>`, in order of compilation. */
export type KernelTexts = Map<string, string>;

/** What WGSL is generated for: the limits that all devices have, and a discrete card. */
export const WGSL_PROFILES: Readonly<Record<string, WgslTarget>> = {
  'wgsl-baseline': BASELINE_TARGET,
  'wgsl-card': {
    ...BASELINE_TARGET,
    f16: true,
    subgroups: { min: 32, max: 32 },
    maxStorageBuffers: 16,
    maxWorkgroupThreads: 1024,
    maxWorkgroupBytes: 32768,
    parallelism: 1024,
  },
};

function addWgsl(texts: KernelTexts, place: string, { graph }: CompiledCode): void {
  for (const [profile, target] of Object.entries(WGSL_PROFILES)) {
    try {
      const backend = { device: 'wgpu' as const, capabilities: wgslCapabilities(target) };
      for (const kernel of compileGraph(graph, { backend }).kernels) {
        const { text, workgroups } = generateKernel(kernel, target);
        const path = `${place}/${profile}/${kernel.name}.wgsl`;
        const grid = 'count' in workgroups ? String(workgroups.count) : workgroups.join(' × ');
        texts.set(path, `// workgroups: ${grid}\n${text}`);
      }
    } catch (error) {
      // A graph that WebGPU cannot have (float64, reference kernels): that it cannot is recorded.
      if (!isTesseraError(error)) throw error;
      texts.set(`${place}/${profile}/refused.txt`, `${error.code}\n`);
    }
  }
}

/** Kernels of everything that a subject compiles. */
export async function kernelTexts({ name, run }: KernelSubject): Promise<KernelTexts> {
  const texts: KernelTexts = new Map();
  const { compiled } = await runAndGetCode(run);
  for (const [i, made] of compiled.entries()) {
    const place = `${name}/${i}`;
    made.plan.kernels.forEach((kernel, k) => {
      if (kernel.kind !== 'extern') texts.set(`${place}/cpu/${kernel.name}.wat`, made.code[k]!);
    });
    addWgsl(texts, place, made);
  }
  return texts;
}
