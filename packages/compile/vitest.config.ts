import { packageTests } from '../../tooling/vitest.js';

export default packageTests({ setupFiles: ['test/verify-every-plan.ts'] });
