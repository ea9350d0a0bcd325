import { appBuild } from '../../tooling/tsup.js';

export default appBuild({
  // All of `dist` but the bundle for other machines.
  clean: ['!bundle/**'],
});
