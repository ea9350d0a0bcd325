/**
 * @file `pnpm fuzz:bundle`: the fuzzer as one file, made from the sources of all packages, to be copied to a machine
 * without npm. Dawn stays outside.
 */
import { appBuild } from '../../tooling/tsup.js';

export default appBuild({
  entry: { 'tessera-fuzz': 'src/main.ts' },
  outDir: 'dist/bundle',
  noExternal: [/^@tessera\//],
  sourcemap: false,
  outExtension: () => ({ js: '.mjs' }),
  esbuildOptions(options) {
    options.conditions = ['@tessera/source'];
  },
});
