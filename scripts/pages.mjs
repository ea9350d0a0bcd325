/**
 * @file The pages whose size has a budget: what they import, and how many bytes they may be.
 */
import { join } from 'node:path';
import { root } from './workspace.mjs';

/** The training job as a page loads it, tree-shaken. The goal is 120 kB. */
const PAGE = 393.2;
/** The same with `initWebGpu`. */
const PAGE_WITH_WEBGPU = 472.4;
/** `ones([2]).add(1)` with tensor alone: what one operator brings, since all are methods. */
const ONE_OPERATOR = 90;

/** All that the demo computes, without its terminal: data, models, training step. */
const job = (where) => [
  ...['digits', 'models', 'train'].map(
    (file, i) => `export * as p${i} from '${join(root, `apps/demo/src/${file}.ts`)}';\n`,
  ),
  `export { compile } from '${where('compile')}';\n`,
];

/**
 * Pages by file name, with their programs. A limit that is promised to users holds for the built files as it stands.
 *
 * @param {(name: string) => string} where the module of a package
 */
export const pages = (where) => [
  {
    file: 'page.js',
    name: 'page: the digits trained on the CPU',
    limit: PAGE,
    lines: job(where),
  },
  {
    file: 'page-with-webgpu.js',
    name: 'page: the same with WebGPU',
    limit: PAGE_WITH_WEBGPU,
    lines: [...job(where), `export { initWebGpu } from '${where('compile')}';\n`],
  },
  {
    file: 'one-operator.js',
    name: 'one operator: ones([2]).add(1)',
    limit: ONE_OPERATOR,
    isPromised: true,
    lines: [
      `import { ones } from '${where('tensor')}';\n`,
      'console.log(ones([2]).add(1).toString());\n',
    ],
  },
];
