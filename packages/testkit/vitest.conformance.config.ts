import { packageTests } from '../../tooling/vitest.js';

// `pnpm conformance`: the rows of the conformance list, on their own.
export default packageTests({
  include: ['conformance/**/*.test.ts'],
  passWithNoTests: false,
  // Faults hold in processes that start after they were asked for.
  isolate: true,
  testTimeout: 120_000,
  outputFile: { json: '.test-results/conformance.json' },
});
