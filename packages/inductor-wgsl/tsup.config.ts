import { libraryBuild } from '../../tooling/tsup.js';

/** Types of WebGPU that the public types speak of. */
const GPU_TYPES = [
  'GPU',
  'GPUAdapter',
  'GPUBindGroup',
  'GPUBindGroupLayout',
  'GPUBuffer',
  'GPUComputePipeline',
  'GPUDevice',
  'GPUError',
];

// lib.dom has them since TypeScript 6, and @webgpu/types has them again: both together do not compile. Declared as
// interfaces they merge with whichever a project has, and with none they are there.
export default libraryBuild({
  typesBanner: `declare global {\n${GPU_TYPES.map((name) => `  interface ${name} {}\n`).join('')}}`,
});
