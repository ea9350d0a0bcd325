/**
 * @file `pnpm kernels:diff [BASE] [--most N] [filter…]`: which generated kernels differ from those of git revision
 * BASE (by default where this branch left `origin/main`, or else `HEAD~1`), over the benchmark's workloads, the recorded
 * models and the backend suite, for WebAssembly and for WGSL on two kinds of card.
 *
 * Both revisions generate with a program of their own (`apps/bench/src/kernels`), bundled from their sources, so
 * nothing is built or installed. Equal differences are printed once, N in all (20). Exits with 0 whatever differs:
 * it informs, and a change that is meant to alter no code can show that it altered none.
 */
import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { root } from './workspace.mjs';

const PROGRAM = 'apps/bench/src/kernels/main.ts';
const MODELS = 'packages/testkit/data/models.br';

/** Runs git in the repository. @param {string[]} args @returns {string | null} its output, null if it failed */
function git(...args) {
  const run = spawnSync('git', args, { cwd: root, encoding: 'utf8', maxBuffer: 2 ** 30 });
  return run.status === 0 ? run.stdout.trim() : null;
}

/** Where the change under test begins. */
function defaultBase() {
  const head = git('rev-parse', 'HEAD');
  const base = git('merge-base', 'origin/main', 'HEAD');
  return base === null || base === head ? 'HEAD~1' : base;
}

/** Makes `@tessera/*` the sources of one checkout. @param {string} tree @returns {import('vite').Rollup.ObjectHook<any> | any} */
function sourcesOf(tree) {
  return {
    name: 'sources',
    setup(build) {
      build.onResolve({ filter: /^@tessera\// }, ({ path }) => {
        const [, short, entry] = /^@tessera\/([^/]+)(?:\/(.+))?$/.exec(path) ?? [];
        const { exports } = JSON.parse(
          readFileSync(join(tree, 'packages', short, 'package.json'), 'utf8'),
        );
        const exported = exports[entry === undefined ? '.' : `./${entry}`];
        // In Node, which has what prints WebAssembly and all registered forms of kernels.
        const source = (exported?.node ?? exported)?.['@tessera/source'];
        return source === undefined
          ? { errors: [{ text: `${path} has no sources` }] }
          : { path: join(tree, 'packages', short, source) };
      });
      // What is not ours is for peers and devices, and is not loaded here.
      build.onResolve({ filter: /^[^./]/ }, ({ path, kind }) =>
        kind === 'entry-point' ? undefined : { path, external: true },
      );
    },
  };
}

/** Kernels of a checkout by path. @param {string} tree @param {string} scratch @param {string[]} filters @returns {Promise<Map<string, string>>} */
async function kernelsOf(tree, scratch, filters) {
  const { build } = createRequire(createRequire(import.meta.url).resolve('vite'))('esbuild');
  const program = join(scratch, 'kernels.mjs');
  await build({
    entryPoints: [join(tree, PROGRAM)],
    outfile: program,
    bundle: true,
    format: 'esm',
    platform: 'node',
    logLevel: 'error',
    plugins: [sourcesOf(tree)],
  });
  const out = join(scratch, 'kernels.json');
  const run = spawnSync(
    process.execPath,
    [program, '--out', out, '--models', join(tree, MODELS), ...filters],
    { stdio: ['ignore', 2, 2] },
  );
  if (run.status !== 0) throw new Error(`The program of ${tree} ended with ${run.status}.`);
  return new Map(Object.entries(JSON.parse(readFileSync(out, 'utf8'))));
}

/** Kernels of a revision; null if it has no program that writes them. @param {string} revision @param {string} scratch @param {string[]} filters */
async function kernelsAt(revision, scratch, filters) {
  const tree = join(scratch, 'tree');
  if (git('worktree', 'add', '--detach', tree, revision) === null)
    throw new Error(`git has no revision '${revision}'.`);
  try {
    return existsSync(join(tree, PROGRAM)) ? await kernelsOf(tree, scratch, filters) : null;
  } finally {
    git('worktree', 'remove', '--force', tree);
  }
}

/** Unified difference of two texts, without the heading. @param {string} before @param {string} after @param {string} scratch */
function difference(before, after, scratch) {
  const files = [join(scratch, 'a'), join(scratch, 'b')];
  writeFileSync(files[0], before);
  writeFileSync(files[1], after);
  const { stdout } = spawnSync('git', ['diff', '--no-index', '--no-color', '-U2', ...files], {
    encoding: 'utf8',
    maxBuffer: 2 ** 28,
  });
  return stdout.slice(stdout.indexOf('\n@@') + 1);
}

/**
 * Prints what differs.
 * @param {Map<string, string>} before @param {Map<string, string>} after @param {number} most @param {string} scratch
 */
function report(before, after, most, scratch) {
  const added = [...after.keys()].filter((path) => !before.has(path));
  const removed = [...before.keys()].filter((path) => !after.has(path));
  const changed = [...after].filter(
    ([path, text]) => before.has(path) && before.get(path) !== text,
  );
  for (const path of removed) console.log(`removed  ${path}`);
  for (const path of added) console.log(`added    ${path}`);
  for (const [path] of changed) console.log(`changed  ${path}`);
  /** @type {Map<string, { text: string, paths: string[] }>} */
  const distinct = new Map();
  for (const [path, text] of changed) {
    const made = difference(/** @type {string} */ (before.get(path)), text, scratch);
    // Where a difference stands does not matter.
    const key = createHash('sha1')
      .update(made.replaceAll(/^@@.*$/gm, '@@'))
      .digest('hex');
    const known = distinct.get(key);
    if (known === undefined) distinct.set(key, { text: made, paths: [path] });
    else known.paths.push(path);
  }
  for (const { text, paths } of [...distinct.values()].slice(0, most)) {
    const others = paths.length > 1 ? ` and ${paths.length - 1} more` : '';
    console.log(`\n--- ${paths[0]}${others}\n${text.trimEnd()}`);
  }
  if (distinct.size > most)
    console.log(`\n… and ${distinct.size - most} other differences: see --most.`);
  console.log(
    `${after.size} kernels: ${changed.length} changed in ${distinct.size} ways, ${added.length} added, ${removed.length} removed`,
  );
}

const { values, positionals } = parseArgs({
  options: { most: { type: 'string', default: '20' } },
  allowPositionals: true,
});
const [base = defaultBase(), ...filters] = positionals;
const scratch = mkdtempSync(join(tmpdir(), 'tessera-kernels-'));
try {
  const folders = ['base', 'head'].map((name) => join(scratch, name));
  for (const folder of folders) mkdirSync(folder);
  const before = await kernelsAt(base, folders[0], filters);
  const after = await kernelsOf(root, folders[1], filters);
  if (before === null) {
    console.log(`${base} has no ${PROGRAM}: there is nothing to compare with.`);
    console.log(`${after.size} kernels in the working tree`);
  } else report(before, after, Number(values.most), scratch);
} finally {
  rmSync(scratch, { recursive: true, force: true });
}
