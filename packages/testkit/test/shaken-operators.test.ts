/**
 * @file What bundlers drop of the operators, and what they must keep: bundles run as a page would run them.
 */
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Platform, build } from 'esbuild';
import { afterAll, expect, test } from 'vitest';
import { leanSources } from '../../../tooling/lean-sources.mjs';

const packages = join(import.meta.dirname, '../..');
const folder = mkdtempSync(join(tmpdir(), 'tessera-shaken-'));
afterAll(() => rmSync(folder, { recursive: true }));

/** What a program prints as JSON, bundled with or without the marks that let operators go. */
async function run(
  program: string,
  { shaken = true, platform = 'node' }: { shaken?: boolean; platform?: Platform } = {},
): Promise<unknown> {
  const { outputFiles } = await build({
    stdin: { contents: program, resolveDir: join(packages, 'testkit'), loader: 'ts' },
    bundle: true,
    format: 'esm',
    platform,
    target: 'es2022',
    conditions: ['@tessera/source'],
    external: ['webgpu', 'koffi', 'node:*'],
    plugins: shaken ? [leanSources()] : [],
    write: false,
    logLevel: 'error',
  });
  const file = join(folder, 'program.mjs');
  writeFileSync(file, outputFiles[0]!.text);
  const { stdout, stderr, status } = spawnSync(process.execPath, [file], { encoding: 'utf8' });
  if (status !== 0) throw new Error(stderr);
  return JSON.parse(stdout);
}

const SHOW_NAMES = `
  import { allOps } from '@tessera/tensor/internal';
  console.log(JSON.stringify(allOps().map((op) => op.qualifiedName)));
`;

/** The operators that a program has. */
async function operatorsOf(program: string, shaken = true): Promise<readonly string[]> {
  return (await run(program + SHOW_NAMES, { shaken })) as string[];
}

const SMALL = `
  import { ones } from '@tessera/tensor';
  globalThis.result = ones([2]).add(1).toString();
`;
const COMPILED = `
  import { compile } from '@tessera/compile';
  globalThis.result = compile;
`;

const ATTENTION = 'aten::scaled_dot_product_attention';

test('a program of one operator has no operator that is not reached', async () => {
  const names = await operatorsOf(SMALL);
  expect(names).toContain('aten::add.Tensor');
  expect(names).not.toContain('aten::cartesian_prod');
  expect(names).not.toContain('aten::einsum');
  // Overloads that no method calls, beside those that methods call.
  expect(names).toContain('aten::maximum');
  expect(names).not.toContain('aten::max.other');
});

test('a program that looks operators up by name has all of them', async () => {
  const program = `
    import { getOp } from '@tessera/tensor';
    globalThis.result = getOp('aten::einsum');
  `;
  const [few, all] = await Promise.all([operatorsOf(program), operatorsOf(program, false)]);
  expect(all.filter((name) => name.startsWith('aten::') && !few.includes(name))).toEqual([]);
});

test('a program that reads graphs has all of them', async () => {
  const program = `
    import { graphFromJson } from '@tessera/graph';
    globalThis.result = graphFromJson;
  `;
  const names = await operatorsOf(program);
  expect(names).toContain('aten::cartesian_prod');
  expect(names).toContain('aten::max_pool2d');
});

/** Names that a package's code asks the registry for. */
function namesAskedFor(): readonly string[] {
  const names = new Set<string>();
  for (const name of ['aot-autograd', 'dynamo-trace', 'graph', 'passes', 'inductor-core', 'tensor'])
    for (const file of readdirSync(join(packages, name, 'src'), { recursive: true }) as string[]) {
      if (!file.endsWith('.ts')) continue;
      const text = readFileSync(join(packages, name, 'src', file), 'utf8');
      for (const [, asked] of text.matchAll(
        /\b(?:getOp|op|emit|call)\(\s*'((?:aten|tessera)::[^']+)'/g,
      ))
        names.add(asked!);
    }
  return [...names];
}

test('a program that compiles has the operators that the compiler asks for by name', async () => {
  const names = await operatorsOf(COMPILED);
  const asked = namesAskedFor();
  expect(asked).toContain('aten::clone');
  expect(asked.filter((name) => !names.includes(name))).toEqual([]);
});

