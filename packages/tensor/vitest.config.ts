import { packageTests } from '../../tooling/vitest.js';

export default packageTests();
