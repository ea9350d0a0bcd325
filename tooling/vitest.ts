/**
 * @file The one test configuration for every package.
 * Tests run on sources: the `@tessera/source` export condition resolves `@tessera/*` imports to
 * `src/index.ts` of the package next door, so no build is needed and stack traces show real lines.
 */
import { defaultClientConditions, defaultServerConditions } from 'vite';
import { defineConfig, type ViteUserConfig } from 'vitest/config';

const SOURCE = '@tessera/source';

/** Configures `vitest run` for one package; `test` overrides or adds to the shared test options. */
export function packageTests(test: ViteUserConfig['test'] = {}): ViteUserConfig {
  return defineConfig({
    resolve: { conditions: [SOURCE, ...defaultClientConditions] },
    ssr: { resolve: { conditions: [SOURCE, ...defaultServerConditions] } },
    test: {
      include: ['test/**/*.test.ts'],
      // A package that is not there yet is not a failure; `pnpm test` counts the tests it sees.
      passWithNoTests: true,
      // Real processes: kernels use workers, WebAssembly memories and native modules.
      pool: 'forks',
      reporters: ['default', 'json'],
      outputFile: { json: '.test-results/vitest.json' },
      testTimeout: 60_000,
      hookTimeout: 120_000,
      ...test,
    },
  });
}
