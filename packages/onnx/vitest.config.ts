import { packageTests } from '../../tooling/vitest.js';

export default packageTests({
  together: true,
  setupFiles: ['test/seeded.ts'],
  // The README lists the operators that its program registered.
  apart: ['test/readme.test.ts'],
});
