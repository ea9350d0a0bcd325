import { packageTests } from '../../tooling/vitest.js';

export default packageTests({
  together: true,
  // Load their modules again.
  unbundled: ['test/host.test.ts', 'test/logs.test.ts'],
});
