/**
 * @file `node scripts/tasks.mjs <task…> [turbo options]`: turbo tasks that say nothing of what went
 * well. Behind `pnpm build` and `pnpm typecheck`.
 */
import { turbo } from './turbo.mjs';

process.exitCode = turbo([
  'run',
  ...process.argv.slice(2),
  '--continue',
  '--output-logs=errors-only',
  '--log-order=grouped',
]);
