/**
 * @file `pnpm fuzz:bundle`: the fuzzer as one file, made from the sources of all packages, to be copied to a machine
 * without npm. Dawn stays outside.
 */
import { bundleBuild } from '../../tooling/tsup.js';

export default bundleBuild('tessera-fuzz');
