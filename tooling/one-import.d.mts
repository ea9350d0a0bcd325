import type { Plugin } from 'esbuild';

/** A plugin of esbuild that imports each name of another package once; takes the texts of the package's files. */
export function oneImport(sources: readonly string[]): Plugin;
