/**
 * @file The one build recipe for every package: ESM only, ES2022, declarations and source maps.
 * `@tessera/*` and npm dependencies stay external, so two packages never carry a copy of a third.
 */
import { existsSync, readFileSync, readdirSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { defineConfig, type Options } from 'tsup';
import { writeDeclarations } from './declarations.js';
import { entriesAsImports } from './entries-as-imports.mjs';
import { leanSources } from './lean-sources.mjs';
import { oneImport } from './one-import.mjs';
import { pureNamespaces } from './pure-namespaces.mjs';

type TsupConfig = ReturnType<typeof defineConfig>;

const common: Options = {
  format: 'esm',
  target: 'es2022',
  platform: 'neutral',
  sourcemap: true,
  clean: true,
  treeshake: false,
  // Prints only problems: turbo shows one line per package anyway.
  silent: true,
  esbuildPlugins: [leanSources()],
  plugins: [
    {
      name: 'pure-namespaces',
      renderChunk: (code, { map }) => ({ code: pureNamespaces(code), map }),
    },
  ],
};

/** Where an entry is, by condition. */
interface Conditions {
  readonly '@tessera/source'?: string;
  /** What Node has in its place: the same names, with more behind them. */
  readonly node?: { readonly '@tessera/source'?: string };
}

/** The sources of a package's entries, as its `exports` name them; and what Node has in place of some. */
function packageEntries(): { library: string[]; forNode: string[] } {
  const { exports } = JSON.parse(readFileSync('package.json', 'utf8')) as {
    exports: Record<string, string | Conditions>;
  };
  const entries = Object.values(exports).filter((entry) => typeof entry !== 'string');
  return {
    library: entries.flatMap((entry) => entry['@tessera/source'] ?? []),
    forNode: entries.flatMap(({ node }) => node?.['@tessera/source'] ?? []),
  };
}

/** What a package adds to the recipe. */
export interface LibraryParts {
  /** Opens the declarations of the first entry. */
  readonly typesBanner?: string;
  /** Further files of `dist`: their texts by name. */
  readonly files?: Readonly<Record<string, string>>;
  /** Source of a program for Node that the package brings, besides its entries. */
  readonly program?: string;
  /** An entry that others re-export and that stays a file of its own, so that a page can load it later. */
  readonly apart?: string;
  /** Parts are imported where they are needed first, and are files of their own. */
  readonly onDemand?: boolean;
}

/**
 * What other entries re-export of an entry is a copy of it: what entries share, bundlers have in the page from the
 * start. Leaving the import in place is not enough: Vite 8 then takes the entry to be part of whoever names it.
 */
function entryApart(name: string | undefined): NonNullable<Options['esbuildPlugins']> {
  if (name === undefined) return [];
  const path = resolve(`src/${name}.ts`);
  const filter = new RegExp(`^\\./${name}\\.js$`);
  return [
    {
      name: 'entry-apart',
      setup(build) {
        build.onResolve({ filter }, () => ({ path, suffix: '?copy' }));
      },
    },
  ];
}

/** The texts of the package's sources. */
const sourceTexts = (): string[] =>
  readdirSync('src', { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith('.ts'))
    .map((file) => readFileSync(join('src', file), 'utf8'));

/** Builds the entries of a published package, with declarations. */
export function libraryBuild({
  typesBanner = '',
  files = {},
  program,
  apart,
  onDemand = false,
}: LibraryParts = {}): TsupConfig {
  if (!existsSync('src/index.ts')) return [];
  const { library, forNode } = packageEntries();
  const entry = [...library, ...forNode, ...(program === undefined ? [] : [program])];
  const splitting = onDemand || entry.length > 1;
  return defineConfig({
    ...common,
    entry,
    platform: program === undefined ? 'neutral' : 'node',
    // What two entries share is a file of its own: a page has each module once.
    splitting,
    // Other packages stay outside all the same, see there.
    ...(splitting ? {} : { noExternal: [/^@tessera\//] }),
    esbuildPlugins: [
      ...common.esbuildPlugins!,
      entriesAsImports(library),
      ...entryApart(apart),
      ...(splitting ? [] : [oneImport(sourceTexts())]),
    ],
    onSuccess() {
      writeDeclarations(process.cwd(), library, typesBanner);
      for (const [name, text] of Object.entries(files)) writeFileSync(join('dist', name), text);
      return Promise.resolve();
    },
  });
}

/** Builds `src/main.ts` of a program in `apps/`, without declarations. */
export function appBuild(overrides: Options = {}): TsupConfig {
  if (!existsSync('src/main.ts')) return [];
  return defineConfig({
    ...common,
    entry: ['src/main.ts'],
    splitting: false,
    platform: 'node',
    ...overrides,
  });
}

/** Builds a program in `apps/` as one file from the sources of all packages, for a machine without npm. */
export function bundleBuild(name: string): TsupConfig {
  return appBuild({
    entry: { [name]: 'src/main.ts' },
    outDir: 'dist/bundle',
    noExternal: [/^@tessera\//],
    sourcemap: false,
    outExtension: () => ({ js: '.mjs' }),
    esbuildOptions(options) {
      options.conditions = ['@tessera/source'];
    },
  });
}
