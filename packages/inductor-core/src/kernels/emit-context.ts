/**
 * @file What building kernels needs to know about the graph.
 */
import type { IrBuilder } from '../ir/build.js';
import type { IrBuffer } from '../lower/ir-node.js';
import type { StorageOf } from './parameters.js';

/** See the file header. */
export interface EmitContext {
  /** The builder that the bodies' expressions belong to. */
  readonly ir: IrBuilder;
  bufferOf(name: string): IrBuffer;
  readonly storageOf: StorageOf;
}
