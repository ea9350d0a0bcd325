import { libraryBuild } from '../../tooling/tsup.js';

// The public types speak of GPUDevice and GPUAdapter, which lib.dom does not have.
export default libraryBuild({ typesBanner: '/// <reference types="@webgpu/types" />' });
