/**
 * @file `pnpm check:packages`: packs each published package as `pnpm publish` would and runs
 * publint and attw on the tarball, so what is checked is what a user installs. Then a third party's package
 * is installed from the tarballs and run, and pages are bundled from the built files.
 */
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { build, inPairs, pack, published, run } from './pack.mjs';
import { checkPublishedPages } from './published-pages.mjs';
import { checkThirdParty } from './third-party.mjs';
import { members, root } from './workspace.mjs';

const bin = (name) => join(root, 'node_modules/.bin', name);

/** Packs one package; remembers the tarball by the package's name. */
async function packAs(member) {
  const { tarball, problems } = await pack(member, scratch);
  if (tarball !== null) tarballs.set(member.manifest.name, tarball);
  return problems;
}

/** Packs one package and checks the tarball. Returns what is wrong with it, in words. */
async function check(member) {
  const problems = await packAs(member);
  if (problems.length > 0) return problems;
  const tarball = /** @type {string} */ (tarballs.get(member.manifest.name));

  const { output: listing } = await run('tar', ['-tzf', tarball]);
  const files = ['dist/index.js', 'dist/index.d.ts', 'README.md', 'LICENSE'];
  // A package has one from its first release on.
  if (existsSync(join(root, member.dir, 'CHANGELOG.md'))) files.push('CHANGELOG.md');
  for (const needed of files) {
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
  // Scripts for workers are files to copy: they have no types.
  const scripts = Object.keys(member.manifest.exports).filter((path) => path.endsWith('.js'));
  const without = scripts.length > 0 ? ['--exclude-entrypoints', ...scripts] : [];
  const options = ['--profile', 'esm-only', '--no-emoji', ...without];
  const attw = await run(bin('attw'), [tarball, ...options]);
  if (!attw.ok) problems.push(`attw\n${attw.output}`);
  return problems;
}

const OUTSIDER = '@tessera/third-party-backend';
build(OUTSIDER);

const scratch = mkdtempSync(join(tmpdir(), 'tessera-pack-'));
const packages = [...published];
/** @type {Map<string, string>} */
const tarballs = new Map();
const found = new Map();
await inPairs(published, async (member) => found.set(member, await check(member)));

const [outsider] = members().filter(({ manifest }) => manifest.name === OUTSIDER);
found.set(outsider, await packAs(outsider));
packages.push(outsider);
if (tarballs.size === packages.length)
  found.get(outsider).push(...(await checkThirdParty(tarballs, join(scratch, 'outsider'), run)));
rmSync(scratch, { recursive: true });

for (const member of packages) {
  const problems = found.get(member);
  console.log(`${problems.length === 0 ? 'ok    ' : 'FAILED'}  ${member.manifest.name}`);
  for (const problem of problems) console.log(problem.replace(/^/gm, '        '));
}
const pageProblems = await checkPublishedPages();
for (const problem of pageProblems) console.log(`FAILED  ${problem}`);
const failed = packages.filter((member) => found.get(member).length > 0);
console.log(
  failed.length === 0
    ? `\npackages: ${packages.length} checked, all clean`
    : `\npackages: failed: ${failed.map((m) => m.short).join(', ')}`,
);
process.exitCode = failed.length + pageProblems.length === 0 ? 0 : 1;
