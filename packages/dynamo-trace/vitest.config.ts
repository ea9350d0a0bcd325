import { packageTests } from '../../tooling/vitest.js';

// Warming up happens once in a process.
export default packageTests({ alone: ['test/warm-up.test.ts'] });
