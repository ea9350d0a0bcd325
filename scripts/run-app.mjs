/**
 * @file `pnpm demo`, `pnpm fuzz`, `pnpm example:…`: builds what one app or example needs, then runs it with
 * the given arguments.
 *
 * Turbo's own output goes to stderr, so that stdout is exactly what the program prints.
 */
import { spawnSync } from 'node:child_process';
import { turbo } from './turbo.mjs';
import { members } from './workspace.mjs';

const [app, ...args] = process.argv.slice(2);
const member = members().find(({ short }) => short === app);
if (member === undefined) throw new Error(`There is no app or example '${app}'.`);
const { dir, manifest } = member;

const built = turbo(['run', 'build', `--filter=${manifest.name}`, '--output-logs=errors-only'], {
  stdio: ['ignore', 2, 2],
});
if (built !== 0) process.exit(built);

const program = spawnSync(process.execPath, [`${dir}/dist/main.js`, ...args], {
  stdio: 'inherit',
});
process.exit(program.status ?? 1);
