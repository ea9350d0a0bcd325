import { appBuild } from '../../tooling/tsup.js';

export default appBuild();
