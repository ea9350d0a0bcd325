/**
 * @file Gzip budgets, measured on the sources: what a page downloads that trains a model on the CPU and
 * what it loads besides for WebGPU, everything that compiles programs taken whole, and each package's own
 * code. The goal for all that compiles is 120 kB; why it is not reached, and what the kilobytes are, is in
 * docs/adr/0016-what-a-page-downloads.md.
 */
import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pages } from './scripts/pages.mjs';
import { root } from './scripts/workspace.mjs';
import { leanSources } from './tooling/lean-sources.mjs';

/** Everything that compiles programs with all that is exported: printers, checkers, JSON forms. */
const EVERYTHING = '642.2 kB';

/** Minified gzip size of each package's own code. */
const budgets = {
  shared: '22.0 kB',
  tensor: '177.6 kB',
  nn: '70.2 kB',
  distributed: '27.5 kB',
  onnx: '66.3 kB',
  graph: '35.4 kB',
  passes: '17.0 kB',
  'aot-autograd': '21.5 kB',
  'dynamo-trace': '46.1 kB',
  'inductor-core': '206.6 kB',
  'inductor-cpu': '67.0 kB',
  'inductor-wgsl': '63.2 kB',
  compile: '6.2 kB',
  testkit: '26.4 kB',
  transformers: '32.3 kB',
  cli: '4 kB',
};

/** Parts of packages that are loaded on demand, with what they take along of their package if they are alone. */
const onDemand = [
  { name: '@tessera/onnx: ai.onnx.ml', path: 'packages/onnx/src/ops/ml/index.ts', limit: '8.4 kB' },
];
/** How their packages import them. */
const parts = ['./ops/ml/index.js'];

/** What `compile` brings into a program. */
const compiler = [
  'tensor',
  'graph',
  'passes',
  'dynamo-trace',
  'aot-autograd',
  'inductor-core',
  'inductor-cpu',
  'inductor-wgsl',
  'compile',
];

const outside = ['node:*', 'webgpu'];
const source = (name) => `packages/${name}/src/index.ts`;

const folder = join(root, 'node_modules/.cache/size-limit');

/** Writes an entry with these export lines, and returns its path. */
function entry(name, lines) {
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, name), lines.join(''));
  return join(folder, name);
}

const together = entry(
  'together.js',
  compiler.map((name, i) => `export * as p${i} from '${join(root, source(name))}';\n`),
);

const common = {
  gzip: true,
  /** Bundled as a page would load it. */
  modifyEsbuildConfig: (config) => ({
    ...config,
    format: 'esm',
    target: 'es2022',
    conditions: ['@tessera/source'],
    plugins: [...(config.plugins ?? []), leanSources()],
  }),
};

export default [
  ...pages((name) => join(root, source(name))).map(({ file, name, limit, lines }) => ({
    name,
    path: entry(file, lines),
    limit: `${limit} kB`,
    ignore: outside,
    ...common,
  })),
  {
    name: `together: ${compiler.join(' + ')}`,
    path: together,
    limit: EVERYTHING,
    ignore: outside,
    ...common,
  },
  ...Object.entries(budgets)
    .filter(([name]) => existsSync(join(root, source(name))))
    .map(([name, limit]) => ({
      name: `@tessera/${name}`,
      path: source(name),
      limit,
      ignore: [...outside, '@tessera/*', ...parts],
      ...common,
    })),
  ...onDemand.map((part) => ({ ...part, ignore: [...outside, '@tessera/*'], ...common })),
];
