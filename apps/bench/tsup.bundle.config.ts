/**
 * @file `pnpm bench:bundle`: the benchmark as one file, made from the sources of all packages, to be
 * copied to a machine without npm. Peers and Dawn stay outside.
 */
import { bundleBuild } from '../../tooling/tsup.js';

export default bundleBuild('tessera-bench');
