/**
 * @file The consumers: each builds or runs the project the way its users do, and reports the losses.
 */
import { once } from 'node:events';
import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { openPage, serveFolder } from './browser.mjs';
import { buildWithEsbuild, buildWithRollup, buildWithVite, buildWithWebpack } from './bundlers.mjs';
import { trainUnderPolicies } from './policies.mjs';

/**
 * What a consumer is given.
 * @typedef {object} Workplace
 * @property {string} tools folder with the tools
 * @property {string} project folder inside that, with the packages
 * @property {import('../pack.mjs').Run} run
 * @property {string | null} chromium where it is
 *
 * What it found: losses by where they were computed, and what was wrong.
 * @typedef {{ losses: Record<string, number[]>, problems: string[] }} Outcome
 *
 * @typedef {object} Consumer
 * @property {string} name
 * @property {boolean} [needsBrowser]
 * @property {(workplace: Workplace) => Promise<Outcome>} train
 */

/** A program that prints the losses. Whatever else it prints is a problem, except lines that match `expected`. */
function program(name, command, expected = /^$/) {
  return {
    name,
    async train({ tools, project, run }) {
      const [file, ...args] = command(project, tools);
      const { ok, output } = await run(file, args, project);
      const lines = output.trim().split('\n');
      const losses = lines.find((line) => line.startsWith('['));
      const others = lines.filter((line) => line !== losses && !expected.test(line));
      if (!ok || losses === undefined) return { losses: {}, problems: [output] };
      return { losses: { [name]: JSON.parse(losses) }, problems: others };
    },
  };
}

/** A page that `bundle` builds; what is imported on demand is a script of its own, where the bundler makes several. */
function page(name, bundle, { splits = true } = {}) {
  return {
    name,
    needsBrowser: true,
    async train({ tools, project, chromium }) {
      const out = join(project, 'out', name.replace(/\W+/g, '-'));
      const warnings = await bundle({ tools, project, out });
      const server = await serveFolder(out, join(project, 'digits.safetensors'));
      try {
        const { losses, problems, seen } = await openPage(server.url, tools, chromium);
        if (splits && !(seen.later > 0)) problems.push('WebGPU was there before it was asked for.');
        return { losses, problems: [...warnings, ...problems] };
      } finally {
        server.close();
      }
    },
  };
}

/** What Next says in CI of every first build. */
const CACHE_HINT = /No build cache found/;

/** `next build`, then `next start`. */
function next(name) {
  return {
    name,
    needsBrowser: true,
    async train({ tools, project, run, chromium }) {
      const cli = join(tools, 'node_modules/next/dist/bin/next');
      const folder = join(project, 'next');
      const env = { NEXT_TELEMETRY_DISABLED: '1', NODE_ENV: 'production' };
      const built = await run(process.execPath, [cli, 'build'], folder, env);
      const warnings = built.output
        .split('\n')
        .filter((line) => /⚠|warn/i.test(line) && !CACHE_HINT.test(line));
      if (!built.ok || warnings.length > 0) return { losses: {}, problems: [built.output] };
      const server = spawn(process.execPath, [cli, 'start', '-p', '0', '-H', '127.0.0.1'], {
        cwd: folder,
        env: { ...process.env, ...env },
      });
      try {
        return await openPage(await addressOf(server), tools, chromium);
      } finally {
        server.kill();
      }
    },
  };
}

/** The address that a server prints when it is ready. */
async function addressOf(server) {
  let output = '';
  for await (const [chunk] of printed(server)) {
    output += chunk;
    const address = /http:\/\/127\.0\.0\.1:\d+/.exec(output);
    if (address !== null && /Ready/.test(output)) return address[0];
  }
  throw new Error(`The server ended.\n${output}`);
}

async function* printed(child) {
  let ended = false;
  child.once('exit', () => (ended = true));
  while (!ended)
    yield await Promise.race([
      once(child.stdout, 'data'),
      once(child.stderr, 'data'),
      once(child, 'exit').then(() => ['']),
    ]);
}

const node =
  (...flags) =>
  () => [process.execPath, ...flags];
const bin =
  (name, ...args) =>
  (_project, tools) => [join(tools, 'node_modules/.bin', name), ...args];
/** Node 20 says that `require` of an ES module is new, and that permissions are. */
const EXPERIMENTAL = /ExperimentalWarning|node --trace-warnings|^$/;

/** Every consumer, in the order of the table. @type {Consumer[]} */
export const consumers = [
  program('Node, ES modules', node('node.mjs')),
  program('Node, require', node('node.cjs'), EXPERIMENTAL),
  program('Node --frozen-intrinsics', node('--frozen-intrinsics', 'node.mjs'), EXPERIMENTAL),
  program('Node, strings are no code', node('--disallow-code-generation-from-strings', 'node.mjs')),
  program(
    'Node, permission model',
    (project) => [
      process.execPath,
      '--experimental-permission',
      `--allow-fs-read=${join(project, '*')}`,
      'node.mjs',
    ],
    EXPERIMENTAL,
  ),
  program('Deno, may read files', bin('deno', 'run', '--no-prompt', '--allow-read=.', 'node.mjs')),
  program('Bun', bin('bun', 'node.mjs')),
  page('Vite 7', (place) => buildWithVite(place, 'vite')),
  page('Vite 8', (place) => buildWithVite(place, 'vite-8')),
  page('webpack 5', buildWithWebpack),
  page('Rollup 4', buildWithRollup),
  page('esbuild', buildWithEsbuild, { splits: false }),
  { name: 'strict policies, esbuild', needsBrowser: true, train: trainUnderPolicies },
  next('Next 16'),
];
