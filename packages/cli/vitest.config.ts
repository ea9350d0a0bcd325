import { packageTests } from '../../tooling/vitest.js';

// The README's compilation is the first of its process.
export default packageTests({ alone: ['test/readme.test.ts'] });
