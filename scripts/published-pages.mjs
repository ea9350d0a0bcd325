/**
 * @file The pages of pages.mjs bundled from what is published. Budgets are measured on the sources, so that lint needs
 * no build; this proves that bundlers leave out of the built files what they leave out of the sources.
 */
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { pages } from './pages.mjs';
import { root } from './workspace.mjs';

const { build } = createRequire(join(root, 'packages/testkit/package.json'))('esbuild');

/** By how much a page of built files may be larger: they have comments and helpers of their own. */
const SLACK = 1.005;

/** Prints the size of each page; returns what is wrong, in words. */
export async function checkPublishedPages() {
  const problems = [];
  for (const { name, limit, lines, isPromised } of pages((short) => `@tessera/${short}`)) {
    const { outputFiles } = await build({
      stdin: { contents: lines.join(''), resolveDir: join(root, 'apps/demo') },
      bundle: true,
      minify: true,
      format: 'esm',
      target: 'es2022',
      external: ['node:*', 'webgpu', 'koffi'],
      write: false,
      logLevel: 'error',
    });
    const size = gzipSync(outputFiles[0].contents, { level: 9 }).length / 1000;
    console.log(`${size.toFixed(1).padStart(6)} kB  ${name}, from built files`);
    if (size > limit * (isPromised === true ? 1 : SLACK))
      problems.push(`${name}: ${size.toFixed(1)} kB from built files, at most ${limit} kB`);
  }
  return problems;
}
