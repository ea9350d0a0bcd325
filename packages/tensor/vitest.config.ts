import { packageTests } from '../../tooling/vitest.js';

// Measure both heaps, and collect them over and over.
export default packageTests({ alone: ['test/memory.test.ts', 'test/reclaim.test.ts'] });
