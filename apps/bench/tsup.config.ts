import { appBuild } from '../../tooling/tsup.js';

export default appBuild({
  // All of `dist` but the bundle for other machines.
  clean: ['!bundle/**'],
  // See src/engines/tfjs-wasm.ts.
  noExternal: ['@tensorflow/tfjs-core/dist/register_all_gradients'],
});
