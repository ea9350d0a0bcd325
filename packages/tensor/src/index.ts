/**
 * @file Public API of `@tessera/tensor`.
 */
export { type DType, type DTypeCategory, type DTypeInfo, DTYPES, isDType, isFloatingPoint, isIntegral, itemSize } from './dtype.js';
export { defaultDType, setDefaultDType } from './default-dtype.js';
export { type DeviceMemory, type DeviceRuntime, type DeviceType, deviceRuntime, isDeviceAvailable, registerDevice } from './device.js';

// Tensors
export { Tensor } from './tensor.js';
export { TensorBase, type PendingValue } from './tensor-base.js';
export { emptyContiguous, emptyFromMeta, fakeFromMeta, isFakeMode, isTensor, makeTensor, withFakeTensors } from './tensor-factory.js';
export { type TensorData, fromBytes, fromTypedArray, tensor, uploadTo } from './create.js';
export { type NestedNumbers, type TypedValues } from './read-values.js';
export { type MemoryFormat, formatStrides } from './memory-format.js';
export { promoteTypes, resultType } from './type-promotion.js';
export {
  broadcastShapes, contiguousStrides, expandStrides, formatSizes, hasInternalOverlap, inferShape, isContiguous,
  numelOf, reducedSizes, sameNumbers, storageExtent, viewStrides, wrapDim, wrapDims,
} from './shape.js';
export { readNumbers, writeNumbers } from './kernels/elements.js';
export { bfloatToNumber, halfToNumber, numberToBfloat, numberToHalf } from './kernels/float16.js';

// Memory
export { cpuHeap, type CpuHeap, type HeapStats } from './heap/cpu-heap.js';
export { Storage, type StorageState } from './memory/storage.js';
export { largestStorages, liveStorageBytes, reclaimNow } from './memory/reclaim.js';
export { keep, tidy } from './memory/tidy.js';

// Operators
export { OpOverload, allOps, defineOp, findOp, getOp } from './op/op-overload.js';
export { type InplaceOf, defineInplace } from './op/inplace.js';
export type { GradResult, NamedArgs, OpRecord, OpTag, TensorMeta, ViewMeta, Vjp, VjpContext } from './op/op-record.js';
export { type Schema, type SchemaArgument, type SchemaType, parseSchema } from './op/schema.js';
export { callOp, dispatchBelowAutograd, dispatchBelowPreDispatch } from './dispatch/dispatcher.js';
export { outputMetas } from './dispatch/kernels.js';
export { type KernelProvider, kernelProvider, registerKernelProvider } from './dispatch/kernel-provider.js';
export {
  type BackwardCall, type DispatchMode, type ModeState, type PreDispatchMode, modes, withDispatchMode,
  withDispatchModes, withPreDispatchMode, withoutModes,
} from './dispatch/modes.js';

// Tracing protocols
export { isTracked, track, trackClass } from './protocols/track.js';
export { type RegionInputs, type RegionNumber, trustedRegion } from './protocols/trusted-region.js';

// Autograd
export { enableGrad, gradMode, isGradEnabled, noGrad, setGradEnabled } from './autograd/grad-mode.js';
export { type BackwardOptions, runBackward } from './autograd/engine.js';
export { type Edge, type GradHook, type GradMeta, GradNode, peekSequenceNr } from './autograd/grad-node.js';
export { autogradMeta } from './autograd/autograd-meta.js';
export { gradEdge, gradFnOf, requiresGrad, setHistory } from './autograd/history.js';
export { attachNode } from './autograd/record.js';
export { isAnomalyEnabled, setDetectAnomaly } from './autograd/anomaly.js';
export { currentBackwardNode } from './autograd/current-backward-node.js';

// Random numbers
export { type GeneratorState, getRngState, manualSeed, reserveOffsets, setRngState } from './rng/generator.js';
export { philox, philoxNormal, philoxUniform } from './rng/philox.js';

// Operator functions
export { add, add_, div, div_, mul, mul_, neg, neg_, sub, sub_ } from './ops/pointwise-arithmetic.js';
export { clone, contiguous, copy_, detach, toDevice, toDtype } from './ops/copy.js';
export { type TensorOptions, full, ones, onesLike, zeros, zerosLike } from './ops/factory.js';
export { mm } from './ops/matmul.js';
export { type ReduceOptions, sum } from './ops/reduction.js';
export { expand, permute, reshape, view } from './ops/view.js';
