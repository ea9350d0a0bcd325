/**
 * @file `pnpm lint`: every static check of the repository, and which of them failed.
 *
 * `pnpm lint prettier oxlint` runs only those named.
 */
import { spawn } from 'node:child_process';
import { delimiter, join } from 'node:path';
import { root } from './workspace.mjs';

/** In the order they are reported. All of them read sources, so nothing must be built first. */
const checks = {
  prettier: { run: 'prettier --check --log-level warn .' },
  oxlint: { run: 'oxlint --deny-warnings' },
  layers: { run: 'depcruise --config .dependency-cruiser.mjs packages apps examples' },
  'house-rules': { run: 'node scripts/house-rules.mjs' },
  manifests: { run: 'node scripts/manifests.mjs' },
  'package-diagram': { run: 'node scripts/package-diagram.mjs --check' },
  api: { run: 'node scripts/api.mjs --check' },
  'error-pages': { run: 'node scripts/error-pages.mjs' },
  knip: { run: 'knip --no-progress' },
  sherif: { run: 'sherif' },
  'size-limit': { run: 'node scripts/sizes.mjs' },
};

const chosen = process.argv.slice(2);
const unknown = chosen.filter((name) => !(name in checks));
if (unknown.length > 0) {
  console.error(`No check named ${unknown.join(', ')}. Checks: ${Object.keys(checks).join(', ')}.`);
  process.exit(2);
}
const names = Object.keys(checks).filter((name) => chosen.length === 0 || chosen.includes(name));

// The checks are found also when this is started by node alone.
const PATH = [join(root, 'node_modules/.bin'), process.env.PATH].join(delimiter);

/** Runs one command line, with its output kept together. */
function run(command) {
  return new Promise((done) => {
    const child = spawn(command, { cwd: root, shell: true, env: { ...process.env, PATH } });
    let output = '';
    child.stdout.on('data', (text) => (output += text));
    child.stderr.on('data', (text) => (output += text));
    child.on('close', (code) => done({ ok: code === 0, output: output.trimEnd() }));
  });
}

const results = new Map();
const queue = [...names];
async function worker() {
  for (let name = queue.shift(); name !== undefined; name = queue.shift()) {
    const started = performance.now();
    const result = await run(checks[name].run);
    results.set(name, { ...result, seconds: (performance.now() - started) / 1000 });
  }
}
await Promise.all([worker(), worker()]);

for (const name of names) {
  const { ok, output, seconds } = results.get(name);
  console.log(`${ok ? 'ok    ' : 'FAILED'}  ${name.padEnd(16)} ${seconds.toFixed(1)} s`);
  if (!ok || name === 'size-limit') console.log(output.replace(/^/gm, '        '));
}
const failed = names.filter((name) => !results.get(name).ok);
console.log(failed.length === 0 ? '\nlint: clean' : `\nlint: failed: ${failed.join(', ')}`);
process.exitCode = failed.length === 0 ? 0 : 1;
