/**
 * @file The command as the tarball has it, built from the sources: its program, and the page beside it.
 */
import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { build } from 'esbuild';

const run = promisify(execFile);
const here = fileURLToPath(new URL('../..', import.meta.url));

/** Bundles a program with the sources of all packages. */
export async function bundle(source: string, outfile: string): Promise<void> {
  await build({
    entryPoints: [source],
    outfile,
    bundle: true,
    platform: 'node',
    format: 'esm',
    target: 'es2022',
    sourcemap: true,
    conditions: ['@tessera/source'],
    external: ['webgpu', 'koffi'],
    logLevel: 'error',
  });
}

/** Builds it into the folder of results; returns the path of the program. */
export async function buildCommand(): Promise<string> {
  const dist = join(here, '.test-results/dist');
  const program = join(dist, 'main.mjs');
  const config = join(here, '../../apps/site/vite.folder.config.ts');
  const vite = join(here, 'node_modules/vite/bin/vite.js');
  await Promise.all([
    bundle(join(here, 'src/main.ts'), program),
    run(
      process.execPath,
      [vite, 'build', '--config', config, '--outDir', join(dist, 'explorer')],
      // Vitest sets it to 'test'; what is tested is what is published.
      { env: { ...process.env, NODE_ENV: 'production' } },
    ),
  ]);
  return program;
}
