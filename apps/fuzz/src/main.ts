/**
 * @file `pnpm fuzz`: random programs, eager and compiled.
 *
 * A program that differs is printed as a TypeScript file, minimised. Ends with one JSON line:
 * {seed, n, backends, mismatches, failed, died, seconds}.
 */
import { initWebGpu } from '@tessera/compile';
import { isTesseraError } from '@tessera/shared';
import { USAGE, readOptions, workerArguments } from './options.js';
import { runFuzz } from './run.js';
import { runWorkers } from './workers.js';

async function main(): Promise<void> {
  const options = readOptions(process.argv.slice(2));
  if (options === null) {
    console.log(USAGE);
    return;
  }
  if (!options.json && options.n > 0) console.log(`seed ${options.seed}`);
  if (options.devices.includes('wgpu') && options.workers === 1) await initWebGpu();
  const tell = options.json ? () => {} : (file: string) => console.log(file);
  const result =
    options.workers > 1
      ? await runWorkers(process.argv[1]!, workerArguments(options), options, (text) =>
          process.stdout.write(text),
        )
      : await runFuzz(options, tell);
  console.log(JSON.stringify(result));
  process.exitCode = result.mismatches > 0 ? 1 : 0;
}

try {
  await main();
} catch (error) {
  if (!isTesseraError(error)) throw error;
  console.error(error.message);
  process.exitCode = 2;
}
// Kernel workers keep the process alive.
process.exit();
