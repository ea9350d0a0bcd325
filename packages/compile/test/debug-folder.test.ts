import { mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Linear } from '@tessera/nn';
import { jointPipeline, postGradPipeline } from '@tessera/passes';
import { type Tensor, ones, randn } from '@tessera/tensor';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { ExplorationFile } from '../src/exploration.js';
import { compile, config } from '../src/node.js';

let folder = '';
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'tessera-debug-'));
});
afterEach(() => rmSync(folder, { recursive: true }));

const read = (...path: string[]): string => readFileSync(join(folder, ...path), 'utf8');

describe('TESSERA_DEBUG_DIR', () => {
  it('has a folder per compile with graphs around passes, kernels, guards and a page', () => {
    const model = new Linear(4, 3);
    config.patch({ debugDir: folder }, () => {
      const loss = compile((x: Tensor) => model.call(x.mul(1)).relu().sum())(randn([2, 4]));
      loss.backward();
    });
    const [name, ...rest] = readdirSync(folder);
    expect(rest).toEqual([]);
    const files = readdirSync(join(folder, name!), { recursive: true, encoding: 'utf8' });
    const passes = files.filter((file) => file.startsWith('passes/'));
    expect(passes.some((file) => /^passes\/\d\d-noop-removal\.before\.ts$/.test(file))).toBe(true);
    expect(passes.filter((file) => file.endsWith('.after.ts'))).toHaveLength(passes.length / 2);
    // Every named pass, also one that has nothing to do.
    for (const { name: pass } of [...jointPipeline(), ...postGradPipeline()])
      expect(passes.some((file) => file.endsWith(`-${pass}.before.ts`))).toBe(true);
    // Forward, and the backward graph, which is compiled later.
    expect(files).toContain('graph-0.ts');
    expect(files).toContain('graph-1.ts');
    expect(files.some((file) => /^kernels\/0-.*\.wat$/.test(file))).toBe(true);
    expect(files.some((file) => /^kernels\/0-.*\.schedule\.txt$/.test(file))).toBe(true);
    expect(read(name!, 'captured.ts')).toContain('aten.linear.default(');
    expect(read(name!, 'guards.txt')).toContain("L['x']");
    const page = read(name!, 'index.html');
    for (const file of ['captured.ts', 'guards.txt', 'repro.mjs', ...passes])
      expect(page).toContain(file);
  });

  it('writes all of it as plain data for the explorer', () => {
    const model = new Linear(4, 3);
    config.patch({ debugDir: folder }, () => {
      const loss = compile((x: Tensor) => {
        const hidden = model.call(x.mul(1)); // where products come from
        return hidden.relu().sum();
      })(randn([2, 4]));
      loss.backward();
    });
    const [name] = readdirSync(folder);
    const seen = JSON.parse(read(name!, 'exploration.json')) as ExplorationFile;
    expect([seen.format, seen.version]).toEqual(['tessera-exploration', 1]);
    const program = seen.program.split('\n');
    expect(program[0]).toMatch(/^\/\/ .*debug-folder\.test\.ts$/);
    const product = seen.captured[0]!.nodes.find(({ label }) => label.startsWith('linear'))!;
    expect(program[product.line! - 1]).toContain('// where products come from');
    expect(seen.joint).toHaveLength(1);
    expect(seen.passes.map((pass) => pass.name)).toContain('noop-removal');
    // Forward, and the backward graph, whose nodes come from lines of the forward pass.
    expect(seen.compiled).toHaveLength(2);
    const backward = seen.compiled[1]!;
    expect(backward.graph.nodes.some(({ line }) => line === product.line)).toBe(true);
    for (const { kernels } of seen.compiled)
      for (const kernel of kernels) {
        expect([kernel.wat.includes('(func'), kernel.wgsl]).toEqual([true, '']);
        const { language, text } = kernel.schedules[0]!;
        expect([language, text.split('\n')[0]]).toEqual(['wasm', `scheduled ${kernel.name}`]);
      }
    expect(seen.functions[0]!.guards.join()).toContain("L['x']");
    expect(seen.timeline.map((event) => event.name)).toContain('joint graph');
  });

  it('writes a repro that runs', async () => {
    config.patch({ debugDir: folder }, () => {
      compile((x: Tensor, y: Tensor) => x.mm(y).relu().sum(1))(ones([3, 4]), ones([4, 5]));
    });
    const [name] = readdirSync(folder);
    // The packages are found from here, as they are from a project.
    const script = join(import.meta.dirname, `repro-${name!}.mjs`);
    const graph = JSON.stringify(join(folder, name!, 'graph.json'));
    const text = read(name!, 'repro.mjs');
    writeFileSync(script, text.replace("new URL('./graph.json', import.meta.url)", graph));
    const log = vi.spyOn(console, 'log');
    try {
      await import(/* @vite-ignore */ script);
      expect(log).toHaveBeenCalledExactlyOnceWith(
        expect.stringMatching(/^output 0: \[3\] largest difference [\d.e-]+$/),
      );
    } finally {
      log.mockRestore();
      rmSync(script);
    }
  });

  it('writes nothing unless asked', () => {
    compile((x: Tensor) => x.add(1))(ones([2]));
    expect(readdirSync(folder)).toEqual([]);
  });
});
