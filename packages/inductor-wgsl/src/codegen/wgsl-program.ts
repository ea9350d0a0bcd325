/** @file `WgslProgram`: a generated module, what it binds, and what a launch of it needs. */
import type { BufferParam, KernelSchedule } from '@tessera/inductor-core';
import type { Size, SymInt } from '@tessera/shared';
import type { ValueCheck } from '@tessera/tensor/internal';
import type { Workgroups } from './dispatch.js';
import type { StorageType } from './values/wgsl-types.js';

/** A storage binding of group 0 and the kernel parameters that it holds. */
export interface BindingSlot {
  readonly access: 'read' | 'read_write';
  /** Indices into the kernel's `params`; none for the binding of failed checks. */
  readonly params: readonly number[];
}

/** One 4-byte field of the uniform block, in order. */
export type UniformField =
  /** Element offset of parameter `param` within its binding. */
  | { readonly kind: 'offset'; readonly param: number }
  /** The device's number of the kernel's first check. */
  | { readonly kind: 'checks' }
  /** The value of a size. */
  | { readonly kind: 'size'; readonly size: SymInt }
  /** The quotient of two sizes as a float, rounded as WebGPU's own division need not be. */
  | { readonly kind: 'quotient'; readonly of: readonly [Size, Size] }
  /** Runtime scalar number `index` of the kernel. */
  | { readonly kind: 'scalar'; readonly index: number; readonly type: 'f32' | 'i32' | 'u32' };

/** A generated module and what a launch of it needs. */
export interface WgslProgram {
  readonly text: string;
  /** Workgroups in x and y; zero in x when the kernel has nothing to do. */
  readonly workgroups: Workgroups;
  readonly slots: readonly BindingSlot[];
  readonly uniforms: readonly UniformField[];
  /** What the kernel checks; if anything, its last binding is where failures are noted. */
  readonly checks: readonly ValueCheck<Size>[];
  /** What the text was made of; see `KernelSource`. */
  readonly schedule?: () => KernelSchedule;
}

/** What generated code knows about a buffer parameter. */
export interface BufferAccess {
  readonly param: BufferParam;
  /** Identifier of the binding's variable. */
  readonly variable: string;
  readonly storage: StorageType;
  /** Declared as an array of vectors of four. */
  readonly vector: boolean;
  /** Declared as an array of pairs: of elements, or of vectors of four halves. */
  readonly paired: boolean;
  /** Text of the element offset, or null. */
  readonly offset: string | null;
}
