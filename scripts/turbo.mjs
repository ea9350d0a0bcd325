/**
 * @file Starts turbo for the other scripts, quietly: no telemetry notice, no update notice.
 */
import { spawnSync } from 'node:child_process';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** Absolute path of the repository root. */
export const root = join(dirname(fileURLToPath(import.meta.url)), '..');

const turboBin = createRequire(import.meta.url).resolve('turbo/bin/turbo');

/**
 * Runs turbo with `args` and returns its exit code.
 * @param {string[]} args
 * @param {import('node:child_process').SpawnSyncOptions} [options]
 * @returns {number}
 */
export function turbo(args, options = {}) {
  const run = spawnSync(process.execPath, [turboBin, ...args], {
    cwd: root,
    stdio: 'inherit',
    ...options,
    env: { ...process.env, TURBO_TELEMETRY_DISABLED: '1', TURBO_NO_UPDATE_NOTIFIER: '1' },
  });
  return run.status ?? 1;
}
