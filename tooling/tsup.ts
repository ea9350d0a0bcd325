/**
 * @file The one build recipe for every package: ESM only, ES2022, declarations and source maps.
 * `@tessera/*` and npm dependencies stay external, so two packages never carry a copy of a third.
 */
import { existsSync } from 'node:fs';
import { defineConfig, type Options } from 'tsup';

type TsupConfig = ReturnType<typeof defineConfig>;

const common: Options = {
  format: 'esm',
  target: 'es2022',
  platform: 'neutral',
  sourcemap: true,
  clean: true,
  splitting: false,
  treeshake: false,
  // Prints only problems: turbo shows one line per package anyway.
  silent: true,
};

/** Builds `src/index.ts` of a published package, with declarations. */
export function libraryBuild(overrides: Options = {}): TsupConfig {
  if (!existsSync('src/index.ts')) return [];
  return defineConfig({
    ...common,
    entry: ['src/index.ts'],
    // Declarations are resolved against the built `dist` of the packages below, which turbo has
    // built first: reading their sources again here would check each of them once per dependant.
    dts: { compilerOptions: { customConditions: [], noEmit: false } },
    ...overrides,
  });
}

/** Builds `src/main.ts` of a program in `apps/`, without declarations. */
export function appBuild(overrides: Options = {}): TsupConfig {
  if (!existsSync('src/main.ts')) return [];
  return defineConfig({
    ...common,
    entry: ['src/main.ts'],
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
