import { libraryBuild } from '../../tooling/tsup.js';

export default libraryBuild({ onDemand: true });
