/**
 * @file `@tessera/distributed`: many processes, with the interface of `torch.distributed`.
 */

// Communicators
export type { Communicator, Pending, ReduceOp } from './communicator.js';
export type { HostBuffer } from './host-buffer.js';
export { arrayBuffer, heapBuffer } from './host-buffer.js';
export { soloCommunicator } from './solo-communicator.js';

// Groups
export { ProcessGroup, groupNamed, isInitialized } from './process-group.js';
