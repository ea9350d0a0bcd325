/**
 * @file `@tessera/distributed`: many processes, with the interface of `torch.distributed`.
 */
import * as functionalCollectives from './functional/collectives.js';

// Communicators
export type { Communicator, Pending, ReduceOp } from './communicator.js';
export type { HostBuffer } from './host-buffer.js';
export { arrayBuffer, heapBuffer } from './host-buffer.js';
export { soloCommunicator } from './solo-communicator.js';

// Collectives as operators
export { functionalCollectives };

// Training
export {
  DistributedDataParallel,
  type DistributedDataParallelOptions,
} from './ddp/distributed-data-parallel.js';

export {
  type CheckpointedOptimizer,
  type TrainingState,
  loadTraining,
  saveTraining,
} from './training-checkpoint.js';
export { SyncBatchNorm, type SyncBatchNormOptions } from './sync-batch-norm.js';
export { type OptimizerClass, ZeroRedundancyOptimizer } from './zero-redundancy-optimizer.js';
export { type DistributedSamplerOptions, distributedSampler } from './distributed-sampler.js';

// Groups
export { ProcessGroup, groupNamed, isInitialized, registerGroup } from './process-group.js';
export {
  type InitProcessGroupOptions,
  destroyProcessGroup,
  getRank,
  getWorldSize,
  initProcessGroup,
  isAvailable,
  newGroup,
} from './init-process-group.js';
export { type DistributedConfig, distributedConfig } from './distributed-config.js';

// Collectives on tensors
export type { CollectiveOptions, Started } from './eager/launch.js';
export { type ReduceOptions, allReduce, barrier, broadcast, reduce } from './eager/reduce.js';
export { allGather, allGatherIntoTensor, gather, scatter } from './eager/gather.js';
export { reduceScatter, reduceScatterTensor } from './eager/reduce-scatter.js';
export { type AllToAllSingleOptions, allToAll, allToAllSingle } from './eager/all-to-all.js';
export { type MessageOptions, irecv, isend, recv, send } from './eager/point-to-point.js';
export { type ObjectOptions, allGatherObject, broadcastObjectList } from './eager/objects.js';
export { Work } from './eager/work.js';
