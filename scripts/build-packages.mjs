/**
 * @file Builds every published package through turbo, saying nothing unless one fails.
 */
import { turbo } from './turbo.mjs';

process.exitCode = turbo([
  'run',
  'build',
  '--filter=./packages/*',
  '--output-logs=errors-only',
  '--log-order=grouped',
]);
