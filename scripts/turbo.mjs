/**
 * @file Starts turbo for the other scripts, quietly: no telemetry notice, no update notice.
 */
import { spawnSync } from 'node:child_process';
import { createRequire } from 'node:module';
import { root } from './workspace.mjs';

const program = createRequire(import.meta.url).resolve('turbo/bin/turbo');

/**
 * Runs turbo with `args` and returns its exit code. One task a core, unless `args` say otherwise: compilers that take
 * turns are no slower than ten at once, and need a fifth of the memory.
 * @param {string[]} args
 * @param {import('node:child_process').SpawnSyncOptions} [options]
 * @returns {number}
 */
export function turbo(args, options = {}) {
  const given = args.some((arg) => arg.startsWith('--concurrency'));
  const run = spawnSync(
    process.execPath,
    [program, ...args, ...(given ? [] : ['--concurrency=100%'])],
    {
      cwd: root,
      stdio: 'inherit',
      ...options,
      env: { ...process.env, TURBO_TELEMETRY_DISABLED: '1', TURBO_NO_UPDATE_NOTIFIER: '1' },
    },
  );
  return run.status ?? 1;
}
