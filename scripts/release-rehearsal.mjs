/**
 * @file `pnpm check:release`: rehearses a release on a copy of the repository, without a network.
 *
 * `changeset version` must raise versions, write a CHANGELOG for each package that a changeset names and leave no
 * changeset behind; then `pnpm publish --dry-run` must be content with every package.
 */
import {
  cpSync,
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { build, inPairs, published, run } from './pack.mjs';
import { root } from './workspace.mjs';

const OMITTED = new Set(['.git', '.turbo', '.test-results', '.vite']);

/** Copies the repository. What is installed is linked: packages to each other, all to the store of the original. */
function copyRepository(copy) {
  const installed = join(root, 'node_modules');
  const filter = (path) => path !== installed && !OMITTED.has(basename(path));
  cpSync(root, copy, { recursive: true, verbatimSymlinks: true, filter });
  symlinkSync(installed, join(copy, 'node_modules'));
}

/** Names of packages that the waiting changesets raise. */
function announced() {
  const folder = join(root, '.changeset');
  const texts = readdirSync(folder)
    .filter((name) => name.endsWith('.md') && name !== 'README.md')
    .map((name) => readFileSync(join(folder, name), 'utf8').split('---')[1]);
  return new Set(texts.flatMap((text) => text.match(/@tessera\/[\w-]+/g) ?? []));
}

const manifestOf = (copy, dir) => JSON.parse(readFileSync(join(copy, dir, 'package.json'), 'utf8'));

/** Runs `changeset version` in the copy; returns what is wrong with what it did, in words. */
async function version(copy) {
  const done = await run(join(root, 'node_modules/.bin/changeset'), ['version'], copy);
  if (!done.ok) return [`changeset version\n${done.output}`];
  const names = announced();
  const problems = published.flatMap(({ dir, manifest }) => {
    if (!names.has(manifest.name)) return [];
    const raised = manifestOf(copy, dir).version;
    const changelog = join(copy, dir, 'CHANGELOG.md');
    const says = existsSync(changelog) && readFileSync(changelog, 'utf8').includes(`## ${raised}`);
    return [
      ...(raised === manifest.version ? [`${manifest.name}: the version is still ${raised}`] : []),
      ...(says ? [] : [`${manifest.name}: CHANGELOG.md says nothing of ${raised}`]),
    ];
  });
  const left = readdirSync(join(copy, '.changeset')).filter((name) => name.endsWith('.md'));
  return left.length > 0 ? [...problems, `changesets left over: ${left}`] : problems;
}

/** What `pnpm publish --dry-run` says against a package, in words. */
async function publish(copy, { dir, manifest }) {
  const flags = ['--dry-run', '--no-git-checks', '--ignore-scripts'];
  const { ok, output } = await run('pnpm', ['publish', ...flags], join(copy, dir), {
    // Nobody answers there.
    npm_config_registry: 'http://127.0.0.1:9/',
    npm_config_fetch_retries: '0',
  });
  if (!ok) return [`${manifest.name}: pnpm publish --dry-run\n${output}`];
  const packed = existsSync(join(copy, dir, 'CHANGELOG.md')) ? ['CHANGELOG.md'] : [];
  const missing = ['README.md', 'LICENSE', 'dist/index.js', ...packed].filter(
    (file) => !output.includes(file),
  );
  return missing.map((file) => `${manifest.name}: ${file} would not be published`);
}

build();
const copy = mkdtempSync(join(tmpdir(), 'tessera-release-'));
copyRepository(copy);
const problems = await version(copy);
if (problems.length === 0)
  await inPairs(published, async (member) => problems.push(...(await publish(copy, member))));
for (const { dir, manifest } of published)
  console.log(`${manifest.name.padEnd(24)} ${manifest.version} → ${manifestOf(copy, dir).version}`);
rmSync(copy, { recursive: true });
for (const problem of problems) console.error(problem);
console.log(problems.length === 0 ? '\nrelease: rehearsed' : '\nrelease: failed');
process.exitCode = problems.length === 0 ? 0 : 1;
