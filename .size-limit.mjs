/**
 * @file Gzip budgets. One per package, counting its own code only, and one for everything a
 * compiled program loads together, dependencies included.
 */
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { members, root } from './scripts/workspace.mjs';

/** Minified gzip size of the package's own code. */
const budgets = {
  shared: '17 kB',
  tensor: '40 kB',
  nn: '12 kB',
  graph: '14 kB',
  passes: '7 kB',
  'aot-autograd': '12 kB',
  'dynamo-trace': '20 kB',
  'inductor-core': '24 kB',
  'inductor-cpu': '22 kB',
  'inductor-wgsl': '20 kB',
  compile: '4 kB',
  testkit: '12 kB',
};

/** What `compile` brings into a page: eager tensors, the tracer, AOT, the core and both backends. */
const together = [
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
const built = new Set(members().flatMap((m) => (m.built && !m.isApp ? [m.short] : [])));
const entry = (name) => `packages/${name}/dist/index.js`;
const present = together.filter((name) => built.has(name));

/** One entry that imports them all: separate entries would count shared code once per entry. */
const everything = join(root, 'node_modules/.cache/size-limit/everything.js');
mkdirSync(join(everything, '..'), { recursive: true });
writeFileSync(
  everything,
  present.map((name, i) => `export * as p${i} from '${join(root, entry(name))}';\n`).join(''),
);

/** Bundled as a page would load it. */
const modifyEsbuildConfig = (config) => ({ ...config, format: 'esm', target: 'es2022' });

export default [
  ...Object.entries(budgets)
    .filter(([name]) => built.has(name))
    .map(([name, limit]) => ({
      name: `@tessera/${name}`,
      path: entry(name),
      limit,
      gzip: true,
      ignore: [...outside, '@tessera/*'],
      modifyEsbuildConfig,
    })),
  {
    name: `together: ${present.join(' + ')}`,
    path: everything,
    limit: '120 kB',
    gzip: true,
    ignore: outside,
    modifyEsbuildConfig,
  },
];
