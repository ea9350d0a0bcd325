/**
 * @file Page bundles: the project's page and worker, as each bundler builds them with its default settings.
 *
 * Each function builds into a folder and returns what the bundler warned of, in words.
 * @typedef {{ tools: string, project: string, out: string }} Place
 */
import { copyFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';

/** Loads a package as the project's tools. */
async function load(tools, name) {
  const entry = createRequire(join(tools, 'package.json')).resolve(name);
  const loaded = await import(pathToFileURL(entry).href);
  return loaded.default ?? loaded;
}

const pageOf = (project) => join(project, 'page/index.html');
const entries = (project) => ['main', 'worker'].map((name) => join(project, `page/${name}.js`));

/** Vite: nothing but the root. Its workers are classic scripts (`iife`) by default. @param {Place} place */
export async function buildWithVite({ tools, project, out }, packageName) {
  const warnings = [];
  const cli = join(tools, 'node_modules', packageName, 'dist/node/index.js');
  const { build, createLogger } = await import(pathToFileURL(cli).href);
  const customLogger = createLogger('silent');
  // How long plugins took is no fault of anybody's.
  const warn = (message) => /PLUGIN_TIMINGS/.test(message) || warnings.push(message);
  Object.assign(customLogger, { warn, warnOnce: warn });
  await build({
    root: join(project, 'page'),
    configFile: false,
    customLogger,
    // The size of a chunk is the only thing that may be remarked.
    build: { outDir: out, emptyOutDir: true, chunkSizeWarningLimit: 4000 },
  });
  return warnings;
}

/** webpack 5 in production mode, except that nothing is minified: that takes a minute and shows nothing. @param {Place} place */
export async function buildWithWebpack({ tools, project, out }) {
  const webpack = await load(tools, 'webpack');
  const stats = await new Promise((resolve, reject) => {
    webpack(
      {
        mode: 'production',
        context: project,
        entry: entries(project)[0],
        output: { path: out, filename: 'main.js' },
        performance: false,
        optimization: { minimize: false },
      },
      (error, done) => (error ? reject(error) : resolve(done)),
    );
  });
  copyFileSync(pageOf(project), join(out, 'index.html'));
  const { errors, warnings } = stats.toJson({ all: false, errors: true, warnings: true });
  return [...errors, ...warnings].map(({ message }) => message);
}

/** Rollup with its resolver for packages. @param {Place} place */
export async function buildWithRollup({ tools, project, out }) {
  const { rollup } = await load(tools, 'rollup');
  const resolver = await load(tools, '@rollup/plugin-node-resolve');
  const warnings = [];
  const bundle = await rollup({
    input: entries(project),
    plugins: [(resolver.nodeResolve ?? resolver)({ browser: true })],
    onwarn: ({ message }) => warnings.push(message),
  });
  await bundle.write({ dir: out, format: 'es', entryFileNames: '[name].js' });
  copyFileSync(pageOf(project), join(out, 'index.html'));
  return warnings;
}

/** esbuild for browsers, in one file per entry. @param {Place} place */
export async function buildWithEsbuild(place) {
  const warnings = await bundleWithEsbuild(place, ['main', 'worker']);
  copyFileSync(pageOf(place.project), join(place.out, 'index.html'));
  return warnings;
}

/** Scripts of the page, by name. @param {Place} place @param {string[]} names */
export async function bundleWithEsbuild({ tools, project, out }, names) {
  const { build } = await load(tools, 'esbuild');
  const { warnings } = await build({
    entryPoints: names.map((name) => join(project, `page/${name}.js`)),
    bundle: true,
    format: 'esm',
    platform: 'browser',
    minify: true,
    outdir: out,
    logLevel: 'silent',
  });
  return warnings.map(({ text }) => text);
}
