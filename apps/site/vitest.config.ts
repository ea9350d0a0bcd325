import { packageTests } from '../../tooling/vitest.js';

export default packageTests({ globalSetup: ['./test/support/build-site.ts'] });
