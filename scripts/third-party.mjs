/**
 * @file A third party's program on tarballs: the example backend is installed from them outside the repository,
 * registers itself and runs testkit's conformance suite.
 */
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

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

/**
 * Installs the tarballs (by package name) in a new folder and runs the program there. Returns what went wrong,
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
  // Dawn is a peer that this program does not need.
  const flags = ['--legacy-peer-deps', '--prefer-offline', '--no-audit', '--no-fund'];
  const installed = await run('npm', ['install', ...flags], folder);
  if (!installed.ok) return [`npm install\n${installed.output}`];
  const ran = await run(process.execPath, ['main.js'], folder);
  return ran.ok ? [] : [`node main.js\n${ran.output}`];
}
