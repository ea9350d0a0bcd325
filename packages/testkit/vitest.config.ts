import { packageTests } from '../../tooling/vitest.js';

// Files here compile so much that to collect one heap of all takes longer than to load the sources anew.
export default packageTests({ isolate: true });
