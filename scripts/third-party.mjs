/**
 * @file A third party's programs on tarballs, installed outside the repository: the example backend registers itself
 * and runs testkit's conformance suite; CommonJS code requires the packages; strict TypeScript reads their declarations.
 */
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { root } from './workspace.mjs';

/** The program. It sees nothing but what the packages publish. */
const PROGRAM = `
import { compile, kernelBackend } from '@tessera/compile';
import { randn } from '@tessera/tensor';
import { assertClose, runBackendConformance } from '@tessera/testkit';
import { javascriptBackend, register } from '@tessera/third-party-backend';

register();
if (kernelBackend('cpu') !== javascriptBackend) throw new Error('It did not register itself.');
const fn = (x) => x.mul(2).add(1).tanh();
const x = randn([3, 4]);
assertClose(compile(fn)(x), fn(x));
const { passed, failed } = await runBackendConformance(javascriptBackend);
for (const { name, error } of failed) console.error(name + ': ' + error);
if (failed.length > 0 || passed.length < 50) throw new Error(passed.length + ' cases passed.');
`;

const REQUIRES = `
const { compile } = require('@tessera/compile');
const { ones } = require('@tessera/tensor');
const [total] = compile((x) => [x.add(1).sum()])(ones([3]));
if (total.item() !== 6) throw new Error('The sum is ' + total.item());
`;

/** Types through namespaces, and values, of every package. */
const TYPED = (names) => `
import { functional as F, Linear } from '@tessera/nn';
import type { Tensor } from '@tessera/tensor';
${names.map((name, i) => `import * as package${i} from '${name}';`).join('\n')}

const options: F.ConvOptions = { stride: 2 };
export const all = [options, ${names.map((_, i) => `package${i}`).join(', ')}];
export const call = (x: Tensor): Tensor => new Linear(2, 3).call(x);
// What the tracer keeps on tensors is no part of the published type.
// @ts-expect-error
export const guard = (x: Tensor): unknown => x.guardSpec;
`;

/** A project that checks every declaration that it reaches. */
const project = (resolution) => ({
  compilerOptions: {
    target: 'es2022',
    lib: ['es2023', 'esnext.disposable', 'dom'],
    module: resolution === 'node16' ? 'node16' : 'esnext',
    moduleResolution: resolution,
    strict: true,
    skipLibCheck: false,
    exactOptionalPropertyTypes: true,
    noUncheckedIndexedAccess: true,
    noEmit: true,
    types: [],
  },
  files: ['typed.mts'],
});

/**
 * Installs the tarballs (by package name) in a new folder and runs the programs there. Returns what went wrong,
 * in words.
 *
 * @param {Map<string, string>} tarballs
 * @param {string} folder outside the repository
 * @param {(file: string, args: string[], cwd: string) => Promise<{ ok: boolean, output: string }>} run
 * @returns {Promise<string[]>}
 */
export async function checkThirdParty(tarballs, folder, run) {
  mkdirSync(folder, { recursive: true });
  const dependencies = Object.fromEntries(
    [...tarballs].map(([name, path]) => [name, `file:${path}`]),
  );
  const manifest = { name: 'outsider', private: true, type: 'module', dependencies };
  writeFileSync(join(folder, 'package.json'), JSON.stringify(manifest));
  writeFileSync(join(folder, 'main.js'), PROGRAM);
  writeFileSync(join(folder, 'main.cjs'), REQUIRES);
  writeFileSync(join(folder, 'typed.mts'), TYPED([...tarballs.keys()]));
  // Dawn is a peer that this program does not need.
  const flags = ['--legacy-peer-deps', '--prefer-offline', '--no-audit', '--no-fund'];
  const installed = await run('npm', ['install', ...flags], folder);
  if (!installed.ok) return [`npm install\n${installed.output}`];
  const problems = [];
  const expect = async (file, args) => {
    const { ok, output } = await run(file, args, folder);
    if (!ok) problems.push(`${args.join(' ')}\n${output}`);
  };
  await expect(process.execPath, ['main.js']);
  await expect(process.execPath, ['--no-warnings', '--experimental-require-module', 'main.cjs']);
  for (const resolution of ['node16', 'bundler']) {
    writeFileSync(join(folder, `${resolution}.json`), JSON.stringify(project(resolution)));
    await expect(process.execPath, [
      join(root, 'node_modules/typescript/bin/tsc'),
      '-p',
      `${resolution}.json`,
    ]);
  }
  return problems;
}
