import { packageTests } from '../../tooling/vitest.js';

export default packageTests({
  together: true,
  setupFiles: ['test/seeded.ts'],
  apart: [
    // Says which devices there are.
    'test/errors.test.ts',
    // Measure both heaps, and collect them over and over.
    'test/loading-collected.test.ts',
    'test/memory.test.ts',
    'test/reclaim.test.ts',
    'test/short-lived.test.ts',
  ],
});
