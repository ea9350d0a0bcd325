/**
 * @file Public API of @tessera/inductor-cpu: the CPU backend.
 */
export { useBlockedAttention } from './attention/use-blocked-attention.js';
export { cpuBackend } from './backend.js';
export { useWebAssemblyText } from './emit/use-webassembly-text.js';
export { useFourier } from './fourier/use-fourier.js';
export { useNarrowWeights } from './gemv/use-narrow-weights.js';
export { onlyReferenceKernels } from './runtime/cpu-config.js';
export { useSelection } from './selection/use-selection.js';
export { useSorting } from './sorting/use-sorting.js';
