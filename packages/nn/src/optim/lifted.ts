/**
 * @file The numbers of a step as its update sees them.
 */
import type { RegionNumber } from '@tessera/tensor/internal';

/** Every number may be a run-time scalar: usable as an argument of ops only. */
export type Lifted<S> = { readonly [K in keyof S]: RegionNumber };
