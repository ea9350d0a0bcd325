/**
 * @file Builds the site once for all test files, into the folder of results.
 */
import { fileURLToPath } from 'node:url';
import { build } from 'vite';
import { siteBuild } from '../../src/build/vite-options.js';

/** Where the site for tests is. */
export const SITE: string = fileURLToPath(new URL('../../.test-results/site/', import.meta.url));

/** Runs before the tests. */
export async function setup(): Promise<void> {
  // Vitest sets it to 'test'; what is tested is what is deployed.
  process.env.NODE_ENV = 'production';
  await build(siteBuild({ outDir: SITE }));
}
