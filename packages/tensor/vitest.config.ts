import { packageTests } from '../../tooling/vitest.js';

// Measure both heaps, and collect them over and over.
export default packageTests({
  together: true,
  alone: ['test/memory.test.ts', 'test/reclaim.test.ts'],
});
