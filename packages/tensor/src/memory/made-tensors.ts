/**
 * @file Where new tensors are noted while a `tidy` scope is open.
 *
 * The constructor of every tensor looks here, in code that engines interpret in the first calls of a program: hence a
 * field to look at and no function.
 */
import type { TensorBase } from '../tensor-base.js';

/** What the innermost open scope has made so far; null while none is open. */
export const madeTensors: { list: TensorBase[] | null } = { list: null };
