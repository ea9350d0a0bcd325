/**
 * @file The backends that come with Tessera pass the suite that other backends run on themselves, and the suite
 * finds what is wrong.
 */
import { kernelBackend } from '@tessera/compile';
import type { Executable, KernelBackend } from '@tessera/inductor-core';
import { describe, expect, it } from 'vitest';
import { RecordingBackend, runBackendConformance, testBackendConformance } from '../src/index.js';

testBackendConformance(it, kernelBackend('cpu'));
testBackendConformance(it, 'aot_eager');

describe('the suite', () => {
  it('passes the reference interpreter, leaving out the element types it does not have', async () => {
    const { backend, passed, failed, notApplicable } = await runBackendConformance(
      new RecordingBackend(),
      { only: 'dtypes' },
    );
    expect(backend).toBe('recording');
    expect(failed).toEqual([]);
    expect(passed).toContain('dtypes: arithmetic in int8, and conversions');
    expect(notApplicable.map(({ missing }) => missing)).toEqual([['float16'], ['bfloat16']]);
  });

  it('reports a backend that computes something else, by case, and restores the device', async () => {
    const cpu = kernelBackend('cpu');
    const wrong: KernelBackend = {
      ...cpu,
      name: 'wrong',
      generate: (kernel) => ({ ...cpu.generate(kernel), kernel: 'another' }),
      load(plan): Executable {
        const right = cpu.load(plan);
        return {
          plan,
          sources: right.sources,
          run(inputs, outputs, scalars) {
            right.run(inputs, outputs, scalars);
            const [first] = outputs;
            if (first?.dtype === 'float32' && first.numel > 0)
              cpu.load(plan).run(inputs, outputs.toReversed(), scalars);
          },
          dispose: () => right.dispose(),
        };
      },
    };
    const { failed } = await runBackendConformance(wrong, { only: 'outputs: several' });
    expect(failed).toHaveLength(1);
    expect(failed[0]!.error).toMatch(/call 0, result \d/);
    const contract = await runBackendConformance(wrong, { only: 'contract: generated' });
    expect(contract.failed[0]!.error).toContain("its source says 'another'");
    expect(kernelBackend('cpu')).toBe(cpu);
  });
});
