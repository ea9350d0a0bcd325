/**
 * @file On WebGPU: what tools say of how kernels run, also of products that the backend cuts in two.
 */
import { mkdtempSync, readFileSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { compile, config, initWebGpu, setLogs } from '@tessera/compile';
import type { ExplorationFile } from '@tessera/compile/exploration';
import { isTesseraError, setLogSink } from '@tessera/shared';
import { type Tensor, randn } from '@tessera/tensor';
import { beforeAll, describe, expect, it } from 'vitest';

const wanted = process.env['TESSERA_REQUIRE_WEBGPU'] === '1';
const missing = await initWebGpu().then(
  () => false,
  (error: unknown) => {
    if (wanted || !isTesseraError(error)) throw error;
    return true;
  },
);
const deep = (x: Tensor, y: Tensor): Tensor => x.matmul(y).relu();

describe.skipIf(missing)('schedules on WebGPU', () => {
  let x: Tensor;
  let y: Tensor;
  beforeAll(() => {
    x = randn([16, 8192]).to('wgpu');
    y = randn([8192, 16]).to('wgpu');
  });

  it('are logged after the plan', () => {
    const texts: string[] = [];
    const before = setLogSink((_, text) => texts.push(text));
    setLogs({ schedule: true });
    try {
      compile((a: Tensor) => a.softmax(-1))(x);
      compile(deep)(x, y);
    } finally {
      setLogs({ schedule: false });
      setLogSink(before);
    }
    const [plan, softmax, , product] = texts;
    expect(texts).toHaveLength(4);
    expect(plan).toMatch(/^plan graph on wgpu: 1 launch/);
    expect(softmax).toMatch(/^scheduled \w*softmax\w*\n {2}grid group: \d+\n/);
    expect(softmax).toContain('accumulator online_softmax.0: online_softmax of f32');
    expect(product).toMatch(
      /^scheduled \w*mm\w*\n {2}grid group: \d+\n {2}threads lane: \d+\n {2}shared slab_a\.: /,
    );
    expect(product).toMatch(/\nscheduled \w*mm\w*_sum\n {2}grid /);
  });

  it('are in debug folders, for every kernel, with the nodes that it computes', () => {
    const folder = mkdtempSync(join(tmpdir(), 'tessera-debug-'));
    try {
      config.patch({ debugDir: folder }, () => compile(deep)(x, y));
      const [name] = readdirSync(folder);
      const text = readFileSync(join(folder, name!, 'exploration.json'), 'utf8');
      const [{ kernels }] = (JSON.parse(text) as ExplorationFile).compiled as [
        ExplorationFile['compiled'][number],
      ];
      // The product is cut: two kernels compute the nodes of one launch.
      expect(kernels.map((kernel) => kernel.name.replace(/^.*_/, ''))).toEqual(['partial', 'sum']);
      for (const { nodes, schedules, wgsl } of kernels) {
        expect(nodes).toEqual(['mm', 'relu']);
        expect(schedules).toEqual([
          { language: 'wgsl', text: expect.stringMatching(/^scheduled /) },
        ]);
        expect(wgsl).toContain('@compute');
      }
      const files = readdirSync(join(folder, name!, 'kernels'));
      expect(files.filter((file) => file.endsWith('.schedule.txt'))).toHaveLength(2);
    } finally {
      rmSync(folder, { recursive: true });
    }
  });
});
