import { libraryBuild } from '../../tooling/tsup.js';

export default libraryBuild({
  dts: {
    compilerOptions: { customConditions: [], noEmit: false },
    // The public types speak of GPUDevice and GPUAdapter, which lib.dom does not have.
    banner: '/// <reference types="@webgpu/types" />',
  },
});
