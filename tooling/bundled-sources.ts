/**
 * @file Vite plugin of the tests: what they load of the workspace's packages is one bundle of their sources, made when
 * the tests of a package start.
 *
 * Each process of test files loads it. Through Vitest that would be a request and a script for each of some 1,500
 * modules, more than a second of CPU; a bundle that Node loads takes a fifth. The sources of a program (a package without
 * `exports`) stay as they are: they find files next to them. The bundle has source maps, by which Vitest shows where a
 * test failed. Only `vitest run` has it: one that watches loads modules, which may change meanwhile, and so
 * does whoever drives Vitest to load other sources (`conformance --mutate`).
 */
import {
  existsSync,
  mkdirSync,
  readFileSync,
  readdirSync,
  realpathSync,
  rmSync,
  symlinkSync,
} from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { build } from 'esbuild';
import type { Plugin } from 'vite';

const SCOPE = '@tessera/';

/** The folder of the bundle in a package: one of installed packages, which Vitest leaves to Node. */
const FOLDER = 'node_modules/@tessera/.bundled';

interface Manifest {
  readonly name: string;
  readonly exports?: Readonly<Record<string, string | object>>;
  readonly dependencies?: Readonly<Record<string, string>>;
  readonly devDependencies?: Readonly<Record<string, string>>;
  readonly peerDependencies?: Readonly<Record<string, string>>;
}

const manifestIn = (folder: string): Manifest =>
  JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')) as Manifest;

/** Folders of the packages of the workspace that the one in a folder names. */
function dependenciesOf(folder: string): string[] {
  const { dependencies, devDependencies } = manifestIn(folder);
  return Object.keys({ ...dependencies, ...devDependencies })
    .filter((name) => name.startsWith(SCOPE))
    .map((name) => realpathSync(join(folder, 'node_modules', name)));
}

/** Has the bundle find what is installed for the packages in it: `webgpu`, `koffi`. */
function linkPeers(root: string): void {
  const folders = new Set([root]);
  // A Set gives what is added meanwhile too.
  for (const folder of folders) for (const other of dependenciesOf(folder)) folders.add(other);
  for (const folder of folders)
    for (const peer of Object.keys(manifestIn(folder).peerDependencies ?? {})) {
      const link = join(root, FOLDER, 'node_modules', peer);
      mkdirSync(dirname(link), { recursive: true });
      rmSync(link, { force: true });
      symlinkSync(join(folder, 'node_modules', peer), link);
    }
}

/** What can be imported of a library: `@tessera/tensor`, `@tessera/tensor/linalg`. */
function entriesOf({ name, exports = {} }: Manifest): string[] {
  // An entry that is only a file is a program, for other processes.
  const paths = Object.keys(exports).filter((path) => typeof exports[path] !== 'string');
  return paths.map((path) => join(name, path));
}

/** Sources of a package that its tests import: `src/index.ts`. */
function sourcesInTests(folder: string): string[] {
  const found = new Set<string>();
  for (const tests of ['test', 'conformance'].filter((name) => existsSync(join(folder, name))))
    for (const file of readdirSync(join(folder, tests), { recursive: true, encoding: 'utf8' })) {
      if (!file.endsWith('.ts')) continue;
      const text = readFileSync(join(folder, tests, file), 'utf8');
      for (const [, path] of text.matchAll(/(?:from|import\() ?'(\.[^']*)'/g))
        found.add(join(tests, dirname(file), path!).replace(/\.js$/, '.ts'));
    }
  return [...found].filter((path) => path.startsWith('src/'));
}

/** What tests of the package in a folder are given from the bundle: names, and paths in the folder. */
function entriesFor(folder: string): string[] {
  const own = manifestIn(folder);
  return [
    ...[own, ...dependenciesOf(folder).map(manifestIn)].flatMap(entriesOf),
    ...(own.exports === undefined ? [] : sourcesInTests(folder)),
  ];
}

/** Bundles what the tests of a package load; `conditions` find the sources of packages. */
export function bundledSources(conditions: readonly string[]): Plugin {
  const bundled = new Map<string, string>();
  let root = '';
  let made: Promise<void> | undefined;
  const make = async (): Promise<void> => {
    const entryPoints = entriesFor(root).map((entry) => ({
      in: entry,
      out: entry.replace(SCOPE, '').replace(/\.ts$/, ''),
    }));
    for (const entry of entryPoints) bundled.set(entry.in, join(root, FOLDER, `${entry.out}.mjs`));
    linkPeers(root);
    await build({
      absWorkingDir: root,
      entryPoints,
      outdir: FOLDER,
      outExtension: { '.js': '.mjs' },
      bundle: true,
      // Entries share modules, and the state in them.
      splitting: true,
      format: 'esm',
      platform: 'node',
      target: 'es2022',
      conditions: [...conditions],
      sourcemap: 'linked',
      logLevel: 'warning',
    });
  };
  return {
    name: 'bundled-sources',
    enforce: 'pre',
    async configResolved(config) {
      if (!process.argv.includes('run')) return;
      root = config.root;
      // Projects of a package share it.
      await (made ??= make());
    },
    resolveId(id, importer) {
      const path =
        id.startsWith('.') && importer !== undefined
          ? relative(root, join(dirname(importer), id)).replace(/\.js$/, '.ts')
          : id;
      return bundled.get(path);
    },
  };
}
