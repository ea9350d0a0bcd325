import { siteBuild } from './src/build/vite-options.js';

export default siteBuild();