test('attention written out is found and replaced in a program that never names attention', async () => {
  const program = `
    import { manualSeed, randn } from '@tessera/tensor';
    import { compile } from '@tessera/compile';
    manualSeed(0);
    const [q, k, v] = [0, 1, 2].map(() => randn([2, 2, 8, 4]));
    const attend = (q, k, v) => q.matmul(k.transpose(-2, -1)).mul(0.5).softmax(-1).matmul(v);
    const compiled = compile(attend);
    const expected = attend(q, k, v);
    let worst = 0;
    for (let i = 0; i < 3; i++)
      worst = Math.max(worst, compiled(q, k, v).sub(expected).abs().max().item());
    console.log(JSON.stringify(worst));
  `;
  expect(await run(program)).toBeLessThan(1e-6);
});

test('attention written out is computed as it is written in a page without kernels for it', async () => {
  const program = `
    import { manualSeed, randn } from '@tessera/tensor';
    import { allOps } from '@tessera/tensor/internal';
    import { compile } from '@tessera/compile';
    manualSeed(0);
    const inputs = [0, 1, 2].map(() => randn([2, 2, 8, 4]));
    const attend = (q, k, v) => q.matmul(k.transpose(-2, -1)).mul(0.5).softmax(-1).matmul(v);
    const compiled = compile(attend);
    const gradientsOf = (fn) => {
      const [q, k, v] = inputs.map((input) => input.detach().requiresGrad_());
      fn(q, k, v).square().sum().backward();
      return [q.grad, k.grad, v.grad];
    };
    let worst = 0;
    const compare = (a, b) => (worst = Math.max(worst, a.sub(b).abs().max().item()));
    for (let i = 0; i < 3; i++) {
      compare(compiled(...inputs), attend(...inputs));
      const expected = gradientsOf(attend);
      gradientsOf(compiled).forEach((grad, j) => compare(grad, expected[j]));
    }
    const names = allOps().map((op) => op.qualifiedName);
    console.log(JSON.stringify([worst, names.includes('${ATTENTION}')]));
  `;
  const [worst, isThere] = (await run(program, { platform: 'browser' })) as [number, boolean];
  expect(worst).toBeLessThan(1e-5);
  expect(isThere).toBe(false);
});

test('a page that never names attention has it for devices with kernels for it', async () => {
  const program = `
    import { initWebGpu } from '@tessera/compile';
    globalThis.result = initWebGpu;
    ${SHOW_NAMES}
  `;
  expect(await run(program, { platform: 'browser' })).toContain(ATTENTION);
});

test('a model trains in a bundle that dropped what it does not use', async () => {
  const program = `
    import { manualSeed, randn } from '@tessera/tensor';
    import { Linear, ReLU, Sequential } from '@tessera/nn';
    import * as F from '@tessera/nn/functional';
    import { Adam } from '@tessera/nn/optim';
    import { compile } from '@tessera/compile';
    manualSeed(0);
    const model = new Sequential(new Linear(4, 8), new ReLU(), new Linear(8, 2));
    const optimizer = new Adam(model.parameters(), { lr: 0.01 });
    const x = randn([16, 4]);
    const y = randn([16, 2]);
    const step = compile(() => {
      optimizer.zeroGrad();
      const loss = F.mseLoss(model.call(x), y);
      loss.backward();
      optimizer.step();
      return loss;
    });
    const losses = [];
    for (let i = 0; i < 20; i++) losses.push(step().item());
    console.log(JSON.stringify(losses[19] < losses[0]));
  `;
  expect(await run(program)).toBe(true);
});

test('padding has the operators of every mode', async () => {
  const program = `
    import { arange, pad } from '@tessera/tensor';
    const modes = ['constant', 'reflect', 'replicate', 'circular'];
    const row = arange(3).reshape([1, 1, 3]);
    console.log(JSON.stringify(modes.map((mode) => pad(row, [1, 1], { mode }).toArray().flat(2))));
  `;
  expect(await run(program)).toEqual([
    [0, 0, 1, 2, 0],
    [1, 0, 1, 2, 1],
    [0, 0, 1, 2, 2],
    [2, 0, 1, 2, 0],
  ]);
});

test('copies of views and layouts in place have the views that they derive from', async () => {
  const program = `
    import { ones } from '@tessera/tensor';
    import { aliasCopy, t_ } from '@tessera/tensor/internal';
    console.log(JSON.stringify([aliasCopy(ones([2, 3])).shape, t_(ones([2, 3])).shape]));
  `;
  expect(await run(program)).toEqual([
    [2, 3],
    [3, 2],
  ]);
});
