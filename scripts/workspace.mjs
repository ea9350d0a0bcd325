/**
 * @file The packages and apps of this repository, read from disk, and the layering between them.
 */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** Absolute path of the repository root. */
export const root = fileURLToPath(new URL('..', import.meta.url)).replace(/[\\/]$/, '');

/**
 * Which packages each package may import, in layer order. This is the one statement of the layering:
 * dependency-cruiser enforces it and the picture in ARCHITECTURE.md shows the imports that exist.
 * @type {Record<string, string[]>}
 */
export const layers = {
  shared: [],
  tensor: ['shared'],
  nn: ['tensor', 'shared'],
  distributed: ['nn', 'tensor', 'shared'],
  onnx: ['nn', 'tensor', 'shared'],
  graph: ['tensor', 'shared'],
  passes: ['graph', 'tensor', 'shared'],
  'aot-autograd': ['graph', 'passes', 'tensor', 'shared'],
  'dynamo-trace': ['graph', 'tensor', 'shared'],
  'inductor-core': ['graph', 'passes', 'tensor', 'shared'],
  'inductor-cpu': ['inductor-core', 'graph', 'passes', 'tensor', 'shared'],
  'inductor-wgsl': ['inductor-core', 'graph', 'passes', 'tensor', 'shared'],
};
layers.compile = Object.keys(layers);
layers.testkit = Object.keys(layers);
layers.transformers = ['compile', 'nn', 'tensor', 'shared'];
layers.cli = ['compile', 'shared'];

/**
 * Every workspace folder under `packages/`, `apps/` and `examples/`.
 * @typedef {{ dir: string, short: string, manifest: Record<string, any>, isApp: boolean, built: boolean }} Member
 * @returns {Member[]}
 */
export function members() {
  const found = [];
  for (const group of ['packages', 'apps', 'examples']) {
    for (const short of readdirSync(join(root, group)).sort()) {
      const dir = `${group}/${short}`;
      const manifestPath = join(root, dir, 'package.json');
      if (!existsSync(manifestPath)) continue;
      found.push({
        dir,
        short,
        manifest: JSON.parse(readFileSync(manifestPath, 'utf8')),
        isApp: group !== 'packages',
        built: existsSync(join(root, dir, 'dist')),
      });
    }
  }
  return found;
}
