import { packageTests } from '../../tooling/vitest.js';

export default packageTests({
  // Its tests take longest, and end when those of other packages have.
  maxWorkers: 2,
  unbundled: [
    // Which file registers which operator.
    'test/features.test.ts',
    // Messages list options in the order of their registration.
    'test/user-mistakes.test.ts',
  ],
});
