import { packageTests } from '../../tooling/vitest.js';

// Warming up happens once in a process.
export default packageTests({ together: true, alone: ['test/warm-up.test.ts'] });
