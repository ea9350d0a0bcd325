import { packageTests } from '../../tooling/vitest.js';

export default packageTests({
  together: true,
  setupFiles: ['test/seeded.ts', 'test/verify-every-plan.ts'],
  apart: [
    // Say which devices and parts of the compiler are there.
    'test/errors.test.ts',
    'test/freezing.test.ts',
    // Trains with numbers drawn so far: fails where files before it drew others.
    'test/ported-programs.test.ts',
    // Compare with eager mode to the bit, whose code for other sizes adds in another order.
    'test/maximum-beside-softmax.test.ts',
    'test/warmup.test.ts',
    'test/watched-values.test.ts',
    'test/writes-and-checks.test.ts',
    // Measure the heap.
    'test/dropped-functions.test.ts',
    'test/memory*.test.ts',
    // Compile so much that collecting one heap of all takes longer than loading again.
    'test/derivatives-inside.test.ts',
    'test/eager-random.test.ts',
    'test/fourier-transforms.test.ts',
    'test/learned-sizes-fuzz.test.ts',
    'test/lookup-ops.test.ts',
    'test/loops-that-read.test.ts',
    'test/lowered-for-both-devices.test.ts',
    'test/module-changes.test.ts',
    'test/partial-writes-fuzz.test.ts',
    'test/proven-*.test.ts',
    'test/scan.test.ts',
    'test/scatters-in-steps.test.ts',
    'test/special-functions.test.ts',
    'test/strided-convolutions.test.ts',
    'test/two-devices.test.ts',
  ],
});
