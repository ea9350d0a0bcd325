/**
 * @file Gzip budgets, measured on the sources: what a page downloads that trains a model on the CPU and
 * what it loads besides for WebGPU, everything that compiles programs taken whole, and each package's own
 * code. The goal for all that compiles is 120 kB; why it is not reached, and what the kilobytes are, is in
 * docs/adr/0016-what-a-page-downloads.md.
 */
import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { root } from './scripts/workspace.mjs';

/** The training job as a page loads it, tree-shaken. The goal is 120 kB. */
const PAGE = '392 kB';
/** The same with `initWebGpu`. */
const PAGE_WITH_WEBGPU = '430 kB';
/** `ones([2]).add(1)` with tensor alone: what one operator brings, since all are methods. The goal is 90 kB. */
const ONE_OPERATOR = '104.5 kB';
/** Everything that compiles programs with all that is exported: printers, checkers, JSON forms. */
const EVERYTHING = '476 kB';

/** Minified gzip size of each package's own code. */
const budgets = {
  shared: '19.8 kB',
  tensor: '131.5 kB',
  nn: '54 kB',
  distributed: '26.7 kB',
  onnx: '51 kB',
  graph: '27 kB',
  passes: '17 kB',
  'aot-autograd': '20 kB',
  'dynamo-trace': '43 kB',
  'inductor-core': '115.5 kB',
  'inductor-cpu': '49.5 kB',
  'inductor-wgsl': '36.5 kB',
  compile: '7 kB',
  testkit: '25 kB',
  transformers: '14.5 kB',
};

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

/** All that the demo computes, without its terminal: data, models, training step. */
const job = [
  ...['digits', 'models', 'train'].map(
    (file, i) => `export * as p${i} from '${join(root, `apps/demo/src/${file}.ts`)}';\n`,
  ),
  `export { compile } from '${join(root, source('compile'))}';\n`,
];
const page = entry('page.js', job);
const pageWithWebGpu = entry('page-with-webgpu.js', [
  ...job,
  `export { initWebGpu } from '${join(root, source('compile'))}';\n`,
]);
const oneOperator = entry('one-operator.js', [
  `import { ones } from '${join(root, source('tensor'))}';\n`,
  'console.log(ones([2]).add(1).toString());\n',
]);
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
  }),
};

export default [
  {
    name: 'page: the digits trained on the CPU',
    path: page,
    limit: PAGE,
    ignore: outside,
    ...common,
  },
  {
    name: 'page: the same with WebGPU',
    path: pageWithWebGpu,
    limit: PAGE_WITH_WEBGPU,
    ignore: outside,
    ...common,
  },
  {
    name: 'one operator: ones([2]).add(1)',
    path: oneOperator,
    limit: ONE_OPERATOR,
    ignore: outside,
    ...common,
  },
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
      ignore: [...outside, '@tessera/*'],
      ...common,
    })),
];
