import { packageTests } from '../../tooling/vitest.js';

export default packageTests({
  together: true,
  // It watches the console before anything is loaded.
  apart: ['test/target-size.test.ts'],
});
