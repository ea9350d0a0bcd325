/**
 * @file Options of every layer that makes tensors.
 */
import { type DeviceType, type DType } from '@tessera/tensor';

/** Where and of which type a layer's parameters are made. */
export interface FactoryOptions {
  readonly device?: DeviceType;
  readonly dtype?: DType;
}
