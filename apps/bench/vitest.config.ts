import { packageTests } from '../../tooling/vitest.js';

export default packageTests({
  // It needs all other packages and so begins last: nothing else runs by its end.
  maxWorkers: 2,
});
