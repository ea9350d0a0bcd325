/**
 * @file `pnpm demo` and `pnpm bench`: builds what one app needs, then runs it with the given arguments.
 *
 * Turbo's own output goes to stderr, so that stdout is exactly what the program prints.
 */
import { spawnSync } from 'node:child_process';
import { turbo } from './turbo.mjs';

const [app, ...args] = process.argv.slice(2);

const built = turbo(['run', 'build', `--filter=@tessera/${app}`, '--output-logs=errors-only'], {
  stdio: ['ignore', 2, 2],
});
if (built !== 0) process.exit(built);

const program = spawnSync(process.execPath, [`apps/${app}/dist/main.js`, ...args], {
  stdio: 'inherit',
});
process.exit(program.status ?? 1);
