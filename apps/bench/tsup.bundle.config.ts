/**
 * @file `pnpm bench:bundle`: the benchmark as one file, made from the sources of all packages, to be
 * copied to a machine without npm. Peers and Dawn stay outside.
 */
import { appBuild } from '../../tooling/tsup.js';

export default appBuild({
  entry: { 'tessera-bench': 'src/main.ts' },
  outDir: 'dist/bundle',
  noExternal: [/^@tessera\//],
  sourcemap: false,
  outExtension: () => ({ js: '.mjs' }),
  esbuildOptions(options) {
    options.conditions = ['@tessera/source'];
  },
});
