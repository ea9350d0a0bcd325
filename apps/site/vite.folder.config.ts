import { fileURLToPath } from 'node:url';
import { folderBuild } from './src/build/vite-options.js';

/** For `packages/cli`, which says where the files go: `vite build --outDir`. */
export default folderBuild(fileURLToPath(new URL('dist-folder', import.meta.url)));
