import { packageTests } from '../../tooling/vitest.js';

export default packageTests({
  together: true,
  setupFiles: ['test/seeded.ts'],
  // Measures the heap; compares sums to the bit, which code for other sizes adds in another order.
  apart: ['test/memory.test.ts', 'test/caches-on-webgpu.test.ts'],
});
