import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { tesseraEager } from '../src/engines/tessera.js';
import type { LoadedEngine, Prepared } from '../src/harness/engine.js';
import { isFailure } from '../src/harness/outcome.js';
import { runWorkload } from '../src/harness/run-workload.js';
import { alternate, warmUp } from '../src/harness/sampling.js';
import { tinyCall } from '../src/workloads/tiny-call.js';

const effort = { rounds: 3, sampleMs: 1, warmUpMs: 2, warmUpRuns: 2 };
const options = { device: 'cpu', threads: 1, backend: 'eager', dawn: null, dawnFlags: [] } as const;

/** An engine that computes in JavaScript what `output` says, and may fail after some runs. */
function plainEngine(output: (x: number) => number, failsAfter = Infinity): LoadedEngine {
  return {
    versions: {},
    threads: 1,
    async prepare(_workload, { inputs }): Promise<Prepared> {
      let result = new Float32Array(0);
      let runs = 0;
      const run = (): void => {
        if (++runs > failsAfter) throw new Error('out of order');
        result = Float32Array.from(inputs[0]!.data, output);
      };
      return { first: run, run, result: async () => result, dispose: () => undefined };
    },
  };
}

describe('runWorkload', () => {
  it('measures engines that agree and refuses to time one that is wrong', async () => {
    const eager = await tesseraEager.load(options);
    if ('unsupported' in eager) throw new Error(eager.unsupported);
    const { outcomes } = await runWorkload(
      tinyCall,
      [
        { name: 'tessera-eager', engine: eager },
        { name: 'plain', engine: plainEngine((x) => 2 * x + 1) },
        { name: 'wrong', engine: plainEngine((x) => 2 * x + 1.1) },
        { name: 'broken', engine: plainEngine((x) => 2 * x + 1, 3) },
        {
          name: 'absent',
          engine: {
            ...plainEngine((x) => x),
            prepare: async () => ({ unsupported: 'no such op' }),
          },
        },
      ],
      { device: 'cpu', quick: true, effort },
      () => undefined,
    );
    expect(outcomes.map(({ engine, status }) => `${engine} ${status}`)).toEqual([
      'tessera-eager ok',
      'plain ok',
      'wrong wrong',
      'broken failed',
      'absent unsupported',
    ]);
    expect(outcomes.map(isFailure)).toEqual([false, false, true, true, false]);
    const [first, second, wrong, broken] = outcomes;
    expect(first).toMatchObject({ ratio: null, time: { samples: 3 } });
    expect(second).toMatchObject({ ratio: { samples: 3 } });
    expect(wrong).toMatchObject({ reason: expect.stringContaining('the reference has') });
    expect(broken).toMatchObject({ reason: 'out of order' });
  });

  it('compares recorded figures with what was measured here', async () => {
    const recorded: LoadedEngine = {
      versions: {},
      threads: 1,
      hardware: 'elsewhere',
      prepare: async () => ({ recorded: [{ label: 'old', medianUs: 1e6, firstCallMs: 5 }] }),
    };
    const { outcomes } = await runWorkload(
      tinyCall,
      [
        { name: 'plain', engine: plainEngine((x) => 2 * x + 1) },
        { name: 'recorded', engine: recorded },
      ],
      { device: 'cpu', quick: true, effort },
      () => undefined,
    );
    const [plain, old] = outcomes;
    if (plain?.status !== 'ok' || old?.status !== 'recorded') throw new Error('unexpected outcome');
    expect(old.ratio).toBeCloseTo(1e6 / plain.time.median);
    expect(old.hardware).toBe('elsewhere');
  });
});

/** A clock of the test's own: machines are noisy. */
let clock = 0;

/** A program whose runs take `ms` milliseconds of that clock. */
function busy(ms: number): Prepared {
  const run = (): void => void (clock += ms);
  return { first: run, run, result: async () => new Float32Array(0), dispose: () => undefined };
}

describe('sampling', () => {
  beforeEach(() => void vi.spyOn(performance, 'now').mockImplementation(() => clock));
  afterEach(() => void vi.restoreAllMocks());

  it('puts as many runs into a sample as its least time needs', async () => {
    const settings = { rounds: 1, sampleMs: 4, warmUpMs: 0, warmUpRuns: 1 };
    const count = await warmUp(busy(0.2), settings);
    expect(count).toBeGreaterThanOrEqual(20);
    expect(count).toBeLessThanOrEqual(30);
    expect(await warmUp(busy(5), settings)).toBe(1);
  });

  it('gives µs a run', async () => {
    const [samples] = await alternate([{ program: busy(1), count: 2 }], effort, () => undefined);
    expect(samples).toHaveLength(3);
    for (const us of samples!) expect(us).toBeCloseTo(1000);
  });
});
