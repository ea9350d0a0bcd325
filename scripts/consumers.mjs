/**
 * @file `pnpm check:consumers`: installs the tarballs outside the repository and trains the digits there the way
 * users do: Node, Deno, Bun, bundlers, Next. Prints a table: consumer, result, seconds.
 *
 * `pnpm check:consumers vite deno` runs those whose names contain a word.
 */
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { inspect } from 'node:util';
import { gunzipSync } from 'node:zlib';
import { findChromium } from '../tooling/find-chromium.mjs';
import { consumers } from './consumers/matrix.mjs';
import { build, inPairs, pack, published, run } from './pack.mjs';
import { root } from './workspace.mjs';

const DATA = join(root, 'apps/demo/data');
/** Relative distance to PyTorch's losses. */
const TOLERANCE = 1e-3;

/** Losses that PyTorch recorded with the same weights and data. */
const recorded = JSON.parse(readFileSync(join(DATA, 'digits.json'), 'utf8')).mlp.losses;

const words = process.argv.slice(2).map((word) => word.toLowerCase());
const chosen = consumers.filter(
  ({ name }) => words.length === 0 || words.some((word) => name.toLowerCase().includes(word)),
);
if (chosen.length === 0) {
  console.error(
    `No consumer is named so. There are: ${consumers.map(({ name }) => name).join('; ')}.`,
  );
  process.exit(2);
}

/**
 * Installs the tools in a folder, and below it the project with the packages, so that npm installs these as it does
 * for anybody. Returns what went wrong, in words.
 */
async function install(tools, project) {
  const sources = join(root, 'scripts/consumers');
  for (const file of ['package.json', 'pnpm-lock.yaml', 'pnpm-workspace.yaml'])
    cpSync(join(sources, file), join(tools, file));
  cpSync(join(sources, 'project'), project, { recursive: true });
  const digits = gunzipSync(readFileSync(join(DATA, 'digits.safetensors.gz')));
  writeFileSync(join(project, 'digits.safetensors'), digits);
  mkdirSync(join(project, 'next/public'));
  writeFileSync(join(project, 'next/public/digits.safetensors'), digits);

  const dependencies = {};
  const problems = [];
  await inPairs(published, async (member) => {
    const packed = await pack(member, tools);
    problems.push(...packed.problems);
    dependencies[member.manifest.name] = `file:${packed.tarball}`;
  });
  if (problems.length > 0) return problems;
  const manifest = { name: 'consumer', private: true, type: 'module', dependencies };
  writeFileSync(join(project, 'package.json'), JSON.stringify(manifest));

  const installed = await run('pnpm', ['install', '--frozen-lockfile', '--prefer-offline'], tools);
  if (!installed.ok) return [`pnpm install\n${installed.output}`];
  // Dawn and koffi are peers that these programs do not need; a second lock file would confuse Next.
  const flags = ['--legacy-peer-deps', '--no-package-lock', '--prefer-offline'];
  const quiet = ['--no-audit', '--no-fund'];
  const packages = await run('npm', ['install', ...flags, ...quiet], project);
  return packages.ok ? [] : [`npm install\n${packages.output}`];
}

/** What is wrong with losses, in words. */
function review(losses) {
  const runs = Object.entries(losses);
  if (runs.length === 0) return ['It computed no losses.'];
  return runs.flatMap(([where, values]) => {
    const errors = values.map((loss, i) => Math.abs(loss - recorded[i]) / recorded[i]);
    if (values.length >= 10 && Math.max(...errors) < TOLERANCE && values.at(-1) < values[0])
      return [];
    return [`${where}: the losses are ${values}; PyTorch's ${recorded.slice(0, values.length)}.`];
  });
}

async function trainWith(consumer, workplace) {
  const started = performance.now();
  let outcome;
  try {
    outcome = await consumer.train(workplace);
  } catch (error) {
    outcome = { losses: {}, problems: [inspect(error)] };
  }
  const problems = [...outcome.problems, ...review(outcome.losses)];
  return { ...outcome, problems, seconds: (performance.now() - started) / 1000 };
}

function row(name, result, seconds) {
  console.log(`${name.padEnd(28)}  ${result.padEnd(44)}  ${seconds}`);
}

async function main() {
  build();
  const tools = mkdtempSync(join(tmpdir(), 'tessera-consumers-'));
  const project = join(tools, 'project');
  const started = performance.now();
  const problems = await install(tools, project);
  if (problems.length > 0) return problems;
  const chromium = findChromium();
  row('consumer', 'loss', 'seconds');
  row('(installing)', '', ((performance.now() - started) / 1000).toFixed(1));
  let failures = 0;
  for (const consumer of chosen) {
    if (consumer.needsBrowser === true && chromium === null) {
      row(consumer.name, 'not run: no chromium (CHROMIUM_PATH)', '');
      if (process.env.TESSERA_REQUIRE_WEBGPU === '1') failures++;
      continue;
    }
    const { losses, problems, seconds } = await trainWith(consumer, {
      tools,
      project,
      run,
      chromium,
    });
    const [first] = Object.values(losses);
    const falls = first && `${first[0].toFixed(4)} → ${first.at(-1).toFixed(4)}`;
    const places = Object.keys(losses).length;
    const where = places > 1 ? ` in ${places} places` : '';
    row(consumer.name, problems.length > 0 ? 'FAILED' : `${falls}${where}`, seconds.toFixed(1));
    for (const problem of problems) console.log(problem.replace(/^/gm, '        '));
    if (problems.length > 0) failures++;
  }
  rmSync(tools, { recursive: true });
  return failures === 0 ? [] : [`${failures} consumers failed`];
}

const failed = await main();
console.log(failed.length === 0 ? '\nconsumers: all clean' : `\nconsumers: ${failed.join('\n')}`);
process.exitCode = failed.length === 0 ? 0 : 1;
