import { libraryBuild } from '../../tooling/tsup.js';

export default libraryBuild({ program: 'src/main.ts' });
