import { packageTests } from '../../tooling/vitest.js';

export default packageTests({
  // The longest tests of all packages: nothing else runs by their end.
  maxWorkers: 2,
  unbundled: [
    // Which file registers which operator.
    'test/features.test.ts',
    // Messages list options in the order of their registration.
    'test/user-mistakes.test.ts',
  ],
});
