/**
 * @file Operators that are called by name, by code that lies below the files that define them, and what they return. A
 * test compares this with their schemas.
 */
import type { Tensor } from '../tensor.js';

type ReturnsTensor =
  | 'aten::_to_copy'
  | 'aten::add.Tensor'
  | 'aten::add_.Tensor'
  | 'aten::alias'
  | 'aten::arange'
  | 'aten::as_strided'
  | 'aten::as_strided_scatter'
  | 'aten::clone'
  | 'aten::convolution'
  | 'aten::copy_'
  | 'aten::detach'
  | 'aten::new_empty_strided'
  | 'aten::ones_like'
  | 'aten::scatter_add'
  | 'aten::select.int'
  | 'aten::stack'
  | 'aten::sum_to_size'
  | 'aten::to.dtype'
  | 'aten::zero_'
  | 'aten::zeros';

/** What a call of the operator of a name returns; unknown for a name that is not listed. */
export type ResultOf<Name extends string> = [Name] extends [ReturnsTensor] ? Tensor : unknown;
