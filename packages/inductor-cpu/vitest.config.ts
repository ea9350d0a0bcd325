import { packageTests } from '../../tooling/vitest.js';

export default packageTests({
  setupFiles: ['test/verify-every-plan.ts'],
  // Takes SharedArrayBuffer away.
  alone: ['test/unshared.test.ts'],
});
