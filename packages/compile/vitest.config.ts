import { packageTests } from '../../tooling/vitest.js';

export default packageTests({
  together: true,
  setupFiles: ['test/verify-every-plan.ts'],
  alone: [
    // Asks for a device that nothing has made available.
    'test/errors.test.ts',
    // Measure both heaps, and collect them over and over.
    'test/dropped-functions.test.ts',
    'test/memory.test.ts',
    'test/memory-eager.test.ts',
    'test/memory-flat.test.ts',
  ],
});
