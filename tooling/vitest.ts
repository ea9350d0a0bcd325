/**
 * @file The one test configuration for every package.
 * Tests run on sources: the `@tessera/source` export condition resolves `@tessera/*` imports to
 * `src/index.ts` of the package next door (as one bundle: `bundled-sources.ts`), so no build is needed and
 * reports of failures show real lines.
 *
 * A file has a process of its own. Where the files of a package are `together` they share one: to load the sources and
 * have V8 compile them costs more than most files' tests. Such a file gives what it registers a name of its own, and
 * undoes what it sets for everyone; those that cannot are `apart`.
 */
import { fileURLToPath } from 'node:url';
import { type Plugin, defaultClientConditions, defaultServerConditions } from 'vite';
import { configDefaults, defineConfig, type ViteUserConfig } from 'vitest/config';
import { bundledSources } from './bundled-sources.js';

const SOURCE = '@tessera/source';
const FILES = ['test/**/*.test.ts'];

type TestOptions = NonNullable<ViteUserConfig['test']>;

/** Options of a package's tests. */
export interface PackageTests extends TestOptions {
  /** Whether files share a process; they pass in any order then (`vitest run --sequence.shuffle.files`). */
  readonly together?: boolean;
  /** Test files that have a process of their own where the others share one: they measure or change it as a whole. */
  readonly apart?: readonly string[];
  /** Test files that load no bundle: modules again (`vi.resetModules`), in the order in which they are imported, or by file. */
  readonly unbundled?: readonly string[];
}

/** Configures `vitest run` for one package; the options override or add to the shared test options. */
export function packageTests({
  together = false,
  apart = [],
  unbundled = [],
  ...test
}: PackageTests = {}): ViteUserConfig {
  const bundle = bundledSources([SOURCE]);
  const isOne = apart.length + unbundled.length === 0;
  const project = (name: string, options: TestOptions, plugins: Plugin[] = [bundle]): Project => ({
    extends: true,
    plugins,
    test: { name, ...options },
  });
  const others = [...configDefaults.exclude, ...apart, ...unbundled];
  return defineConfig({
    plugins: isOne ? [bundle] : [],
    resolve: { conditions: [SOURCE, ...defaultClientConditions] },
    ssr: { resolve: { conditions: [SOURCE, ...defaultServerConditions] } },
    test: {
      // A package that is not there yet is not a failure; `pnpm test` counts the tests it sees.
      passWithNoTests: true,
      // Real processes: kernels use workers, WebAssembly memories and native modules.
      pool: 'forks',
      isolate: !together,
      reporters: ['default', 'json'],
      outputFile: { json: '.test-results/vitest.json' },
      globalSetup: [fileURLToPath(new URL('./temporary-folders.ts', import.meta.url))],
      testTimeout: 60_000,
      hookTimeout: 120_000,
      ...(isOne
        ? { include: FILES }
        : {
            projects: [
              project('bundled', { include: FILES, exclude: others }),
              ...(apart.length > 0
                ? [project('apart', { include: [...apart], isolate: true })]
                : []),
              ...(unbundled.length > 0
                ? [project('unbundled', { include: [...unbundled] }, [])]
                : []),
            ],
          }),
      ...test,
    },
  });
}

type Project = NonNullable<TestOptions['projects']>[number];
