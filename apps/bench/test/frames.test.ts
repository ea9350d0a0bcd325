/**
 * @file The bench of frames: what samples of the stack say of a block, and one small model in a page.
 */
import { env } from 'node:process';
import { describe, expect, it } from 'vitest';
import { findChromium } from '../../../tooling/find-chromium.mjs';
import { framesReport } from '../src/frames/frames-bench.js';
import { type CpuProfile, explainBlocks } from '../src/frames/profile-blocks.js';

describe('explainBlocks', () => {
  const node = (id: number, functionName: string, children: number[] = []) => ({
    id,
    callFrame: { functionName },
    children,
  });
  const profile: CpuProfile = {
    nodes: [
      node(1, '(root)', [2, 5, 6]),
      node(2, 'call', [3, 4]),
      node(3, 'trace'),
      node(4, 'fuse'),
      node(5, '(idle)'),
      node(6, 'watchTasks'),
    ],
    startTime: 1_000_000,
    // One sample a millisecond.
    samples: [5, 3, 3, 3, 4, 6, 4, 4, 5],
    timeDeltas: [1000, 1000, 1000, 1000, 1000, 1000, 1000, 1000, 1000],
  };
  const clock = { origin: 900, calledAt: 101 };

  it('names the calls that a block was in, with their parts of it', () => {
    const [block] = explainBlocks(profile, [{ start: 102, ms: 4 }], clock);
    expect(block).toMatchObject({ ms: 4, scriptMs: 4, atMs: 1 });
    expect(block!.calls).toEqual(['call 100%', 'trace 75%']);
  });

  it('counts what the engine and the watch itself do as no JavaScript', () => {
    const blocks = [
      { start: 105, ms: 3 },
      { start: 108, ms: 1 },
      { start: 102, ms: 3 },
    ];
    const explained = explainBlocks(profile, blocks, clock);
    expect(explained.map(({ atMs, scriptMs }) => [atMs, scriptMs])).toEqual([
      [1, 3],
      [4, 2],
      [7, 1],
    ]);
  });
});

const hasBrowser = findChromium() !== null;
if (!hasBrowser && env.TESSERA_REQUIRE_WEBGPU === '1')
  throw new Error('no chromium: set CHROMIUM_PATH');

describe.skipIf(!hasBrowser)('pnpm bench frames', () => {
  it('measures a plain first call and warmup side by side', async () => {
    const args = ['--quick', '--device', 'cpu', '--use', 'forward'];
    const { rows, layers } = await framesReport(args);
    expect(layers).toBe(1);
    expect(rows.map(({ device, use }) => `${device} ${use}`)).toEqual(['cpu forward']);
    const [{ plain, warmup, secondMs }] = rows as [(typeof rows)[number]];
    expect(plain.longestBlockMs).toBeGreaterThan(plain.totalMs / 2);
    expect(warmup.longestBlockMs).toBeLessThan(warmup.totalMs);
    expect(warmup.captureMs).toBeGreaterThan(0);
    expect(warmup.where.some(({ calls }) => calls.length > 0)).toBe(true);
    expect(secondMs).toBeLessThan(plain.totalMs);
  }, 120_000);
});
