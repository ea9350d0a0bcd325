import { packageTests } from '../../tooling/vitest.js';

export default packageTests({
  alone: [
    // Compile so much that to collect one heap of all takes longer than to load the sources anew.
    'test/awaited-sizes.test.ts',
    'test/backend-conformance-default-limits.test.ts',
    'test/backend-conformance-wgpu.test.ts',
    'test/kernel-counts.test.ts',
    'test/nn-modules.test.ts',
    'test/programs.test.ts',
    'test/recurrent-layer.test.ts',
    'test/size-family-wgpu.test.ts',
    'test/webgpu-values.test.ts',
    'test/wgpu-steady-state.test.ts',
    // Read the registry of operators, which other files add to.
    'test/features.test.ts',
    'test/operator-schemas.test.ts',
    // Messages list the devices and backends that there are.
    'test/user-mistakes.test.ts',
    // Schedules are those of the device that was opened first.
    'test/schedules-wgpu.test.ts',
  ],
});
