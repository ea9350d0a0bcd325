import { packageTests } from '../../tooling/vitest.js';

// The README lists the operators that its program registered.
export default packageTests({ alone: ['test/readme.test.ts'] });
