/**
 * @file `pnpm check:packages`: packs each published package as `pnpm publish` would and runs
 * publint and attw on the tarball, so what is checked is what a user installs. Then a third party's package
 * is installed from the tarballs and run.
 */
import { execFile } from 'node:child_process';
import { existsSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { checkThirdParty } from './third-party.mjs';
import { turbo } from './turbo.mjs';
import { members, root } from './workspace.mjs';

const execute = promisify(execFile);
const bin = (name) => join(root, 'node_modules/.bin', name);

/**
 * Runs a program; a failure carries its output.
 * @returns {Promise<{ ok: boolean, output: string }>}
 */
async function run(file, args, cwd = root) {
  try {
    const { stdout, stderr } = await execute(file, args, { cwd, maxBuffer: 1 << 26 });
    return { ok: true, output: stdout + stderr };
  } catch (thrown) {
    const error = /** @type {Error & { stdout?: string, stderr?: string }} */ (thrown);
    return { ok: false, output: `${error.stdout ?? ''}${error.stderr ?? ''}` || String(error) };
  }
}

/** Packs one package into a new folder; remembers the tarball by the package's name. */
async function pack(member) {
  const folder = mkdtempSync(join(scratch, `${member.short}-`));
  const packed = await run('pnpm', ['pack', '--pack-destination', folder], join(root, member.dir));
  if (!packed.ok) return [`pnpm pack\n${packed.output}`];
  tarballs.set(member.manifest.name, join(folder, readdirSync(folder)[0]));
  return [];
}

/** Packs one package and checks the tarball. Returns what is wrong with it, in words. */
async function check(member) {
  const problems = await pack(member);
  if (problems.length > 0) return problems;
  const tarball = tarballs.get(member.manifest.name);

  const { output: listing } = await run('tar', ['-tzf', tarball]);
  for (const needed of ['dist/index.js', 'dist/index.d.ts', 'README.md']) {
    if (!listing.includes(`package/${needed}\n`)) problems.push(`tarball: ${needed} is missing`);
  }
  const stray = listing.split('\n').filter((p) => /^package\/(src|test|node_modules)\//.test(p));
  if (stray.length > 0) problems.push(`tarball: ${stray[0]} should not be published`);

  const { output: manifest } = await run('tar', ['-xzOf', tarball, 'package/package.json']);
  if (/workspace:|catalog:|@tessera\/source/.test(manifest)) {
    problems.push('tarball: package.json still has workspace:, catalog: or the source condition');
  }

  const publint = await run(bin('publint'), [tarball, '--strict']);
  if (!publint.ok) problems.push(`publint\n${publint.output}`);
  const attw = await run(bin('attw'), [tarball, '--profile', 'esm-only', '--no-emoji']);
  if (!attw.ok) problems.push(`attw\n${attw.output}`);
  return problems;
}

const OUTSIDER = '@tessera/third-party-backend';
const built = ['--filter=./packages/*', `--filter=${OUTSIDER}`];
if (turbo(['run', 'build', ...built, '--output-logs=errors-only']) !== 0) process.exit(1);

const scratch = mkdtempSync(join(tmpdir(), 'tessera-pack-'));
const packages = members().filter((m) => !m.isApp && existsSync(join(root, m.dir, 'src/index.ts')));
/** @type {Map<string, string>} */
const tarballs = new Map();
const found = new Map();
const queue = [...packages];
async function worker() {
  for (let member = queue.shift(); member !== undefined; member = queue.shift()) {
    found.set(member, await check(member));
  }
}
await Promise.all([worker(), worker()]);

const [outsider] = members().filter(({ manifest }) => manifest.name === OUTSIDER);
found.set(outsider, await pack(outsider));
packages.push(outsider);
if (tarballs.size === packages.length)
  found.get(outsider).push(...(await checkThirdParty(tarballs, join(scratch, 'outsider'), run)));
rmSync(scratch, { recursive: true });

for (const member of packages) {
  const problems = found.get(member);
  console.log(`${problems.length === 0 ? 'ok    ' : 'FAILED'}  ${member.manifest.name}`);
  for (const problem of problems) console.log(problem.replace(/^/gm, '        '));
}
const failed = packages.filter((member) => found.get(member).length > 0);
console.log(
  failed.length === 0
    ? `\npackages: ${packages.length} checked, all clean`
    : `\npackages: failed: ${failed.map((m) => m.short).join(', ')}`,
);
process.exitCode = failed.length === 0 ? 0 : 1;
