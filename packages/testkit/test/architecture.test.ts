/**
 * @file The blocks of ARCHITECTURE.md are what the system really prints. `UPDATE_DOCS=1` rewrites them.
 */
import { readFileSync } from 'node:fs';
import { compile, compiledFunctionOf, config, reset } from '@tessera/compile';
import { type FusedKernel, type MatmulKernel, printKernel } from '@tessera/inductor-core';
import { cpuBackend } from '@tessera/inductor-cpu';
import { BASELINE_TARGET, generateKernel } from '@tessera/inductor-wgsl';
import { manualSeed, randn } from '@tessera/tensor';
import { beforeAll, expect, it } from 'vitest';
import { type CompiledCode, runAndGetCode } from '../src/index.js';
import { blockNames, checkedDocument, documentPath, fenced } from './doc-blocks.js';
import { scoreLoss } from './score-loss.js';

/** Lines of generated code that the document shows. */
const CODE_LINES = 60;

let blocks: Record<string, string>;

/** A kernel of a plan that is not a matrix product: short enough to read. */
function loopKernel(code: CompiledCode): Exclude<FusedKernel, MatmulKernel> {
  const kernel = code.plan.kernels.find((candidate) => candidate.kind !== 'matmul');
  if (kernel === undefined) throw new Error(`Plan '${code.plan.name}' has only matrix products.`);
  return kernel;
}

function printed(code: CompiledCode): string {
  return code.plan.kernels.map((kernel) => printKernel(kernel)).join('\n\n');
}

beforeAll(async () => {
  reset();
  manualSeed(0);
  const x = randn([4, 8]);
  const w = randn([8, 8]).requiresGrad_();
  const compiled = compile(scoreLoss);
  const { compiled: code } = await runAndGetCode(() => {
    compiled(x, w).backward();
  });
  const [forward, backward] = code as [CompiledCode, CompiledCode];
  const [capture] = compiledFunctionOf(compiled).captures;
  const kernel = loopKernel(forward);
  const source = readFileSync(new URL('./score-loss.ts', import.meta.url), 'utf8');
  // What a machine has or lacks must not show in the document.
  const wasm = config.patch({ 'cpu.relaxedSimd': false }, () => cpuBackend.generate(kernel).text);
  blocks = {
    source: fenced('ts', source.slice(source.indexOf('export function'))),
    graph: fenced('ts', capture!.segments[0]!.graphModule.print()),
    guards: fenced('text', capture!.guards.lines().join('\n')),
    forward: fenced('ts', forward.graph.print()),
    backward: fenced('ts', backward.graph.print()),
    loops: fenced('text', printed(forward)),
    'loops-backward': fenced('text', printed(backward)),
    wasm: fenced('wat', wasm, CODE_LINES),
    wgsl: fenced('wgsl', generateKernel(kernel, BASELINE_TARGET).text, CODE_LINES),
  };
});

it('shows the real output of every stage', () => {
  const { actual, expected } = checkedDocument('ARCHITECTURE.md', blocks);
  expect(actual, 'run UPDATE_DOCS=1 npx vitest run --root packages/testkit architecture').toBe(
    expected,
  );
});

it('has exactly the blocks that are generated', () => {
  const document = readFileSync(documentPath('ARCHITECTURE.md'), 'utf8');
  expect(blockNames(document).sort()).toEqual(Object.keys(blocks).sort());
});

it('names no path of the machine that made it', () => {
  expect(Object.values(blocks).join('\n')).not.toMatch(
    /file:\/\/|(?:^|[\s("'])\/(?:[\w.-]+\/)+|[A-Z]:\\/m,
  );
});
