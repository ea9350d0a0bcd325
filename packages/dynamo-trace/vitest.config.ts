import { packageTests } from '../../tooling/vitest.js';

export default packageTests({ together: true, setupFiles: ['test/seeded.ts'] });
