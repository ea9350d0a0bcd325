import { packageTests } from '../../tooling/vitest.js';

export default packageTests({
  together: true,
  setupFiles: ['test/seeded.ts', 'test/verify-every-plan.ts'],
  apart: [
    // Measures the heap.
    'test/short-lived.test.ts',
    // Forbids its process to make code.
    'test/make-module.test.ts',
    // Say what a program that has just started does.
    'test/readme.test.ts',
    'test/unshared.test.ts',
    // Compare texts of sums, whose terms stand in the order in which a process met them.
    'test/gemv-schedules.test.ts',
    'test/product-schedules.test.ts',
    'test/told-schedules.test.ts',
    // Compile so much that collecting one heap of all takes longer than loading again.
    'test/fuzz.test.ts',
    'test/schedules.test.ts',
    'test/symbolic-matmul.test.ts',
  ],
});
