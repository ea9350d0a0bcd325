import { describe, expect, it } from 'vitest';
import { tesseraEager } from '../src/engines/tessera.js';
import { FIRST_CALL_PROCESS, timeFirstCalls } from '../src/harness/first-call.js';
import { checkResult, startProgram } from '../src/harness/start-program.js';
import { mlpStep } from '../src/workloads/mlp-reference.js';
import { WORKLOADS } from '../src/workloads/index.js';

const options = {
  device: 'cpu',
  threads: 1,
  backend: 'eager',
  dawn: null,
  dawnFlags: [],
} as const;

describe('workloads', () => {
  it('have names of their own', () => {
    const names = WORKLOADS.map(({ name }) => name);
    expect(new Set(names).size).toBe(names.length);
    expect(names).not.toContain(FIRST_CALL_PROCESS);
  });

  it.each(
    WORKLOADS.filter(({ devices }) => devices.includes('cpu')).map((w) => [w.name, w] as const),
  )('%s: eager Tessera gives what the reference gives', async (_name, workload) => {
    const engine = await tesseraEager.load(options);
    if ('unsupported' in engine) throw new Error(engine.unsupported);
    const instance = workload.make({ device: 'cpu', quick: true, variant: 1 });
    const started = await startProgram(engine, workload, instance, true);
    if (!('program' in started)) throw new Error('it does not run');
    const { wrong, whole } = await checkResult(started.program, instance, 'cpu');
    expect(wrong).toBeNull();
    expect(whole).toHaveLength(instance.resultSize);
    await started.program.dispose();
  });

  it('time first calls of fresh functions of other shapes', async () => {
    const answer = await timeFirstCalls({
      workload: 'first_call_tiny',
      engine: 'tessera',
      options,
      quick: true,
    });
    if ('status' in answer) throw new Error(answer.reason);
    expect(answer.coldMs).toBeGreaterThan(0);
    expect(answer.warmMs).toHaveLength(4);
  });
});

describe('the reference of mlp_train_step', () => {
  const setting = { widths: [3, 4, 2], batch: 5, learningRate: 1 };
  const wave = (count: number, phase: number): Float64Array =>
    Float64Array.from({ length: count }, (_, i) => Math.sin(7 * i + phase));
  const parameters = (): Float64Array[] => [wave(12, 1), wave(4, 2), wave(8, 3), wave(2, 4)];
  const images = wave(15, 5);
  const labels = [0, 1, 1, 0, 1];

  it('moves every parameter by its numerical gradient', () => {
    const before = parameters();
    const after = parameters();
    mlpStep(setting, after, images, labels);
    const h = 1e-6;
    before.forEach((array, p) => {
      array.forEach((_, i) => {
        const lossAt = (delta: number): number => {
          const shifted = parameters();
          shifted[p]![i]! += delta;
          return mlpStep(setting, shifted, images, labels);
        };
        const gradient = (lossAt(h) - lossAt(-h)) / (2 * h);
        expect(before[p]![i]! - after[p]![i]!).toBeCloseTo(gradient, 7);
      });
    });
  });
});
