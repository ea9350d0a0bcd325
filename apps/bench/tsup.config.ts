import { appBuild } from '../../tooling/tsup.js';

export default appBuild({
  // The page is bundled when it is measured, from the packages as they are built.
  entry: { main: 'src/main.ts', 'frames-page': 'src/frames/page.ts' },
  // All of `dist` but the bundle for other machines.
  clean: ['!bundle/**'],
  // See src/engines/tfjs-wasm.ts.
  noExternal: ['@tensorflow/tfjs-core/dist/register_all_gradients'],
});
