/**
 * @file Gzip budgets. One per package, counting its own code only; one for everything that compiles
 * programs, taken whole; and one for what a training program loads after tree-shaking.
 */
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { members, root } from './scripts/workspace.mjs';

/** Minified gzip size of the package's own code. */
const budgets = {
  shared: '17 kB',
  tensor: '75 kB',
  nn: '16 kB',
  graph: '14 kB',
  passes: '7 kB',
  'aot-autograd': '14 kB',
  'dynamo-trace': '28 kB',
  'inductor-core': '60 kB',
  'inductor-cpu': '56 kB',
  'inductor-wgsl': '40 kB',
  compile: '4 kB',
  testkit: '12 kB',
};

/**
 * The goal for everything that compiles programs is 120 kB. The first complete system is at about twice
 * that: reference kernels for every operator (tensor), one lowering per operator (inductor-core) and two
 * code generators. This limit keeps it from growing while it is brought down.
 */
const EVERYTHING = '270 kB';

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

/** What a training program imports; printers, checkers and JSON forms that it never calls drop out. */
const imported = ['tensor', 'nn', 'compile'];

const outside = ['node:*', 'webgpu'];
const built = new Set(members().flatMap((m) => (m.built && !m.isApp ? [m.short] : [])));
const entry = (name) => `packages/${name}/dist/index.js`;
const present = together.filter((name) => built.has(name));
const program = imported.filter((name) => built.has(name));

/**
 * Writes one entry that imports several packages, and returns its path. Separate entries would count
 * shared code once per entry.
 */
function entryFor(file, names) {
  const folder = join(root, 'node_modules/.cache/size-limit');
  mkdirSync(folder, { recursive: true });
  const lines = names.map((name, i) => `export * as p${i} from '${join(root, entry(name))}';\n`);
  writeFileSync(join(folder, file), lines.join(''));
  return join(folder, file);
}

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
    path: entryFor('together.js', present),
    limit: EVERYTHING,
    gzip: true,
    ignore: outside,
    modifyEsbuildConfig,
  },
  {
    name: `program: ${program.join(' + ')}, only what they reach`,
    path: entryFor('program.js', program),
    limit: EVERYTHING,
    gzip: true,
    ignore: outside,
    modifyEsbuildConfig,
  },
];
