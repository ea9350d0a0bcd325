/**
 * @file The code in the README runs, and prints what it says.
 */
import { testReadme } from '../../../tooling/readme.js';
import { openGpu } from './support/open-gpu.js';

testReadme(new URL('../README.md', import.meta.url), {
  async before() {
    const gpu = await openGpu();
    gpu?.dispose();
    return gpu === null ? 'There is no WebGPU adapter.' : null;
  },
});
