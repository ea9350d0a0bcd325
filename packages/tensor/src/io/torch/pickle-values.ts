/**
 * @file What a pickle of tensors and containers holds.
 */
import type { StoredType } from '../stored-type.js';

/** A Python tuple; lists are arrays. */
export class PickleTuple {
  constructor(readonly items: readonly PickleValue[]) {}
}

/** A `dict` or `OrderedDict`. */
export class PickleDict {
  readonly entries: Map<PickleValue, PickleValue> = new Map();
}

/** A name of a Python module: one of those that are known, or the pickle is refused. */
export class PickleGlobal {
  constructor(readonly name: string) {}
}

/** Memory that tensors of the file lie on: a record `data/<key>`. */
export class TorchStorage {
  constructor(
    readonly key: string,
    /** PyTorch's name of the element type; null if tensors say it (untyped storages). */
    readonly type: TorchType | null,
    /** Elements, or bytes of an untyped storage. */
    readonly count: number,
  ) {}
}

/** An element type as the file has it. */
export interface TorchType {
  readonly name: string;
  /** Null for one that cannot be loaded. */
  readonly stored: StoredType | null;
}

/** A tensor: a layout over a storage, in elements. */
export class TorchTensor {
  constructor(
    readonly storage: TorchStorage,
    readonly type: TorchType,
    readonly offset: number,
    readonly sizes: readonly number[],
    readonly strides: readonly number[],
  ) {}
}

export type PickleValue =
  | null
  | boolean
  | number
  | bigint
  | string
  | PickleValue[]
  | PickleTuple
  | PickleDict
  | PickleGlobal
  | TorchStorage
  | TorchTensor;
