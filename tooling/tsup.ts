/**
 * @file The one build recipe for every package: ESM only, ES2022, declarations and source maps.
 * `@tessera/*` and npm dependencies stay external, so two packages never carry a copy of a third.
 */
import { existsSync } from 'node:fs';
import { defineConfig, type Options } from 'tsup';
import { writeDeclarations } from './declarations.js';

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

/** Builds `src/index.ts` of a published package, with declarations; `typesBanner` opens those. */
export function libraryBuild(typesBanner = ''): TsupConfig {
  if (!existsSync('src/index.ts')) return [];
  return defineConfig({
    ...common,
    entry: ['src/index.ts'],
    onSuccess: () => Promise.resolve(writeDeclarations(process.cwd(), typesBanner)),
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
