import { packageTests } from '../../tooling/vitest.js';

export default packageTests({
  together: true,
  setupFiles: ['test/seeded.ts'],
  // Measures the heap.
  apart: ['test/short-lived.test.ts'],
});
