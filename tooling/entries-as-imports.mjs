/**
 * @file A package's first entry imports the folders that are entries, too, from their built files: `optim` and `functional`
 * of `@tessera/nn`.
 *
 * Where entries share a file, esbuild makes an object of such a namespace, and a bundler keeps all functions of an object. Of
 * a namespace that is imported, Rollup and Rolldown (Vite) know which names are used, and drop the others.
 */
import { dirname, resolve } from 'node:path';

/**
 * See the file header. The files of a build lie as their sources do.
 *
 * @param {readonly string[]} entries
 */
export function entriesAsImports([first, ...others]) {
  const folders = new Set(others.map((entry) => resolve(entry)));
  return {
    name: 'entries-as-imports',
    /** @param {import('esbuild').PluginBuild} build */
    setup(build) {
      build.onResolve({ filter: /^\.\/.*\/index\.js$/ }, ({ path, importer }) =>
        importer === resolve(first) &&
        folders.has(resolve(dirname(importer), path.replace(/js$/, 'ts')))
          ? { path, external: true }
          : null,
      );
    },
  };
}
