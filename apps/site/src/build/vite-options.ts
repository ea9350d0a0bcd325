/**
 * @file How Vite builds the site: scripts from the sources of all packages, and every page from `sitePages`.
 */
import { fileURLToPath } from 'node:url';
import { type InlineConfig, type Plugin, defaultClientConditions } from 'vite';
import { folderPages, sitePages } from './site-pages.js';

const at = (path: string): string => fileURLToPath(new URL(`../../${path}`, import.meta.url));

/** Scripts that pages name, by the name that a page gives. */
const ENTRIES = [
  'explorer',
  'gallery-digits',
  'gallery-points',
  'gallery-text',
  'page',
  'reference',
  'start',
] as const;

/** A script that a page may name. */
export type Entry = (typeof ENTRIES)[number];

/**
 * Workers lie in a folder that looks like one of Tessera's packages: the compiler names the innermost frame that is not
 * its own as the line of an operator, and in a page this is how it knows its own frames (`userFrame` of
 * `@tessera/shared`).
 */
const WORKER = 'assets/packages/site/dist/[name]-[hash].js';

/** What to build and where. */
export interface SiteBuild {
  /** Folder of the result; `dist` by default. */
  readonly outDir?: string;
}

/** The configuration of Vite for the site. */
export function siteBuild({ outDir = at('dist') }: SiteBuild = {}): InlineConfig {
  return build(outDir, ENTRIES, sitePages());
}

/** That for the page which shows a debug folder: files that `@tessera/cli` serves. */
export function folderBuild(outDir: string): InlineConfig {
  return build(outDir, ['folder', 'page'], folderPages());
}

function build(outDir: string, entries: readonly string[], pages: Plugin): InlineConfig {
  return {
    configFile: false,
    root: at('.'),
    base: './',
    publicDir: false,
    logLevel: 'warn',
    resolve: { conditions: ['@tessera/source', ...defaultClientConditions] },
    worker: {
      format: 'es',
      rolldownOptions: {
        // Printed graphs name host functions as their sources do.
        output: { entryFileNames: WORKER, chunkFileNames: WORKER, keepNames: true },
      },
    },
    plugins: [pages],
    build: {
      outDir,
      emptyOutDir: true,
      target: 'es2022',
      modulePreload: false,
      // The compiler is one large file that only the demo and the explorer ask for.
      chunkSizeWarningLimit: 4096,
      rolldownOptions: {
        input: Object.fromEntries(entries.map((name) => [name, at(`src/pages/${name}.ts`)])),
        output: { entryFileNames: 'assets/[name]-[hash].js', keepNames: true },
      },
    },
  };
}
