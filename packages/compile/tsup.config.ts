import { libraryBuild } from '../../tooling/tsup.js';

export default libraryBuild({ apart: 'webgpu' });
