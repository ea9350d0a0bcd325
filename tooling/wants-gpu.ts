/**
 * @file Whether tests on WebGPU run: where a software adapter is there, or where one must be (`.ci/run` says so). A run
 * without says that they did not.
 */
export const wantsGpu: boolean =
  process.env['VK_ICD_FILENAMES'] !== undefined || process.env['TESSERA_REQUIRE_WEBGPU'] === '1';

if (!wantsGpu)
  console.warn('WebGPU tests did not run: no adapter (set VK_ICD_FILENAMES, see CONTRIBUTING.md).');
