import type { Plugin } from 'esbuild';

/** A plugin of esbuild that leaves imports of other entries in the first one; takes the paths of the entries' sources. */
export function entriesAsImports(entries: readonly string[]): Plugin;
